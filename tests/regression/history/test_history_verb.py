"""keyheat history: sessions, names, trends, exports and what is taken out."""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from keyheat.analysis.measures import MEASURES
from keyheat.regression.history.records import HistoryPoint
from keyheat.regression.history.store import History
from keyheat.regression.history.trend import Trend
from keyheat.regression.outcome import Gate, GateFinding
from keyheat.runfiles import RUN, write_json
from keyheat.terminal.regression import trends_text
from tests.make import a_summary

LIST, SHOW = "keyheat history", "keyheat history show 7"
PIN = "keyheat history pin release-2 6"
TREND = "keyheat history trend nightly"
TREND_OF = f"{TREND} --case hotkey --measure p99_ms"
PRUNE = "keyheat history prune --keep 100"
SESSIONS, SLOWER_FROM = 12, 7
Verb = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def run(verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command, where the history is that of the reader."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KEYHEAT_HISTORY", raising=False)
    return lambda command, *more: verb(*shlex.split(command)[1:], *more)


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Path:
    """Twelve sessions: from the seventh on p99 is 14 ms instead of 10, and the last one was killed."""
    times = (datetime(2026, 11, 1, tzinfo=UTC) + timedelta(minutes=10 * step) for step in count())
    path = tmp_path / "reports" / "history.sqlite"
    with History.open(path, now=lambda: next(times)) as history:
        for number in range(1, SESSIONS + 1):
            session = history.begin("nightly", "sha256:0", label=f"v{number}")
            slower = number >= SLOWER_FROM
            for repetition in range(2):
                p99_ms = (14.0 if slower else 10.0) + 0.1 * repetition
                name = f"run-{number}-{repetition}"
                folder = tmp_path / "reports" / "out" / name
                write_json(folder / "run.json", RUN, {"run_id": name})
                history.add(
                    session,
                    case="hotkey",
                    repetition=repetition,
                    summary=a_summary(run_id=name, measures={"p99_ms": p99_ms}),
                    folder_url=folder.as_uri(),
                )
            if number == SESSIONS:
                history._connection.execute("UPDATE sessions SET state = 'lost' WHERE id = ?", (session.id,))
            elif number == SLOWER_FROM:
                history.end(session, verdict="regressed", findings=[worse()])
            else:
                history.end(session, verdict="good")
    return path


def worse() -> GateFinding:
    return GateFinding(
        case="hotkey", gate=Gate(measure="p99_ms"), decision="worse", before=10.05, after=14.05,
        because="Its median rose from 10 to 14 ms.",
    )  # fmt: skip


def test_sessions_are_listed_and_shown(kept: Path, run: Run) -> None:
    said = run(LIST)
    rows = [line.split() for line in said.out.splitlines()]
    assert [row[0] for row in rows[1:13]] == [str(number) for number in range(12, 0, -1)]
    assert "last good" in next(line for line in said.out.splitlines() if line.strip().startswith("11 "))
    assert "Session 12 is lost" in said.out
    shown = run(SHOW).out
    assert "Session 7 of nightly: regressed" in shown
    assert "worse  hotkey: p99_ms" in shown
    assert (kept.parent / "out" / "run-7-1").as_uri() in shown


def test_a_name_is_pinned_and_shown(kept: Path, run: Run) -> None:
    assert run(PIN).out == "release-2 is session 6 of nightly\n"
    assert "Pinned as release-2." in run("keyheat history show release-2").out
    assert "pinned release-2" in run(LIST).out
    for wrong in ("pin 12 6", "pin '' 6", "show nothing", f"show {2**63}"):
        assert run(f"keyheat history {wrong}").code == 2


def test_a_session_that_failed_for_want_of_a_number_is_named() -> None:
    at = HistoryPoint(
        session=2, started_at=datetime(2026, 11, 22, tzinfo=UTC), verdict="good", label=None, values=(1.0,)
    )
    lacking = Trend(
        suite="s", case="chat", measure=MEASURES["shards_needed"], points=(at,), changes=(), regressed=(2, 3)
    )
    console = Console(width=100)
    with console.capture() as captured:
        console.print(trends_text([lacking]))
    assert "shards_needed regressed in session 2, 3 (it had no number)" in captured.get()


def test_trends_are_drawn_with_what_became_worse(kept: Path, run: Run) -> None:
    drawn = run(TREND).out
    assert "p99_ms changed with session 7: +39.8 %" in re.sub(r"\s+", " ", drawn)
    assert "p99_ms regressed in session 7" in drawn
    assert "throttle_share 20 %" in drawn
    rows = run(TREND_OF).out.splitlines()
    marked = next(row for row in rows if row.strip().startswith("7 "))
    assert "from here" in marked
    lengths = [row.count("█") for row in rows if "█" in row]
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (11, 16)
    wrong = run("keyheat history trend nightly --case nope")
    assert wrong.code == 2
    assert "there are: hotkey" in wrong.err


def test_old_sessions_go_and_their_runs_are_named(kept: Path, run: Run) -> None:
    out = kept.parent / "out"
    assert "0 sessions taken out" in run(PRUNE).out
    first = run(PRUNE.replace("100", "9"))
    assert first.out.startswith("3 sessions taken out\n")
    assert f"  {(out / 'run-3-1').as_uri()}" in first.out
    assert len(list(out.iterdir())) == 2 * SESSIONS


def test_a_file_that_is_cut_short_is_named(kept: Path, run: Run) -> None:
    kept.write_bytes(kept.read_bytes()[:-5_000])
    broken = run(LIST)
    assert broken.code == 3
    assert "reports/history.sqlite is damaged or cut short" in broken.err


def test_a_session_of_another_machine_is_named(kept: Path, run: Run) -> None:
    with History.open(kept) as history:
        history._connection.execute("UPDATE sessions SET state = 'running', host = 'ci-7' WHERE id = 12")
    said = run(LIST).out
    assert "Session 12 runs as process" in said


@pytest.mark.parametrize("command", [LIST, SHOW, PIN, TREND, PRUNE])
def test_a_program_is_answered_in_json(kept: Path, run: Run, command: str) -> None:
    said = run(command, "--json")
    assert said.code == 0
    assert json.loads(said.out)["format"] == "keyheat.history/1"


def test_a_history_that_has_nothing_says_what_to_do(run: Run) -> None:
    said = run(LIST)
    assert (said.code, said.out) == (
        0, "reports/history.sqlite has no sessions yet. The first one: keyheat regress SUITE\n",
    )  # fmt: skip
    assert json.loads(run(LIST, "--json").out)["sessions"] == []
    assert not Path("reports").exists()
    for command in (SHOW, PIN, TREND, PRUNE):
        said = run(command)
        assert said.code == 2
        assert "keyheat regress SUITE begins one" in said.err
    History.open(Path("reports/history.sqlite")).__exit__(None, None, None)
    assert "has no sessions yet" in run(LIST).out
    assert run(TREND).code == 2
