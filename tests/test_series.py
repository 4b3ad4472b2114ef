"""Several runs from one command, and runs held against each other.

docs/report.md says what is tested here, with its commands.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, Sample, Verb
from tests.make import a_scenario_file
from tests.outside import OR_TOO_SLOW

COMPARE = "keyheat compare reports/out/cures/hotkey reports/out/cures/sharded --out reports/out/two.html"
MANY = "keyheat run hotkey sharded --out reports/out/cures"
LOAD = ("requests_per_s=100", "item_bytes=1000", "users=5", "duration_s=6")


def commands_in(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def test_several_scenarios_are_all_checked_before_the_first_starts(verb: Verb, tmp_path: Path) -> None:
    wrong = a_scenario_file(tmp_path, {"load": {"users": 0}})
    said = verb("run", "hotkey", wrong, "no-such", "hotkey", "--out", tmp_path / "runs")
    assert said.code == 2
    wanted = ("2 scenarios are named 'hotkey'", "@ $.load.users", "SCENARIO 'no-such' is neither")
    assert [word for word in wanted if word not in said.err] == []
    assert not (tmp_path / "runs").exists()


@pytest.mark.opens
def test_a_series_stops_where_nothing_can_be_started(verb: Verb, tmp_path: Path) -> None:
    dead = "http://127.0.0.1:9"
    said = verb("run", "hotkey", "sharded", "--target", dead, "--out", tmp_path / "runs")
    assert said.code == 2
    assert "hotkey: run 1 of 2" in said.err
    assert "run 2 of 2" not in said.err
    assert not (tmp_path / "runs" / "index.html").exists()


@pytest.mark.slow
def test_a_comparison_with_an_invalid_run_is_3(verb: Verb, sample: Sample, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = verb("compare", sample("hotkey"), sample("generator-bound"), "--out", page)
    assert said.code == 3
    (sample("sharded") / "diagnosis.json").unlink()
    assert verb("compare", tmp_path / "hotkey", tmp_path / "sharded", "--out", page).code == 3
    assert "diagnosis.json is missing" in page.read_text()


@pytest.mark.nightly
@pytest.mark.opens
def test_several_scenarios_are_one_page(verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {COMPARE, MANY} <= set(commands_in("report.md"))
    monkeypatch.chdir(tmp_path)
    settings = [f"--set=load.{field}" for field in LOAD]
    said = verb(*shlex.split(MANY)[1:], "--no-collect", "--set=local.scale=0.05", *settings)
    assert said.code in OR_TOO_SLOW, said.err
    folder = tmp_path / "reports" / "out" / "cures"
    assert {path.name for path in folder.iterdir()} == {"hotkey", "sharded", "index.html"}
    page = (folder / "index.html").read_text()
    assert re.findall(r'href="([^"]*)/report.html"', page) == ["hotkey", "sharded"]
    assert "Side by side: reports/out/cures/index.html" in said.out
    assert verb(*shlex.split(COMPARE)[1:]).code in OR_TOO_SLOW
    assert (tmp_path / "reports" / "out" / "two.html").read_text().count("<article") == 2


def test_a_survey_is_told_to_be_compared_by_its_tables(verb: Verb, home: Path) -> None:
    for table in ("orders", "carts"):
        (home / "seen" / table).mkdir(parents=True)
        (home / "seen" / table / "evidence.json").touch()
    said = verb("compare", "seen")
    assert (said.code, (home / "reports").exists()) == (2, False)
    assert "seen holds runs in folders of their own: seen/carts seen/orders" in said.err
