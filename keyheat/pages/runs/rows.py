"""A run as a row of the index, from its directory or the history, and how a scenario went from run to run.

A trend goes over runs that measured the same thing: one scenario, one target, one setup. A run that is not
valid says nothing about the table, and is in none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import unquote, urlsplit

import orjson

from keyheat.analysis.measures import MEASURES, Measure
from keyheat.analysis.setup import Setup, target_of
from keyheat.analysis.summary import RunSummary
from keyheat.pages.run.hero import PLACES
from keyheat.pages.runs.found import FoundRun, State
from keyheat.pages.wording import in_two_words
from keyheat.regression.change_points import change_points
from keyheat.runfiles import SIMULATED

KEY_DIGITS: Final = 12
WORDS: Final[Mapping[State, str]] = {
    "under way": "Under way",
    "not analyzed": "Not analyzed",
    "never ended": "Never ended",
}
"""What stands in a verdict's place, of a run that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlace:
    """Where a run stands in the history, and what came of it there."""

    suite: str
    case: str
    session: str
    repetition: int
    side: str = "candidate"
    baseline: bool = False  # it is one of those that later ones are held against
    worse: tuple[str, ...] = ()  # measures, or `labels`, that were found to be worse than the baseline's


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRun:
    """A run as the history has it, wherever its files are now."""

    summary: RunSummary
    url: str | None
    place: SuitePlace
    at_s: float | None = None  # when it was kept, in seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run. `key` names it, and says nothing about where it is; no key of an item is in it.

    `started_s` is when it was made, in seconds since 1970: the clock of a simulated run is a virtual one,
    the same each time.
    """

    key: str
    scenario: str
    question: str
    target: str
    table: str | None
    started_s: float
    duration_s: float | None
    status: str
    state: State
    summary: RunSummary | None
    folder: Path | None  # None: its files are somewhere else, or nowhere
    url: str | None = None
    report: bool = False
    place: SuitePlace | None = None

    @property
    def verdict(self) -> str:
        """The verdict in two words, or how far the run has come."""
        return WORDS[self.state] if self.summary is None else in_two_words(self.summary)

    @property
    def tone(self) -> str:
        """What the verdict is about: a constraint, `invalid`, or `idle` where there is none."""
        if self.summary is None:
            return "idle"
        return self.summary.constraint if self.summary.valid else "invalid"

    @property
    def limited(self) -> str:
        """What was limited: `table writes`."""
        summary = self.summary
        if summary is None or summary.resource is None or summary.direction is None:
            return ""
        return f"{summary.resource} {summary.direction}s"

    @property
    def comparable(self) -> bool:
        """Whether its numbers say something about the table."""
        return self.summary is not None and self.summary.valid


def rows_of(found: Iterable[FoundRun], remembered: Iterable[HistoryRun] = ()) -> tuple[RunRow, ...]:
    """Every run once, the newest first; one that the history knows too has its place there."""
    rows = {str(one.folder.absolute()): _of_found(one) for one in found}
    for one in remembered:
        path = local_path(one.url)
        here = None if path is None else rows.get(str(path))
        if here is not None and path is not None:
            rows[str(path)] = replace(here, place=one.place)
        else:
            row = _of_remembered(one)
            rows[row.key] = row
    return tuple(sorted(rows.values(), key=lambda row: (-row.started_s, row.key)))


def local_path(url: str | None) -> Path | None:
    """The directory that a URL names on this machine, if it does."""
    parts = urlsplit(url or "")
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def key_of(name: str) -> str:
    """A short name for a run that says nothing about where it is."""
    return sha256(name.encode()).hexdigest()[:KEY_DIGITS]


def _of_found(found: FoundRun) -> RunRow:
    key, summary = key_of(str(found.folder.absolute())), found.summary
    if summary is not None:
        return replace(
            _of_summary(key, summary, found.made_s),
            folder=found.folder,
            table=found.table,
            report=found.report,
        )
    assert found.manifest is not None, "a run without a summary has a manifest"
    manifest = found.manifest
    return RunRow(
        key=key,
        scenario=manifest.name or found.folder.name,
        question=manifest.question or "",
        target=target_of(manifest),
        table=found.table,
        started_s=manifest.started_at.timestamp(),
        duration_s=manifest.duration_s,
        status=manifest.status,
        state=found.state,
        summary=None,
        folder=found.folder,
    )


def _of_remembered(one: HistoryRun) -> RunRow:
    place = one.place
    name = f"{place.suite}\n{place.session}\n{place.case}\n{place.side}\n{place.repetition}"
    return replace(_of_summary(key_of(name), one.summary, one.at_s), url=one.url, place=place)


def _of_summary(key: str, summary: RunSummary, made_s: float | None) -> RunRow:
    simulated = summary.setup.target == SIMULATED
    return RunRow(
        key=key,
        scenario=summary.scenario,
        question=summary.question,
        target=summary.setup.target,
        table=None,
        started_s=made_s if simulated and made_s is not None else summary.started_at.timestamp(),
        duration_s=summary.duration_s,
        status=summary.status,
        state="done",
        summary=summary,
        folder=None,
    )


MOST: Final = 100  # runs of a trend, the newest: what changed before them is no news
LEAST: Final = 2
SHUFFLES: Final = 199
LEAST_EFFECT: Final = 0.03  # relative: less is marked nowhere
DRAWN: Final = (
    "accepted_units_per_s.write", "accepted_units_per_s.read", "throttle_share", "p99_ms",
)  # fmt: skip
MEANINGLESS: Final = 0.01
"""Of the other direction's accepted units: less is a scenario's by-product, and not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendChange:
    """From the run at `at` on, a measure was another: medians before and after."""

    at: int
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSeries:
    """One measure over the runs of a trend; None where a run does not have it."""

    measure: Measure
    values: tuple[float | None, ...]
    baseline: float | None
    changes: tuple[TrendChange, ...]
    worse: tuple[int, ...]  # places of runs that a gate found worse than the baseline

    def is_worse(self, change: TrendChange) -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTrend:
    """Runs of one setup, the oldest first. `says` tells setups of one scenario apart."""

    scenario: str
    target: str
    says: str
    rows: tuple[RunRow, ...]
    left_out: int  # older runs
    series: tuple[TrendSeries, ...]

    @property
    def worse(self) -> bool:
        """Whether the newest thing that is known about it is a change for the worse."""
        return any(
            (one.changes and one.is_worse(one.changes[-1])) or (one.worse and one.worse[-1] in self._newest)
            for one in self.series
        )

    @property
    def _newest(self) -> set[int]:
        """Places of the runs of the newest session."""
        last = self.rows[-1].place
        return {
            place
            for place, row in enumerate(self.rows)
            if last is not None and row.place is not None and row.place.session == last.session
        }


