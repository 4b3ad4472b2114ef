"""The page over all runs, of a folder and of the history: one HTML file that needs nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from keyheat.analysis.measures import MEASURES
from keyheat.masking import shown
from keyheat.pages.page import embedded, page, said_at, save, template
from keyheat.pages.runs.found import UnreadPlace
from keyheat.pages.runs.headline import headline
from keyheat.pages.runs.rows import HistoryRun, RunRow, SuitePlace
from keyheat.pages.runs.standing import MARKS
from keyheat.pages.runs.trends import ScenarioTrend, TrendSeries, trends_of
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.records import Session
from keyheat.regression.history.store import History
from keyheat.runfiles import REPORT
from keyheat.wording.constraints import target_words

DIGITS: Final = 4  # of a measured number: more than any page shows
TITLES: Final[Mapping[str, str]] = {
    "accepted_units_per_s.write": "Accepted WCU/s",
    "accepted_units_per_s.read": "Accepted RCU/s",
    "throttle_share": "Throttled",
    "p99_ms": "p99",
    "units_per_operation.write": "WCU per write",
    "units_per_operation.read": "RCU per read",
    "mean_units_per_operation.write": "WCU per write, mean",
    "mean_units_per_operation.read": "RCU per read, mean",
}

PlaceOf = Callable[[RunRow], str]
"""Where a run's directory is, as the reader of the page would type it."""
LinkOf = Callable[[RunRow], str | None]
"""The address of a run's page as seen from the index; None where there is none."""


@dataclass(slots=True)
class WordNumbers:
    """Each text once, and its number wherever it stands."""

    _numbers: dict[str, int]

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def listed(self) -> list[str]:
        return list(self._numbers)


def content_of(
    rows: Sequence[RunRow],
    trends: Sequence[ScenarioTrend],
    problems: Sequence[UnreadPlace],
    *,
    place: PlaceOf,
    link: LinkOf,
) -> dict[str, Any]:
    """What the page shows, without the runs that are under way."""
    words = WordNumbers({})
    numbers = {row.key: number for number, row in enumerate(rows)}
    return {
        "sentence": headline(rows, trends),
        "columns": _columns(rows, words, place, link),
        "words": words.listed,
        "marks": MARKS,
        "says": {name: measure.says for name, measure in MEASURES.items()},
        "trends": [_trend(trend, numbers) for trend in trends],
        "problems": [[str(problem.place), problem.why] for problem in problems],
    }


def _columns(
    rows: Sequence[RunRow], words: WordNumbers, place: PlaceOf, link: LinkOf
) -> dict[str, list[Any]]:
    measures = [
        name for name in MEASURES if any(row.summary and name in row.summary.measures for row in rows)
    ]

    def named(text: Callable[[RunRow], str]) -> list[int]:
        return [words.number(text(row)) for row in rows]

    return {
        "key": [row.key for row in rows],
        "started": [round(row.started_s) for row in rows],
        "duration": [None if row.duration_s is None else round(row.duration_s) for row in rows],
        "scenario": named(lambda row: row.scenario),
        "question": named(lambda row: row.question),
        "target": named(lambda row: target_words(row.target)),
        "table": named(lambda row: row.table or ""),
        "verdict": named(lambda row: row.verdict),
        "tone": named(lambda row: row.tone),
        "limited": named(lambda row: row.limited),
        "labels": named(lambda row: ", ".join(row.summary.labels) if row.summary else ""),
        "broken": named(lambda row: "; ".join(row.summary.broken) if row.summary else ""),
        "status": named(lambda row: row.status),
        "suite": named(lambda row: f"{row.place.suite}, {row.place.case}" if row.place else ""),
        "session": named(lambda row: row.place.session if row.place else ""),
        "worse": [1 if row.place and row.place.worse else 0 for row in rows],
        "baseline": [1 if row.place and row.place.baseline else 0 for row in rows],
        "machine": named(lambda row: (row.summary.setup.machine_says or "") if row.summary else ""),
        "seed": [row.summary.seed if row.summary else None for row in rows],
        "sure": [row.summary.confidence if row.summary else None for row in rows],
        "attempts": [row.summary.attempts if row.summary else None for row in rows],
        "throttled": [row.summary.throttled if row.summary else None for row in rows],
        "folder": [place(row) for row in rows],
        "link": [link(row) for row in rows],
        **{
            name: [_short(row.summary.measures.get(name)) if row.summary else None for row in rows]
            for name in measures
        },
    }


