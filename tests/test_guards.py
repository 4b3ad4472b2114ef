"""What keeps a run from costing too much: refused before it starts, or asked for; nothing is sent here."""

import os
import pty
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from keyheat.load.run import launch
from tests.conftest import Verb

AWS = "https://dynamodb.eu-west-1.amazonaws.com"
pytestmark = pytest.mark.usefixtures("some_account")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The Locust commands that would have been started; each of them is said to be interrupted."""
    commands: list[list[str]] = []

    def no_launch(loads: Sequence[tuple[list[str], Any]]) -> list[launch.Launched]:
        commands.extend(command for command, _watch in loads)
        return [launch.Launched(code=launch.INTERRUPTED, output="", run_id=None) for _load in loads]

    monkeypatch.setattr(launch, "launch_together", no_launch)
    return commands


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A terminal as stdin, on which somebody has typed a line."""
    ours, theirs = pty.openpty()
    with open(theirs, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield lambda line: (os.write(ours, f"{line}\n".encode()), None)[1]
        os.close(ours)


def test_nobody_can_be_asked_without_any_input(
    verb: Verb, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was started with its standard input closed has no `sys.stdin`."""
    monkeypatch.setattr("sys.stdin", None)
    said = verb("run", "hotkey", "--target", AWS)
    assert (said.code, "--yes" in said.line, started) == (4, True, [])


def test_yes_goes_on_and_is_passed_on_with_everything_else(verb: Verb, started: list[list[str]]) -> None:
    options = ["--allow-table", "a", "--allow-table", "b", "--max-units", "5e9", "--keep-table", "--no-align"]
    assert verb("run", "hotkey", "--target", AWS, "--yes", *options).code == 130
    (command,) = started
    passed_on = " ".join(command)
    said = "--yes --allow-table a --allow-table b --keep-table --max-units 5000000000.0 --no-align"
    assert said in passed_on
    assert "--run-time" not in command, "the scenario says how long, and not in whole seconds alone"


@pytest.mark.parametrize(("typed", "code"), [("YES", 130), ("", 4), ("what?", 4)])
def test_a_person_is_asked_and_no_is_the_default(
    verb: Verb, started: list[list[str]], terminal: Callable[[str], None], typed: str, code: int
) -> None:
    terminal(typed)
    said = verb("run", "hotkey", "--target", AWS)
    assert said.code == code
    text = " ".join(said.err.split())
    for words in ("keyheat-hotkey", AWS, "it costs at most"):
        assert words in text
    assert len(started) == (code == 130)
    assert ("--yes" in started[0]) if started else ("nothing was started" in text)


@pytest.mark.slow
def test_a_search_asks_once_for_the_sum(
    verb: Verb, started: list[list[str]], terminal: Callable[[str], None], tmp_path: Path
) -> None:
    terminal("n")
    folder = tmp_path / "search"
    said = verb("whatif", "sharded", "shards", "--to", "4", "--target", AWS, "--out", folder)
    assert said.code == 4
    assert re.search(r"7 runs, together at most \d+\.\d\d dollars", said.err)
    assert not folder.exists()


def test_everything_that_is_over_budget_is_said_at_once(verb: Verb, started: list[list[str]]) -> None:
    caps = ["--max-dollars", "0.01", "--max-units", "100", "--max-minutes", "0.1"]
    said = verb("run", "hotkey", "too-small", "--target", AWS, "--yes", *caps)
    assert said.code == 4
    lines = [line for line in said.err.splitlines() if line]
    assert [line.split(": ")[1] for line in lines] == ["hotkey"] * 3 + ["too-small"] * 3
    assert all(
        f"allow it with --max-{name}" in line
        for line, name in zip(lines, ["dollars", "units", "minutes"] * 2, strict=True)
    )
    assert started == []


@pytest.mark.parametrize("cap", ["-1", "0", "nan", "inf"])
@pytest.mark.parametrize("target", [AWS, "local"])
def test_a_cap_that_is_none_is_wrong_use(verb: Verb, started: list[list[str]], target: str, cap: str) -> None:
    said = verb("run", "hotkey", "--target", target, "--yes", "--max-dollars", cap)
    assert said.code == 2
    assert "--max-dollars" in said.err
    assert started == []


def test_a_changed_scenario_is_what_is_planned_and_loaded(verb: Verb, started: list[list[str]]) -> None:
    """On this machine, where nobody is asked."""
    said = verb("run", "hotkey", "--set", "load.users=7", "--duration", "20")
    assert said.code == 130
    assert {"--set=load.users=7", "--set=load.duration_s=20.0"} <= set(started[0])
    assert started[0][started[0].index("--users") + 1] == "7"
    wrong = verb("run", "hotkey", "datekey", "--set", "load.nope=1")
    assert wrong.code == 2
    assert wrong.err.count("unknown field @ $.load.nope") == 2
    assert len(started) == 1