def trends_of(rows: Sequence[RunRow]) -> tuple[ScenarioTrend, ...]:
    """A trend for every setup that was measured twice: those that became worse first, then the newest."""
    groups: dict[bytes, list[RunRow]] = {}
    for row in rows:
        if row.comparable and row.summary is not None:
            groups.setdefault(_measured(row.scenario, row.summary.setup), []).append(row)
    chosen = [
        sorted(group, key=lambda row: row.started_s) for group in groups.values() if len(group) >= LEAST
    ]
    named = Counter((group[0].scenario, group[0].target) for group in chosen)
    trends = [_trend(group, alone=named[group[0].scenario, group[0].target] == 1) for group in chosen]
    return tuple(
        sorted(trends, key=lambda trend: (not trend.worse, -trend.rows[-1].started_s, trend.scenario))
    )


def _measured(scenario: str, setup: Setup) -> bytes:
    """What has to be the same; another version of the software is what a trend is there to show."""
    return orjson.dumps(
        [scenario, setup.model_dump(mode="json", exclude={"versions", "machine_says"})],
        option=orjson.OPT_SORT_KEYS,
    )


def _trend(group: Sequence[RunRow], *, alone: bool) -> ScenarioTrend:
    rows = tuple(group[-MOST:])
    last = rows[-1]
    assert last.summary is not None, "only analyzed runs are compared"
    return ScenarioTrend(
        scenario=last.scenario,
        target=PLACES.get(last.target, last.target),
        says="" if alone else _said(last.summary.setup),
        rows=rows,
        left_out=len(group) - len(rows),
        series=tuple(_series(rows)),
    )


def _said(setup: Setup) -> str:
    """A setup in a few words: capacity, scale, machine."""
    numbers = {name: value for name, value in setup.table.items() if value is not None}
    table = [f"{name} {value:,g}" for name, value in numbers.items() if type(value) in (int, float)]
    scale = [f"every limit × {setup.scale:g}"] if setup.scale != 1 else []
    return ", ".join([*table[:4], *scale, *([setup.machine_says] if setup.machine_says else [])])


def _series(rows: Sequence[RunRow]) -> Iterator[TrendSeries]:
    columns = {name: _column(rows, name) for name in DRAWN}
    most = max((_level(columns[name]) for name in DRAWN if name.startswith("accepted")), default=0.0)
    for name, values in columns.items():
        level = _level(values)
        if not any(value is not None for value in values):
            continue
        if name.startswith("accepted") and level < MEANINGLESS * most:
            continue
        yield TrendSeries(
            measure=MEASURES[name],
            values=values,
            baseline=_baseline(rows, values),
            changes=_changes(MEASURES[name], values),
            worse=tuple(place for place, row in enumerate(rows) if row.place and name in row.place.worse),
        )


def _column(rows: Sequence[RunRow], name: str) -> tuple[float | None, ...]:
    return tuple(row.summary.measures.get(name) if row.summary else None for row in rows)


def _level(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return median(known) if known else 0.0


def _baseline(rows: Sequence[RunRow], values: Sequence[float | None]) -> float | None:
    """What later runs are held against: the median of the baseline's repetitions."""
    known = [
        value
        for row, value in zip(rows, values, strict=True)
        if row.place is not None and row.place.baseline and value is not None
    ]
    return median(known) if known else None


@lru_cache(maxsize=1_000)  # a server finds most trends as they were
def _changes(measure: Measure, values: tuple[float | None, ...]) -> tuple[TrendChange, ...]:
    """Change points, at the places of the runs that have the measure; below its floor nothing changes."""
    places = [place for place, value in enumerate(values) if value is not None]
    known = [value for value in values if value is not None]
    return tuple(
        TrendChange(at=places[found.index], before=found.before, after=found.after)
        for found in change_points(known, least_effect=LEAST_EFFECT, shuffles=SHUFFLES)
        if max(found.before, found.after) >= measure.floor
    )
