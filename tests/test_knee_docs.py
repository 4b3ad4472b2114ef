"""keyheat knee, as docs/knee.md has it; its exit codes; a knee of a table that is really loaded."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.cli import knee as verb_of_knee
from keyheat.load.run.jobs import Job
from keyheat.scenario.scenario import load_scenario
from tests.knees import written_run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "knee.md").read_text(encoding="utf-8")
Verb = Callable[..., Any]
COMMANDS = {
    "keyheat knee hotkey",
    "keyheat knee country-index --from 25 --to 1250 --precision 0.02",
    "keyheat knee too-small --json",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_the_page_shows_these_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert {line for block in blocks for line in block.splitlines()} == COMMANDS


def test_the_page_shows_what_is_said(verb: Verb, home: Path) -> None:
    said = verb("knee", "hotkey")
    assert said.code == 0
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert said.says(shown)
    assert max(map(len, said.out.splitlines())) <= 80
    assert "at most 13 steps of 60 s, simulated" in said.err
    (folder,) = (home / "reports" / "out").iterdir()
    assert {path.name for path in folder.iterdir()} == {"knee.html", "knee.json"}


def test_a_range_and_a_precision(verb: Verb) -> None:
    said = verb("knee", "country-index", "--from", "25", "--to", "1250", "--precision", "0.02")
    assert said.code == 0
    found = re.search(r"The key's knee: ([\d.]+) requests/s are carried; at ([\d.]+) requests/s", said.out)
    assert found is not None
    carried, above = map(float, found.groups())
    assert carried == pytest.approx(150, rel=0.03)
    assert 1 < above / carried <= 1.021
    assert said.says("a partition limit of index by-country (writes)")


def test_the_knee_as_json(verb: Verb, home: Path) -> None:
    said = verb("knee", "too-small", "--set", "load.item_bytes=1000", "--json", "--out", "k")
    assert said.code == 0
    found = json.loads(said.out)
    assert (found["format"], found["whose"], found["confirmed"]) == (
        "keyheat.knee/1",
        "The table's knee",
        True,
    )
    assert found["carried"]["demand_per_s"] == pytest.approx(40, rel=0.03)
    assert found["not_carried"]["constraint"] == "table"
    assert found["limits"][0]["share"] == pytest.approx(1.0, abs=0.03)
    assert len(found["steps"]) <= 17
    assert json.loads((home / "k" / "knee.json").read_text())["sentence"] == found["sentence"]


@pytest.mark.parametrize(
    ("name", "arithmetic"),
    [("hotkey", 136), ("too-small", 40), ("country-index", 150), ("operations", 2_369)],
)
def test_the_pages_table_has_the_arithmetic_and_what_is_found(name: str, arithmetic: float) -> None:
    (row,) = [
        line for line in PAGE.splitlines() if line.startswith(f"| `{name}`") and "on demand" not in line
    ]
    _scenario, by_the_numbers, found = (cell.strip() for cell in row.strip("|").split(" | "))
    assert float(by_the_numbers.split("=")[-1].replace(",", "")) == arithmetic
    assert float(found.replace(",", "").rstrip(" |")) == pytest.approx(arithmetic, rel=0.02)


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        (("nobody",), "neither a file nor one of"),
        (("replay",), "replays a trace"),
        (("hotkey", "--from", "500", "--to", "400"), "--from 500 is not below --to 400"),
        (("hotkey", "--precision", "2"), "is not in the range"),
        (("hotkey", "--target", "local", "--table", "mine"), "no --table"),
        (("hotkey", "--out", "full"), "is not an empty folder"),
    ],
)
def test_what_cannot_be_asked_is_exit_code_2(
    verb: Verb, home: Path, asked: tuple[str, ...], wrong: str
) -> None:
    (home / "full").mkdir()
    (home / "full" / "run.json").write_text("{}")
    said = verb("knee", *asked)
    assert said.code == 2
    assert "".join(wrong.split()) in "".join(said.err.split())
    assert not (home / "reports").exists()


def test_no_constraint_is_an_answer(verb: Verb) -> None:
    said = verb("knee", "hotkey", "--from", "12", "--to", "100")
    assert said.code == 0
    assert said.says("No constraint up to 100 requests/s: everything was carried.")


def test_a_start_that_throttles_is_said_to_be_the_end(verb: Verb) -> None:
    said = verb("knee", "hotkey", "--from", "250")
    assert said.code == 0
    assert said.says("Nothing below 250 requests/s was tried")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Loads that are answered by the model, and a generator that cannot send 750 requests a second."""
    made: list[Job] = []

    def make_run(job: Job, _how: object, *, place: tuple[int, int]) -> int:
        made.append(job)
        assert place[0] == len(made)
        return written_run(job, bound=job.scenario.load.requests_per_s >= 750)

    monkeypatch.setattr(verb_of_knee, "make_run", make_run)
    return made


def test_steps_that_are_loaded_have_tables_and_files_of_their_own(
    verb: Verb, loads: list[Job], home: Path
) -> None:
    said = verb(
        "knee", "hotkey", "--target", "local", "--from", "112", "--to", "500", "--step", "10", "--out", "k"
    )
    assert said.code == 0, said.err
    assert said.says("The key's knee")
    names = [job.scenario.table.name for job in loads]
    assert names == [f"keyheat-hotkey-step-{number}" for number in range(1, len(loads) + 1)]
    assert load_scenario(home / "k" / "step-1.json").load.duration_s == 10
    assert {job.scenario.seed for job in loads} == {1, 2}
    steps = json.loads((home / "k" / "knee.json").read_text())["steps"]
    assert [step["folder"] for step in steps] == [str(job.folder) for job in loads]


def test_a_generator_that_is_the_limit_is_exit_code_3(verb: Verb, loads: list[Job]) -> None:
    said = verb("knee", "user-id", "--target", "local", "--from", "250", "--to", "2250", "--step", "10")
    assert said.code == 3
    assert said.says("the load generator is the limit, not the table")


def test_a_table_that_lives_on_burst_is_not_carried(verb: Verb, loads: list[Job], home: Path) -> None:
    said = verb(
        "knee",
        "too-small",
        "--target",
        "local",
        "--set",
        "load.item_bytes=1000",
        "--from",
        "30",
        "--to",
        "60",
        "--step",
        "10",
        "--json",
    )
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["not_carried"]["on_burst"]
    assert found["carried"]["demand_per_s"] == pytest.approx(40, rel=0.06)
    assert "live on what was saved" in found["sentence"]


def test_a_step_that_cannot_be_made_ends_the_search(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb_of_knee, "make_run", lambda *_args, **_more: 130)
    said = verb("knee", "hotkey", "--target", "local", "--out", "k")
    assert (said.code, said.out) == (130, "")
