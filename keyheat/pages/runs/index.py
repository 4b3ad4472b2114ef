"""The page over all runs, of a folder and of the history: one static table that needs nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from keyheat.masking import shown
from keyheat.numbers import measured, percent, some, span
from keyheat.pages.page import page, said_at, template
from keyheat.pages.runs.found import UnreadPlace
from keyheat.pages.runs.rows import HistoryRun, RunRow, SuitePlace
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.records import Session
from keyheat.regression.history.store import History
from keyheat.runfiles import REPORT
from keyheat.show.constraints import target_words
from keyheat.show.html import save

NAME: Final = "runs.html"
NUMBERS: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "accepted_units_per_s.write": ("WCU/s", measured),
    "accepted_units_per_s.read": ("RCU/s", measured),
    "throttle_share": ("Throttled", percent),
    "p99_ms": ("p99, ms", measured),
}
"""Measures of the table, with their heads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """All runs that there are, the newest first, and the places where there may be more."""

    rows: tuple[RunRow, ...]
    problems: tuple[UnreadPlace, ...]
    folders: tuple[Path, ...]
    history: Path | None = None

    @property
    def searched(self) -> str:
        """Where was looked."""
        kept = [self.history] if self.history is not None and self.history.exists() else []
        return ", ".join(map(shown, (*self.folders, *kept)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One field of the table. A browser sorts by its `value`, else by its text."""

    text: str
    value: float | None = None
    beside: tuple[str, ...] = ()
    number: bool = False
    tone: str = ""
    link: str | None = None


def write_runs(path: Path, runs: Runs, generated_at: datetime) -> None:
    """Write the page. Raises `CannotWrite`."""
    save(path, render_runs(runs, path.parent, generated_at))


def render_runs(runs: Runs, folder: Path, generated_at: datetime) -> str:
    """The page, as it stands in `folder`."""
    rows = runs.rows
    shown_measures = [name for name in NUMBERS if any(_measure(row, name) is not None for row in rows)]
    return page(
        "runs.html.j2",
        sentence=headline(rows),
        heads=["Started (UTC)", "Scenario", "Target", "Verdict", "Confidence",
               *(NUMBERS[name][0] for name in shown_measures), "Lasted", "Directory"],
        rows=[list(_cells(row, shown_measures, folder)) for row in rows],
        problems=[(shown(problem.place), problem.why) for problem in runs.problems],
        searched=runs.searched,
        runs_styles=Markup(template("runs.css")),
        runs_script=Markup(template("runs.js")),
        generated_at=said_at(generated_at),
    )  # fmt: skip


def headline(rows: Sequence[RunRow]) -> str:
    """Such as `189 runs of 6 scenarios.`"""
    if not rows:
        return "No run yet."
    return f"{some(len(rows), 'run')} of {some(len({row.scenario for row in rows}), 'scenario')}."


def _cells(row: RunRow, names: Sequence[str], folder: Path) -> Iterator[Cell]:
    started = datetime.fromtimestamp(row.started_s, UTC)
    yield Cell(text=f"{started:%Y-%m-%d %H:%M}", value=row.started_s, tone="when")
    yield Cell(text=row.scenario, beside=tuple(filter(None, (row.question, _suite(row)))))
    yield Cell(text=target_words(row.target), beside=(row.table or "",))
    yield _verdict(row)
    sure = row.summary.confidence if row.summary else None
    yield _number(sure, percent)
    for name in names:
        yield _number(_measure(row, name), NUMBERS[name][1])
    yield _number(row.duration_s, span)
    yield Cell(text=place_of(row), link=_link(row, folder))


def _verdict(row: RunRow) -> Cell:
    summary = row.summary
    labels = ", ".join(summary.labels) if summary else ""
    broken = f"Broken: {'; '.join(summary.broken)}" if summary and summary.broken else ""
    worse = f"Gate failed: {', '.join(row.place.worse)}" if row.place and row.place.worse else ""
    said = tuple(filter(None, (labels or row.limited, broken, worse)))
    return Cell(text=row.verdict, beside=said, tone=f"tone {row.tone}")


def _suite(row: RunRow) -> str:
    """Where the run stands in the history, in words."""
    place = row.place
    if place is None:
        return ""
    case = place.case if place.case != row.scenario else ""
    said = (place.suite, case, f"session {place.session}", "last good" if place.baseline else "")
    return ", ".join(filter(None, said))


def _measure(row: RunRow, name: str) -> float | None:
    return row.summary.measures.get(name) if row.summary else None


def _number(value: float | None, said: Callable[[float], str]) -> Cell:
    return Cell(text="–" if value is None else said(value), value=value, number=True)


def place_of(row: RunRow) -> str:
    """Where a run's files are."""
    return shown(row.folder) if row.folder is not None else row.url or ""


def _link(row: RunRow, folder: Path) -> str | None:
    """The address of a run's page as seen from the index; None where there is none."""
    if row.folder is None or not row.report:
        return None
    return quote(Path(relpath(row.folder / REPORT, folder)).as_posix())


def for_programs(rows: Sequence[RunRow], problems: Sequence[UnreadPlace]) -> dict[str, Any]:
    """The same for another program."""
    return {
        "format": "keyheat.index/1",
        "runs": [_for_programs(row) for row in rows],
        "problems": [{"folder": str(problem.place), "problem": problem.why} for problem in problems],
    }


def _for_programs(row: RunRow) -> dict[str, Any]:
    place = row.place
    return {
        "scenario": row.scenario,
        "state": row.state,
        "started_at": datetime.fromtimestamp(row.started_s, UTC).isoformat(),
        "folder": None if row.folder is None else str(row.folder),
        "url": row.url,
        "report": str(row.folder / REPORT) if row.folder is not None and row.report else None,
        "summary": None if row.summary is None else row.summary.model_dump(mode="json"),
        "history": None
        if place is None
        else {
            "suite": place.suite,
            "case": place.case,
            "session": place.session,
            "repetition": place.repetition,
            "baseline": place.baseline,
            "worse": list(place.worse),
        },
    }


def remembered(
    path: Path, now: Callable[[], datetime]
) -> tuple[tuple[HistoryRun, ...], tuple[UnreadPlace, ...]]:
    """Every run of a history, and why it cannot be read; nothing of one that is not there."""
    if not path.exists():
        return (), ()
    try:
        with History.open(path, now) as history:
            return tuple(_remembered(history)), ()
    except HistoryProblem as problem:
        return (), (UnreadPlace(place=path, why=str(problem)),)


def _remembered(history: History) -> Iterator[HistoryRun]:
    baselines = {session.id for suite in history.suites() if (session := history.last_good(suite))}
    for session in history.sessions():
        yield from _of_session(history, session, baseline=session.id in baselines)


def _of_session(history: History, session: Session, *, baseline: bool) -> Iterator[HistoryRun]:
    worse: dict[str, list[str]] = {}
    findings = history.findings(session)
    for finding in findings:
        if finding.failed:
            worse.setdefault(finding.case, []).append(finding.gate.measure)
    for kept in history.runs(session, side=None):
        candidate = kept.side == "candidate"
        yield HistoryRun(
            summary=kept.summary,
            url=kept.folder_url,
            at_s=kept.at.timestamp(),
            place=SuitePlace(
                suite=session.suite,
                case=kept.case,
                session=str(session.id),
                repetition=kept.repetition,
                side=kept.side,
                baseline=baseline and candidate,
                worse=tuple(worse.get(kept.case, ())) if candidate else (),
                verdict=session.verdict,
            ),
        )
