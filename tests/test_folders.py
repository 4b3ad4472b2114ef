"""Nobody is told somebody else's verdict: a run has its folder alone, or says that it has not."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.cli.run import launch
from keyheat.load.run.launch import Launched
from keyheat.runs.claims import hold
from tests.load.conftest import SHORT
from tests.make import a_scenario_file
from tests.outside import OR_TOO_SLOW, PATIENCE_S, end_all, started
from tools.samples.cases import CASES
from tools.samples.make import make_run

ROOT = Path(__file__).parents[1]
Verb = Callable[..., Any]


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short one, in the folder where everything happens."""
    monkeypatch.chdir(tmp_path)
    return a_scenario_file(tmp_path, SHORT, load={"users": 5, "requests_per_s": 50, "duration_s": 1})


@pytest.fixture
def runs(scenario: Path) -> Iterator[Callable[..., list[tuple[int, str]]]]:
    """Several `keyheat run` at once: the exit code of each, and what it said on stderr."""
    children = []

    def at_once(count: int, *options: str) -> list[tuple[int, str]]:
        command = (sys.executable, "-m", "keyheat", "run", scenario, "--no-collect", *options)
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        these = [started(command, scenario.parent, environment) for _ in range(count)]
        children.extend(these)
        said = [child.communicate(timeout=PATIENCE_S)[1] for child in these]
        return [(child.returncode, err) for child, err in zip(these, said, strict=True)]

    yield at_once
    end_all(children)


@pytest.mark.opens
@pytest.mark.nightly
def test_one_of_two_runs_at_once_has_the_folder_that_all_were_given_and_without_one_each_has_its_own(
    runs: Callable[..., list[tuple[int, str]]], tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    ended = runs(2, "--out", "run")
    assert len([code for code, _err in ended if code in OR_TOO_SLOW]) == 1, ended
    (refused,) = (err for code, err in ended if code == 2)
    why = ("another run is being made there now", "it may hold another run")
    assert any(words in refused for words in why), refused
    assert [path.name for path in tmp_path.glob("run*")] == ["run"]
    assert runfiles.read_json(tmp_path / "run" / "run.json", runfiles.RUN)["status"] == "finished"
    ended = runs(2)
    assert all(code in OR_TOO_SLOW for code, _err in ended), ended
    found = list((tmp_path / "reports" / "out").glob("short-*/run.json"))
    assert len({runfiles.read_json(path, runfiles.RUN)["run_id"] for path in found}) == len(found) == 2


@pytest.mark.parametrize("command", ["simulate short", "demo", "whatif short load", "simulate short hotkey"])
def test_nothing_is_made_where_something_is_being_made(verb: Verb, scenario: Path, command: str) -> None:
    with hold(Path("runs")):
        said = verb(*command.replace("short", scenario.name).split(), "--out", "runs")
    assert said.code == 2
    assert said.err == "keyheat: runs: another run is being made there now; give another folder (--out)\n"


def test_what_another_run_came_to_is_not_told(
    verb: Verb, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without locks, say, where somebody else was quicker."""
    folder = Path("run")

    def somebody_else(*_arguments: object) -> Launched:
        make_run(CASES[0], folder, seconds=40)
        return Launched(0, "keyheat: what it said\n", "not-the-others")

    monkeypatch.setattr(launch, "launch", somebody_else)
    said = verb("run", scenario, "--out", folder)
    assert said.code == 3
    assert "keyheat: run holds the files of another run (hotkey-" in said.err
    assert "), not of this one (not-the-others)" in said.err
    assert "what it said" in said.err
    assert said.out == ""
