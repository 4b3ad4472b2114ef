"""Several runs from one command: a sweep over shards, runs held against each other.

docs/sweep.md says what is tested here, with its commands.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.scenario.scenario import load_scenario
from tests.outside import OR_TOO_SLOW, check_verdict

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "configs" / "scenarios"
Verb = Callable[..., Any]
Sample = Callable[..., Path]
SWEEP = "keyheat sweep sharded --shards 1,2,4,8,16 --out reports/out/shards"
COMPARE = "keyheat compare reports/out/shards/shards-1 reports/out/shards/shards-2 --out reports/out/two.html"
MANY = "keyheat run hotkey sharded --out reports/out/cures"


def commands_in(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def test_the_pages_have_these_commands_and_no_others() -> None:
    assert commands_in("sweep.md") == [SWEEP, COMPARE, MANY]


def arguments(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    assert program == "keyheat"
    return rest


def small(folder: Path, name: str = "sharded", **changes: object) -> Path:
    """A shipped scenario at a fiftieth of its size, and so short that throttling just begins."""
    text = (SCENARIOS / f"{name}.toml").read_text()
    fields = {"requests_per_s": 100, "item_bytes": 1_000, "users": 5, "duration_s": 8} | changes
    for field, value in fields.items():
        text, found = re.subn(rf"(?m)^{field} = \S+", f"{field} = {value}", text)
        assert found == 1, field
    path = folder / f"{name}-small.toml"
    path.write_text(f"{text}\n[local]\nscale = 0.05\n")
    return path


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("sharded", "--shards", "0,2"), "0 is not between 1 and 100,000"),
        (("sharded", "--shards", "one,2.5"), "'one' is not a whole number; '2.5' is not a whole number"),
        (("hotkey",), "hotkey, spreads no key over shards"),
        (("no-such",), "neither a file nor one of"),
        (("sharded", "--out", "full"), "is not an empty folder"),
    ],
)
def test_a_sweep_that_cannot_be_made_is_refused_before_anything_starts(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], words: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "run.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    said = verb("sweep", *more)
    assert said.code == 2
    assert words in said.line
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "run.json"]


def test_several_scenarios_are_all_checked_before_the_first_starts(verb: Verb, tmp_path: Path) -> None:
    wrong = small(tmp_path, users=0)
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


def test_a_comparison_needs_no_load(verb: Verb, sample: Sample, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = verb("compare", sample("hotkey"), sample("sharded"), "--out", page)
    assert (said.code, said.err) == (0, "")
    assert str(page) in said.out
    assert page.read_text().count("<article") == 2


@pytest.mark.slow
def test_a_comparison_with_a_run_that_cannot_be_judged_is_3(
    verb: Verb, sample: Sample, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    said = verb("compare", sample("hotkey"), sample("generator-bound"), "--out", page)
    assert said.code == 3
    (sample("sharded") / "diagnosis.json").unlink()
    assert verb("compare", tmp_path / "hotkey", tmp_path / "sharded", "--out", page).code == 3
    assert "diagnosis.json is missing" in page.read_text()


@pytest.mark.opens
def test_a_sweep_of_two_and_a_comparison_of_its_runs(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's commands with two numbers of shards, a small scenario, and no wait for CloudWatch."""
    monkeypatch.chdir(tmp_path)
    scenario = small(tmp_path)
    words = [str(scenario) if word == "sharded" else word for word in arguments(SWEEP)]
    words[words.index("1,2,4,8,16")] = "1,8"
    said = verb(*words, "--no-collect")
    assert said.code in OR_TOO_SLOW, said.err
    shards = tmp_path / "reports" / "out" / "shards"
    assert {path.name for path in shards.iterdir()} == {
        "sweep.html", "shards-1", "shards-1.json", "shards-8", "shards-8.json",
    }  # fmt: skip
    valid = []
    for count, constraint in ((1, "partition"), (8, "none")):
        run = shards / f"shards-{count}"
        assert {path.name for path in run.iterdir()} == {*runfiles.FILES.values(), "report.html"} - {
            "evidence.json"
        }
        valid.append(check_verdict(run, constraint))
        kept = runfiles.read_json(run / "run.json", runfiles.RUN)["scenario"]
        assert kept["keys"]["shards"] == load_scenario(shards / f"shards-{count}.json").keys.shards == count
    assert said.code == (0 if all(valid) else 3)
    assert not all(valid) or "8 shards are enough" in said.out
    assert "run 2 of 2" in said.err
    compare = COMPARE.replace("shards-2", "shards-8")
    assert verb(*arguments(compare)).code == said.code
    assert (tmp_path / "reports" / "out" / "two.html").read_text().count("<article") == 2


@pytest.mark.opens
def test_several_scenarios_end_in_one_page(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {name: str(small(tmp_path, name, duration_s=6)) for name in ("hotkey", "sharded")}
    said = verb(*(files.get(word, word) for word in arguments(MANY)), "--no-collect")
    assert said.code in OR_TOO_SLOW, said.err
    folder = tmp_path / "reports" / "out" / "cures"
    assert {path.name for path in folder.iterdir()} == {"hotkey", "sharded", "index.html"}
    page = (folder / "index.html").read_text()
    assert re.findall(r'href="([^"]*)/report.html"', page) == ["hotkey", "sharded"]
    assert "Side by side: reports/out/cures/index.html" in said.out


@pytest.mark.opens
def test_an_interrupted_sweep_keeps_its_whole_runs_and_their_page(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "keyheat",
        "sweep",
        str(small(tmp_path, duration_s=4)),
        "--shards",
        "1,8",
    ]
    with subprocess.Popen(
        [*command, "--no-collect", "--out", str(tmp_path / "sweep")],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as child:  # fmt: skip
        assert child.stderr is not None
        for line in child.stderr:
            if line == "sharded-8: loading\n":
                break
        os.killpg(child.pid, signal.SIGINT)  # Ctrl-C in its terminal reaches the load as well
        child.stderr.read()
        assert child.wait() == 130
    whole = tmp_path / "sweep" / "shards-1"
    assert {path.name for path in whole.iterdir()} >= {"run.json", "diagnosis.json", "report.html"}
    page = (tmp_path / "sweep" / "sweep.html").read_text()
    assert re.findall(r'href="([^"]*)/report.html"', page) == ["shards-1"]