def _trend(trend: ScenarioTrend, numbers: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": trend.name,
        "suite": trend.suite,
        "scenario": trend.scenario,
        "target": trend.target,
        "says": trend.says,
        "setups": [[one.at, list(one.says)] for one in trend.setups],
        "left_out": trend.left_out,
        "worse": trend.worse,
        "stands": trend.stands,
        "sessions": [[numbers[one.row.key], one.mark] for one in trend.sessions],
        "rows": [numbers[row.key] for row in trend.rows],
        "series": [_series(one) for one in trend.series],
    }


def _series(one: TrendSeries) -> dict[str, Any]:
    return {
        "measure": one.measure.name,
        "title": TITLES.get(one.measure.name),
        "unit": one.measure.unit,
        "better": one.measure.better,
        "says": one.measure.says,
        "baseline": _short(one.baseline),
        "changes": [
            [
                change.at,
                _short(change.before),
                _short(change.after),
                int(one.is_worse(change)),
                int(one.lasts(change)),
            ]
            for change in one.changes
        ],
        "worse": list(one.worse),
        "now": _short(one.now),
    }


def _short(value: float | None) -> float | int | None:
    """A number with as many digits as were measured."""
    if value is None or not isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


NAME: Final = "runs.html"


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


def place_of(row: RunRow) -> str:
    """Where a run's files are."""
    return shown(row.folder) if row.folder is not None else row.url or ""


def write_runs(path: Path, runs: Runs, generated_at: datetime) -> None:
    """Write the page. Raises `CannotWrite`."""

    def link(row: RunRow) -> str | None:
        if row.folder is None or not row.report:
            return None
        return quote(Path(relpath(row.folder / REPORT, path.parent)).as_posix())

    trends = trends_of(runs.rows)
    content = content_of(runs.rows, trends, runs.problems, place=place_of, link=link)
    save(path, render_runs(content, runs.searched, generated_at))


def render_runs(
    content: dict[str, Any], searched: str, generated_at: datetime, *, serve: str | None = None
) -> str:
    """The page; where `serve` is the command of a server, it keeps itself up to date from there."""
    return page(
        "runs.html.j2",
        content=content,
        data=embedded(content),
        where=searched,
        searched=searched,
        live=serve is not None,
        command=serve or "",
        runs_styles=Markup(template("runs.css")),
        runs_script=Markup(template("runs.js")),
        generated_at=said_at(generated_at),
    )


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


Memory = tuple[tuple[HistoryRun, ...], tuple[UnreadPlace, ...]]
NOTHING: Memory = ((), ())


@dataclass(slots=True)
class Recall:
    """Reads one history, again whenever its file has changed; one that is not there has nothing to say.

    `now` is asked by the history, which may have to bring an older file up to date.
    """

    path: Path
    now: Callable[[], datetime]
    _stamp: tuple[int, int] | None = None
    _memory: Memory = NOTHING

    def look(self) -> Memory:
        """Every run that is remembered, and what stood in the way. The same object while nothing changed."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._memory = None, NOTHING
            return self._memory
        stamp = there.st_mtime_ns, there.st_size
        if stamp != self._stamp:
            self._memory = self._read()
            after = self.path.stat()
            self._stamp = after.st_mtime_ns, after.st_size
        return self._memory

    def _read(self) -> Memory:
        try:
            with History.open(self.path, self.now) as history:
                return tuple(_remembered(history)), ()
        except HistoryProblem as problem:
            return (), (UnreadPlace(place=self.path, why=str(problem)),)


def _remembered(history: History) -> Iterator[HistoryRun]:
    baselines = {session.id for suite in history.suites() if (session := history.last_good(suite))}
    for session in history.sessions():
        yield from _of_session(history, session, baseline=session.id in baselines)


def _of_session(history: History, session: Session, *, baseline: bool) -> Iterator[HistoryRun]:
    worse: dict[str, list[str]] = {}
    findings = history.findings(session)
    judged = {finding.case for finding in findings}
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
                judged=kept.case in judged,
            ),
        )
