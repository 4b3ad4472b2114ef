"""keyheat history: sessions, names, trends, exports and what is taken out."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.measures import MEASURES
from keyheat.regression.history import History, Trend
from keyheat.show.history import trends_answer
from tests.conftest import Golden, Verb
from tests.pages.conftest import trimmed
from tests.regression.outcomes import twelve_sessions

LIST, SHOW, PIN = "", "show 7", "pin release-2 6"
TREND = "trend nightly"
Run = Callable[..., Any]


@pytest.fixture
def run(verb: Verb, no_history: None) -> Run:
    """Runs a command, where the history is that of the reader."""
    return lambda command, *more: verb("history", *shlex.split(command), *more)


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Path:
    return twelve_sessions(tmp_path / "reports" / "history.sqlite")


def test_sessions_are_listed_shown_named_and_charted(kept: Path, run: Run, golden: Golden) -> None:
    commands = (LIST, SHOW, PIN, "show release-2", "", f"{TREND} --out trend.html", f"{TREND} --case nope")
    text = ""
    for command in commands:
        said = run(command)
        text += f"== keyheat history {command} ({said.code})\n{said.out.strip()}\n{said.err.strip()}\n"
    golden("history.txt", trimmed(text))
    page = Path("trend.html").read_text()
    charts = {"throttle_share", *re.findall("hotkey: ([a-z_.0-9]+)</h3>", page)}
    assert page.count('class="chart"') == len(charts)


def test_a_file_that_is_named_before_a_command_is_that_of_the_command(kept: Path, run: Run) -> None:
    elsewhere = kept.rename("elsewhere.sqlite")
    assert run("show 7").code == 2
    assert run(f"--history {elsewhere} show 7").code == 0


def test_what_is_no_session_or_name_is_refused(kept: Path, run: Run) -> None:
    for wrong in ("pin 12 6", "pin '' 6", "show nothing", f"show {2**63}"):
        assert run(wrong).code == 2


def test_a_session_that_failed_for_want_of_a_number_is_named() -> None:
    lacking = Trend(
        case="chat", measure=MEASURES["shards_needed"], sessions=(2,), values=(1.0,), regressed=(2, 3)
    )
    (note,) = trends_answer(Path("h.sqlite"), "s", [lacking], drawn=False).notes
    assert note == "chat: shards_needed regressed in session 2, 3 (it had no number)"


@pytest.mark.parametrize("command", [LIST, SHOW, PIN, TREND])
def test_a_program_is_answered_in_json(kept: Path, run: Run, command: str) -> None:
    said = run(command, "--json")
    assert said.code == 0
    assert json.loads(said.out)["format"] == "keyheat.history/1"


def test_a_history_that_has_nothing_says_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    said = run(LIST)
    assert said.code == 0
    assert said.says("reports/history.sqlite has no sessions yet. The first one: keyheat regress SUITE")
    assert json.loads(run(LIST, "--json").out)["sessions"] == []
    assert not Path("reports").exists()
    for command in (SHOW, PIN, TREND):
        said = run(command)
        assert said.code == 2
        assert "keyheat regress SUITE begins one" in said.err
    History(Path("reports/history.sqlite")).__exit__(None, None, None)
    assert run(LIST).says("has no sessions yet")
    assert run(TREND).code == 2
    monkeypatch.setenv("KEYHEAT_HISTORY", "other.sqlite")
    assert run(LIST).says("other.sqlite has no sessions yet")
