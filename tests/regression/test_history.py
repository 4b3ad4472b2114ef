"""Sessions and runs are kept as they were added; a file that is not as it should be is refused."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.analysis.measures import MEASURES
from keyheat.regression.history import VALUES, Damaged, History, HistoryProblem, Session, Trend
from keyheat.regression.outcome import Verdict
from keyheat.regression.session import baseline_of
from keyheat.show.history import trends_answer
from tests.conftest import Golden, Verb
from tests.make import a_summary
from tests.pages.conftest import trimmed
from tests.regression.outcomes import REGRESSED, twelve_sessions

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "be low" / "b?c#d %20.sqlite"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    minutes = count()
    with History(path, now=lambda: AT + timedelta(minutes=next(minutes))) as opened:
        yield opened


def a_session(
    history: History, verdict: Verdict | None = "good", suite: str = "nightly", runs: int = 2
) -> Session:
    session = history.begin(suite)
    for repetition in range(runs):
        url = f"file:///runs/{session.id}-{repetition}"
        history.add(session, "hotkey", repetition, a_summary(repetition), url)
    if verdict is not None:
        history.end(session, verdict)
    return history.session(session.id)


def filled(path: Path, runs: int = 40) -> Path:
    with History(path) as history:
        a_session(history, runs=runs)
    return path


def refused(path: Path) -> str:
    """Why a history is not opened, or begins no session; its file is as it was."""
    before = path.read_bytes()
    with pytest.raises(HistoryProblem) as raised, History(path, wait_s=0.0) as history:
        history.begin("nightly")
    assert path.read_bytes() == before
    assert str(path) in str(raised.value)
    return str(raised.value)


def test_a_session_is_kept_with_its_runs_and_its_outcome(history: History) -> None:
    session = history.begin("nightly", "v1.2")
    assert (session.verdict, session.runs) == (None, 0)
    summary = a_summary(7, question="Ümläute?", measures={"p99_ms": 0.1 + 0.2})
    history.add(session, "hotkey", 0, summary, "s3://bucket/run-7")
    history.add(session, "hotkey", 0, a_summary(8), "file:///x", side="before")
    history.end(session, "regressed", REGRESSED)
    (kept,) = history.runs(session)
    assert (kept.case, kept.repetition, kept.side) == ("hotkey", 0, "after")
    assert (kept.summary, kept.folder_url) == (summary, "s3://bucket/run-7")
    assert [run.summary.seed for run in history.runs(session, side=None)] == [7, 8]
    assert history.outcome(session) == REGRESSED
    (ended,) = history.sessions()
    assert (ended.suite, ended.label, ended.verdict, ended.runs) == ("nightly", "v1.2", "regressed", 2)
    assert AT <= ended.started_at < kept.at < ended.ended_at


def test_the_last_good_session_is_the_newest_that_ended_well(history: History) -> None:
    assert history.last_good("nightly") is None
    a_session(history, "baseline")
    good = a_session(history)
    for verdict in ("regressed", "invalid", "interrupted", "refused", None):
        a_session(history, verdict)
    a_session(history, suite="weekly")
    assert history.last_good("nightly") == good
    assert [one.id for one in history.sessions("nightly", 2)] == [7, 6], "the newest first"


@pytest.mark.parametrize(
    ("verdicts", "settled", "session", "accepted"),
    [
        (["unaccepted", "unaccepted", "regressed"], False, 2, False),
        (["regressed", "invalid"], False, 1, False),
        (["unaccepted"], True, None, None),
        (["unaccepted", "baseline", "regressed"], False, 2, True),
        (["baseline", "unaccepted"], False, 1, True),
    ],
)
def test_what_waits_for_a_review_is_compared_with_until_a_session_is_good(
    history: History, verdicts: list[Verdict], settled: bool, session: int | None, accepted: bool | None
) -> None:
    for verdict in verdicts:
        a_session(history, verdict)
    suite: Any = SimpleNamespace(name="nightly")
    found = baseline_of(history, suite, None, settled=settled)
    assert (found and int(found.used.session), found and found.used.accepted) == (session, accepted)
    assert found is None or found.tentative == (frozenset() if accepted else {"hotkey"})


def test_nothing_is_added_twice_or_to_a_session_that_is_over(history: History) -> None:
    session = a_session(history, None, runs=1)
    with pytest.raises(HistoryProblem, match="has this run already"):
        history.add(session, "hotkey", 0, a_summary(), "file:///x")
    history.end(session, "good")
    with pytest.raises(HistoryProblem, match="has ended"):
        history.add(session, "hotkey", 1, a_summary(), "file:///x")
    with pytest.raises(HistoryProblem, match="has ended"):
        history.end(session, "regressed")
    assert len(history.runs(session)) == 1


def test_a_session_is_named_by_its_number_or_label_and_the_newest_of_a_suite_is_meant(
    history: History,
) -> None:
    for suite, label in (("nightly", "v2"), ("nightly", "v2"), ("weekly", "v2"), ("nightly", "1")):
        history.begin(suite, label)
    named = [history.session(*name).id for name in (("v2",), ("v2", "nightly"), ("v2", "other"), ("1",))]
    assert named == [3, 2, 3, 1]
    for name in ("nothing", "", str(2**70)):
        with pytest.raises(HistoryProblem, match=f"no session with the number or label '{name}'"):
            history.session(name)


def test_measures_are_those_of_valid_runs_of_sessions_that_are_over(history: History) -> None:
    session = history.begin("nightly")
    bound = a_summary(4, generator_bound=True)
    for place, summary in enumerate((a_summary(1), a_summary(2), a_summary(3, valid=False), bound)):
        history.add(session, "hotkey", place, summary, "file:///x")
    history.add(session, "hotkey", 0, a_summary(5), "file:///x", side="before")
    assert history.frame(VALUES, "nightly").empty, "it goes on"
    history.end(session, "good")
    a_session(history, suite="weekly")
    taken = history.frame(VALUES, "nightly")
    shares = taken[(taken["case"] == "hotkey") & (taken["measure"] == "throttle_share")]
    assert list(shares["value"]) == [0.2, 0.2]


# Files


def test_what_is_no_history_is_refused(path: Path, tmp_path: Path) -> None:
    import sqlite3

    path.parent.mkdir(parents=True)
    path.write_text("suite,session\n" * 1_000)
    assert "it is not an SQLite file" in refused(path)
    path.unlink()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE songs (name)")
    file.close()
    assert "it belongs to another program" in refused(path)
    for wrong in (path.parent, path / "below.sqlite"):
        with pytest.raises(HistoryProblem, match="cannot use the history"):
            History(wrong)


def test_a_damaged_history_is_found_before_a_session_begins(path: Path) -> None:
    whole = filled(path).read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    for damaged in (whole[:middle], whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :]):
        path.write_bytes(damaged)
        assert "is damaged" in refused(path)
        assert "Restore a copy" in refused(path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET summary = '{}' WHERE repetition = 1", "UPDATE sessions SET outcome = '[{]'",
        "UPDATE sessions SET started_at = 'yesterday'", "UPDATE sessions SET started_at = x'ff'",
        "UPDATE runs SET summary = CAST(x'ff' AS TEXT)",
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_damage(path: Path, change: str) -> None:
    with History(filled(path, runs=2)) as history:
        history._db.execute(change)
        with pytest.raises(Damaged, match="is damaged"):
            [(history.runs(session), history.outcome(session)) for session in history.sessions()]


HOLD = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.opens
def test_a_history_that_another_process_has_locked_is_refused(path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(filled(path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        assert "is locked by another process" in refused(path)
        process.stdin.close()


def test_a_kill_loses_no_run_and_makes_no_half_session_good(path: Path, tmp_path: Path) -> None:
    """The files as they are before each statement are what a process leaves that is killed there."""
    copies, said = [], list[int]()
    with History(path) as history:

        def leave(_statement: str) -> None:
            copies.append((tmp_path / str(len(copies)) / path.name, len(said)))
            shutil.copytree(path.parent, copies[-1][0].parent)

        history._db.set_trace_callback(leave)
        session = history.begin("nightly")
        for repetition in range(2):
            history.add(session, "hotkey", repetition, a_summary(repetition), "file:///x")
            said.append(repetition)
        history.end(session, "good")
        history._db.set_trace_callback(None)
    assert len(copies) > 12
    for copy, runs_said in copies:
        with History(copy) as history:
            kept = [(one, history.runs(one)) for one in history.sessions()]
            assert all(len(runs) == 2 for one, runs in kept if one.good)
            assert sum(len(runs) for _one, runs in kept) in (runs_said, runs_said + 1)


def test_a_transaction_that_is_done_outlives_the_power(history: History) -> None:
    modes = [history._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert modes == ["delete", 3]


LIST, SHOW = "", "show 7"
TREND = "trend nightly"
Run = Callable[..., Any]


@pytest.fixture
def run(verb: Verb, no_history: None) -> Run:
    """Runs a command, where the history is that of the reader."""
    return lambda command, *more: verb("history", *shlex.split(command), *more)


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Path:
    return twelve_sessions(tmp_path / "reports" / "history.sqlite")


def test_sessions_are_listed_shown_and_charted(kept: Path, run: Run, golden: Golden) -> None:
    commands = (LIST, SHOW, "show v6", f"{TREND} --out trend.html", f"{TREND} --case nope")
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


def test_a_session_that_failed_for_want_of_a_number_is_named() -> None:
    lacking = Trend(
        case="chat", measure=MEASURES["shards_needed"], sessions=(2,), values=(1.0,), regressed=(2, 3)
    )
    (note,) = trends_answer(Path("h.sqlite"), "s", [lacking], drawn=False).notes
    assert note == "chat: shards_needed regressed in session 2, 3 (it had no number)"


@pytest.mark.parametrize("command", [LIST, SHOW, TREND])
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
    for command in (SHOW, TREND):
        said = run(command)
        assert said.code == 2
        assert "keyheat regress SUITE begins one" in said.err
    History(Path("reports/history.sqlite")).__exit__(None, None, None)
    assert run(LIST).says("has no sessions yet")
    assert run(TREND).code == 2
    monkeypatch.setenv("KEYHEAT_HISTORY", "other.sqlite")
    assert run(LIST).says("other.sqlite has no sessions yet")
