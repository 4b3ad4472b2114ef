"""keyheat history: sessions, names, trends, exports and what is taken out."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.measures import MEASURES
from keyheat.regression.history import History
from keyheat.regression.trend import Trend
from keyheat.show.history import trends_answer
from tests.regression.outcomes import twelve_sessions

LIST, SHOW, PIN = "", "show 7", "pin release-2 6"
TREND = "trend nightly"
Verb = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def run(verb: Verb, no_history: None) -> Run:
    """Runs a command, where the history is that of the reader."""
    return lambda command, *more: verb("history", *shlex.split(command), *more)


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Path:
    return twelve_sessions(tmp_path / "reports" / "history.sqlite")


def test_sessions_are_listed_and_shown(kept: Path, run: Run) -> None:
    said = run(LIST)
    rows = [line.split() for line in said.out.splitlines() if re.match(r" *[0-9]+  ", line)]
    assert [row[0] for row in rows] == [str(number) for number in range(12, 0, -1)]
    assert "last good" in next(line for line in said.out.splitlines() if line.strip().startswith("11 "))
    assert said.says("Session 12 has no verdict: it is running, or it was killed.")
    shown = run(SHOW).out
    assert "Session 7 of nightly  Regressed" in shown
    assert "Worse: hotkey, p99_ms" in shown
    assert (kept.parent / "out" / "run-7-1").as_uri() in shown.replace("\n    ", "")


def test_a_name_is_pinned_and_shown(kept: Path, run: Run) -> None:
    assert run(PIN).says("release-2 is session 6 of nightly.")
    assert re.search("Pinned +release-2", run("show release-2").out)
    assert "pinned release-2" in run(LIST).out
    for wrong in ("pin 12 6", "pin '' 6", "show nothing", f"show {2**63}"):
        assert run(wrong).code == 2


def test_a_session_that_failed_for_want_of_a_number_is_named() -> None:
    lacking = Trend(
        case="chat", measure=MEASURES["shards_needed"], sessions=(2,), values=(1.0,), regressed=(2, 3)
    )
    (note,) = trends_answer(Path("h.sqlite"), "s", [lacking], drawn=False).notes
    assert note == "chat: shards_needed regressed in session 2, 3 (it had no number)"


def test_trends_are_shown_with_what_became_worse(kept: Path, run: Run) -> None:
    drawn = run(TREND, "--out", "trend.html")
    assert drawn.says("hotkey: p99_ms changed with session 7: +39.8 %")
    assert drawn.says("hotkey: p99_ms regressed in session 7")
    row = next(line for line in drawn.out.splitlines() if line.strip().startswith("p99_ms "))
    newest, lowest, highest = map(float, re.findall(r"([\d.]+) ms", row))
    assert lowest < newest <= highest
    assert "throttle_share" in drawn.out
    page = Path("trend.html").read_text()
    charts = {"throttle_share", *re.findall("hotkey: ([a-z_.0-9]+)</h3>", page)}
    assert page.count('class="chart"') == len(charts)
    assert "p99_ms" in run(f"{TREND} --case hotkey --measure p99_ms").out
    wrong = run(f"{TREND} --case nope")
    assert wrong.code == 2
    assert "there are: hotkey" in wrong.err


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
