"""Sessions, runs and pins are kept as they were told, and nothing is added to what is over."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.regression.baseline import baseline_of
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.store import History
from keyheat.regression.outcome import Gate, GateFinding
from tests.make import a_summary

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
FOUND = GateFinding(
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
    session = history.begin("nightly", "sha256:0", "v1.2")
    assert session.state == "running"
    summary = a_summary(7, question="Ümläute?", measures={"p99_ms": 0.1 + 0.2})
    history.add(session, case="hotkey", repetition=0, summary=summary, folder_url="s3://bucket/run-7")
    history.end(session, verdict="regressed", findings=[FOUND])
    (kept,) = history.runs(session)
    assert (kept.case, kept.repetition, kept.side) == ("hotkey", 0, "candidate")
    assert (kept.summary, kept.folder_url) == (summary, "s3://bucket/run-7")
    assert history.findings(session) == (FOUND,)
    (ended,) = history.sessions()
    assert (ended.suite, ended.label) == ("nightly", "v1.2")
    assert (ended.state, ended.verdict) == ("ended", "regressed")
    assert ended.ended_at is not None
    assert AT <= ended.started_at < kept.at < ended.ended_at


def test_the_last_good_session_is_the_newest_that_ended_well(history: History) -> None:
    assert history.last_good("nightly") is None
    first = a_session(history, verdict="baseline")
    assert history.last_good("nightly") == history.session(first)
    good = a_session(history)
    for verdict in ("regressed", "invalid", "interrupted", "refused"):
        a_session(history, verdict=verdict)
    a_session(history, suite="weekly")
    history.begin("nightly", "sha256:0")
    assert history.last_good("nightly") == history.session(good)


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
def test_what_waits_for_a_review_is_held_against_until_a_session_is_good(
    history: History, verdicts: list[str], settled: bool, session: int | None, accepted: bool | None
) -> None:
    for verdict in verdicts:
        a_session(history, verdict=verdict)
    suite: Any = SimpleNamespace(name="nightly")
    found = baseline_of(history, suite, None, settled=settled)
    assert (found and int(found.used.session), found and found.used.accepted) == (session, accepted)
    assert found is None or found.tentative == (frozenset() if accepted else {"hotkey"})


def test_sessions_are_listed_newest_first_and_never_mix(history: History) -> None:
    one, other = history.begin("nightly", "sha256:0"), history.begin("weekly", "sha256:1")
    for repetition in range(2):
        for session, seed in ((one, 10), (other, 20)):
            summary = a_summary(seed + repetition)
            history.add(
                session, case="hotkey", repetition=repetition, summary=summary, folder_url="file:///x"
            )
    assert [run.summary.run_id for run in history.runs(one)] == ["run-10", "run-11"]
    assert [run.summary.run_id for run in history.runs(other)] == ["run-20", "run-21"]
    assert [session.id for session in history.sessions()] == [other.id, one.id]
    assert history.sessions("nightly") == (one,)
    assert history.sessions(limit=1) == (other,)


def test_the_sides_of_a_paired_session_are_kept_apart(history: History) -> None:
    session = history.begin("nightly", "sha256:0")
    for side, seed in (("baseline", 1), ("candidate", 2)):
        history.add(
            session, case="hotkey", repetition=0, summary=a_summary(seed), folder_url="file:///x", side=side
        )  # type: ignore[arg-type]
    history.end(session, verdict="good")
    assert [run.summary.seed for run in history.runs(session)] == [2]
    assert [run.summary.seed for run in history.runs(session, side="baseline")] == [1]
    assert [run.summary.seed for run in history.runs(session, side=None)] == [1, 2]
    (point,) = history.series("nightly", "hotkey", "throttle_share")
    assert point.values == (0.2,)


def test_nothing_is_added_twice_or_to_a_session_that_is_over(history: History) -> None:
    session = history.begin("nightly", "sha256:0")
    run = {"case": "hotkey", "repetition": 0, "summary": a_summary(), "folder_url": "file:///x"}
    history.add(session, **run)
    with pytest.raises(HistoryProblem, match=r"has hotkey, repetition 1 \(candidate\) already"):
        history.add(session, **run)
    history.end(session, verdict="good")
    with pytest.raises(HistoryProblem, match="is ended, so nothing is added"):
        history.add(session, **{**run, "repetition": 1})
    with pytest.raises(HistoryProblem, match="is ended"):
        history.end(session, verdict="regressed")
    with pytest.raises(HistoryProblem, match="has no session 99"):
        history.session(99)
    assert len(history.runs(session)) == 1


def test_a_session_without_a_valid_run_is_never_good(history: History) -> None:
    session = history.begin("nightly", "sha256:0")
    with pytest.raises(HistoryProblem, match="cannot be good"):
        history.end(session, verdict="good")
    history.add(session, case="hotkey", repetition=0, summary=a_summary(valid=False), folder_url="file:///x")
    with pytest.raises(HistoryProblem, match="cannot be baseline"):
        history.end(session, verdict="baseline")
    history.end(session, verdict="invalid")
    assert history.series("nightly", "hotkey", "throttle_share") == ()


def test_a_name_is_given_and_moved(history: History) -> None:
    one, other = a_session(history), a_session(history, verdict="regressed")
    assert history.pin("release", one) is None
    before = history.pin("release", other)
    assert before is not None
    assert before.id == one
    pinned = history.pinned("release")
    assert pinned is not None
    assert pinned.id == other
    assert [(pin.name, pin.session) for pin in history.pins()] == [("release", other)]


@pytest.mark.parametrize("verdict", ["invalid", "interrupted", "refused"])
def test_what_says_nothing_is_not_pinned(history: History, verdict: str) -> None:
    session = a_session(history, verdict=verdict)
    with pytest.raises(HistoryProblem, match=f"session {session} is {verdict}"):
        history.pin("release", session)
    running = history.begin("nightly", "sha256:0")
    with pytest.raises(HistoryProblem, match="is running"):
        history.pin("release", running)


def test_a_series_has_a_point_for_each_session_that_is_over(history: History) -> None:
    for level in (1_000.0, 900.0):
        session = history.begin("nightly", "sha256:0", label=f"at {level:g}")
        for repetition in range(3):
            summary = a_summary(repetition, measures={"p99_ms": level + repetition})
            history.add(
                session, case="hotkey", repetition=repetition, summary=summary, folder_url="file:///x"
            )
        history.add(
            session, case="other", repetition=0, summary=a_summary(measures={"p99_ms": 5.0}),
            folder_url="file:///x",
        )  # fmt: skip
        assert len(history.series("nightly", "hotkey", "p99_ms")) == session.id - 1, (
            "one that runs is in none"
        )
        history.end(session, verdict="good")
    a_session(history, suite="weekly")
    points = history.series("nightly", "hotkey", "p99_ms")
    assert [point.values for point in points] == [(1_000.0, 1_001.0, 1_002.0), (900.0, 901.0, 902.0)]
    assert [(point.label, point.median) for point in points] == [("at 1000", 1_001.0), ("at 900", 901.0)]
    assert ("hotkey", "p99_ms") in history.measured("nightly")
    assert history.series("nightly", "hotkey", "recovery_s") == ()


def test_old_sessions_are_pruned_and_what_is_needed_stays(history: History) -> None:
    pinned = a_session(history)
    old = a_session(history)
    good = a_session(history)
    weekly = a_session(history, suite="weekly")
    bad = [a_session(history, verdict="regressed") for _ in range(3)]
    history.pin("release", pinned)
    running = history.begin("nightly", "sha256:0")
    history.add(running, case="hotkey", repetition=0, summary=a_summary(), folder_url=f"file:///runs/{old}-1")
    pruned = history.prune(keep=2)
    assert pruned.sessions == (old, *bad[:2])
    assert {session.id for session in history.sessions()} == {pinned, good, weekly, bad[2], running.id}
    gone = [f"file:///runs/{number}-{repetition}" for number in pruned.sessions for repetition in range(2)]
    gone.remove(f"file:///runs/{old}-1")
    assert pruned.unreferred == tuple(sorted(gone))
    assert len(history.series("nightly", "hotkey", "throttle_share")) == 3
    assert history.begin("nightly", "sha256:0").id == running.id + 1, "numbers are never used again"
