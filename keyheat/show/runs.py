"""All runs below some folders and in the history, as one answer with one table that sorts and filters."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from keyheat.analysis.found import FoundRun, UnreadPlace, of_summary
from keyheat.masking import shown
from keyheat.numbers import NOTHING, measured, percent, some
from keyheat.regression.history import History, HistoryProblem, Session
from keyheat.runfiles import REPORT
from keyheat.show.answer import Answer, Table
from keyheat.show.constraints import in_two_words, target_words
from keyheat.show.verdict import sureness

NAME: Final = "runs.html"
FORMAT: Final = "keyheat.index/1"
NUMBERS: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "accepted_units_per_s.write": ("WCU/s", measured),
    "accepted_units_per_s.read": ("RCU/s", measured),
    "throttle_share": ("throttled", percent),
    "p99_ms": ("p99, ms", measured),
}
"""Measures of the table, with their heads."""
FIRST_STEPS: Final = (
    "keyheat simulate hotkey", "keyheat demo",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlace:
    """Where a run stands in the history, and what came of it there."""

    suite: str
    case: str
    session: int
    repetition: int
    baseline: bool  # it is of the session that the next one is compared with
    worse: tuple[str, ...]  # measures, or `labels`, that were worse than the baseline's


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run, its place in the history, and the address that the history has of it."""

    run: FoundRun
    url: str | None = None
    place: SuitePlace | None = None


def rows_of(found: Iterable[FoundRun], kept: Iterable[RunRow] = ()) -> tuple[RunRow, ...]:
    """Every run once, the newest first; one that the history knows too has its place there."""
    here = {run.folder.absolute(): RunRow(run=run) for run in found if run.folder is not None}
    elsewhere = []
    for row in kept:
        path = _local_path(row.url)
        if path in here:
            here[path] = replace(here[path], place=row.place)
        else:
            elsewhere.append(row)
    return tuple(sorted((*here.values(), *elsewhere), key=lambda row: -row.run.started_s))


def _local_path(url: str | None) -> Path | None:
    parts = urlsplit(url or "")
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def kept_runs(path: Path, now: Callable[[], datetime]) -> tuple[tuple[RunRow, ...], tuple[UnreadPlace, ...]]:
    """Every run of a history, and why it cannot be read; nothing if it does not exist."""
    if not path.exists():
        return (), ()
    try:
        with History.open(path, now) as history:
            sessions = history.sessions()
            good = {history.last_good(suite) for suite in {one.suite for one in sessions}}
            return tuple(row for one in sessions for row in _of_session(history, one, one in good)), ()
    except HistoryProblem as problem:
        return (), (UnreadPlace(place=path, why=str(problem)),)


def _of_session(history: History, session: Session, good: bool) -> Iterator[RunRow]:
    outcome = history.outcome(session)
    failed = outcome.failed if outcome else ()
    for kept in history.runs(session, side=None):
        now = kept.side == "after"
        worse = tuple(one.gate.measure for one in failed if now and one.case == kept.case)
        place = SuitePlace(
            suite=session.suite, case=kept.case, session=session.id, repetition=kept.repetition,
            baseline=good and now, worse=worse,
        )  # fmt: skip
        yield RunRow(run=of_summary(kept.summary, kept.at.timestamp()), url=kept.folder_url, place=place)


def runs_answer(
    rows: Sequence[RunRow], problems: Sequence[UnreadPlace], searched: Sequence[Path], folder: Path
) -> Answer:
    """The answer; links of its page are relative to `folder`, where the page stands."""
    where = ", ".join(map(shown, searched))
    scenarios = some(len({row.run.scenario for row in rows}), "scenario")
    measures = [name for name in NUMBERS if any(_measure(row, name) is not None for row in rows)]
    table = Table(
        title="Runs", rows=tuple(_cells(row, measures) for row in rows), sortable=True,
        links=tuple(_link(row, folder) for row in rows),
    )  # fmt: skip
    return Answer(
        title="All runs",
        sentence=f"{some(len(rows), 'run')} of {scenarios}." if rows else f"No run yet in {where}.",
        tone="none",
        context=where,
        tables=(table,) if rows else (),
        notes=tuple(f"Not read: {shown(problem.place)}: {problem.why}" for problem in problems),
        commands=() if rows else FIRST_STEPS,
        data={
            "format": FORMAT,
            "runs": [_data(row) for row in rows],
            "problems": [{"folder": str(problem.place), "problem": problem.why} for problem in problems],
        },
    )


def _cells(row: RunRow, measures: Sequence[str]) -> dict[str, str]:
    run, summary = row.run, row.run.summary
    lasted = NOTHING if run.duration_s is None else f"{run.duration_s:,.0f}"
    return {
        "started, UTC": f"{datetime.fromtimestamp(run.started_s, UTC):%Y-%m-%d %H:%M}",
        "scenario": " · ".join(filter(None, (run.scenario, run.question, _suite(row)))),
        "target": " · ".join(filter(None, (target_words(run.target), run.table))),
        "verdict": " · ".join(filter(None, (_verdict(run), *_beside(row)))),
        "confidence": sureness(summary) if summary else NOTHING,
        **{NUMBERS[name][0]: _number(_measure(row, name), NUMBERS[name][1]) for name in measures},
        "lasted, s": lasted,
        "directory": shown(place) if (place := run.folder or _local_path(row.url)) else row.url or "",
    }  # fmt: skip


def _verdict(run: FoundRun) -> str:
    """The verdict in two words, or how far the run has come."""
    if run.summary is None:
        return run.state.capitalize()
    throttled = run.summary.throttled or 0
    return in_two_words(run.summary, on_burst=run.summary.on_burst, throttles=throttled)


def _beside(row: RunRow) -> Iterator[str]:
    summary = row.run.summary
    if summary is not None:
        limited = f"{summary.resource} {summary.direction}s" if summary.resource and summary.direction else ""
        yield ", ".join(summary.labels) or limited
        yield f"broken: {'; '.join(summary.broken)}" if summary.broken else ""
    yield f"gate failed: {', '.join(row.place.worse)}" if row.place and row.place.worse else ""


def _suite(row: RunRow) -> str:
    """Where the run stands in the history, in words."""
    if (place := row.place) is None:
        return ""
    case = place.case if place.case != row.run.scenario else ""
    words = (place.suite, case, f"session {place.session}", "last good" if place.baseline else "")
    return ", ".join(filter(None, words))


def _measure(row: RunRow, name: str) -> float | None:
    return row.run.summary.measures.get(name) if row.run.summary else None


def _number(value: float | None, words: Callable[[float], str]) -> str:
    return NOTHING if value is None else words(value)


def _link(row: RunRow, folder: Path) -> str | None:
    """The address of a run's page as seen from the index; None if it has none."""
    if row.run.folder is None or not row.run.report:
        return None
    return quote(Path(relpath(row.run.folder / REPORT, folder)).as_posix())


def _data(row: RunRow) -> dict[str, Any]:
    run, place = row.run, row.place
    return {
        "scenario": run.scenario,
        "state": run.state,
        "started_at": datetime.fromtimestamp(run.started_s, UTC).isoformat(),
        "folder": None if run.folder is None else str(run.folder),
        "url": row.url,
        "report": str(run.folder / REPORT) if run.folder is not None and run.report else None,
        "summary": None if run.summary is None else run.summary.model_dump(mode="json"),
        "history": None if place is None else {
            "suite": place.suite, "case": place.case, "session": place.session,
            "repetition": place.repetition, "baseline": place.baseline, "worse": list(place.worse),
        },
    }  # fmt: skip
