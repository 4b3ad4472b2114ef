"""Sessions, runs and pins are kept as they were told, and nothing is added to what is over."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from regression.finding import Finding, Gate
from regression.history import History, HistoryProblem
from tests.regression.runs import a_summary

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
FOUND = Finding(
    case="hotkey",
    gate=Gate(measure="p99_ms", least_effect=0.05),
    decision="worse",
    before=10.0,
    after=14.0,
    because="p99 went from 10 to 14 ms",
    change=0.4,
    low=0.3,
    high=0.5,
    repetitions=(5, 5),
)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    times = (AT + timedelta(minutes=minute) for minute in range(1_000))
    with History.open(tmp_path / "below" / "history.sqlite", now=lambda: next(times)) as opened:
        yield opened


def a_session(history: History, suite: str = "nightly", verdict: str = "good", runs: int = 2) -> int:
    session = history.begin(suite, "sha256:0")
    for repetition in range(runs):
        history.add(
            session,
            case="hotkey",
            repetition=repetition,
            summary=a_summary(repetition),
            folder_url=f"file:///runs/{session.id}-{repetition}",
        )
    history.end(session, verdict=verdict)  # type: ignore[arg-type]
    return session.id


def test_a_session_is_kept_with_its_runs_and_findings(history: History) -> None:
    session = history.begin("nightly", "sha256:0", "v1.2", "regress nightly")
    assert session.state == "running"
    summary = a_summary(7, question="Ümläute?", measures={"p99_ms": 0.1 + 0.2})
    history.add(session, case="hotkey", repetition=0, summary=summary, folder_url="s3://bucket/run-7")
    history.end(session, verdict="regressed", findings=[FOUND])
    (kept,) = history.runs(session)
    assert (kept.case, kept.repetition, kept.side) == ("hotkey", 0, "candidate")
    assert (kept.summary, kept.folder_url) == (summary, "s3://bucket/run-7")
    assert history.findings(session) == (FOUND,)
    (ended,) = history.sessions()
    assert (ended.suite, ended.label, ended.command) == ("nightly", "v1.2", "regress nightly")
    assert (ended.state, ended.verdict) == ("ended", "regressed")
    assert ended.ended_at is not None and AT < ended.started_at < kept.at < ended.ended_at
