"""How a scenario's numbers went from run to run: what is drawn small, with its baseline and its changes.

A trend goes over runs that measured the same thing: one scenario, one target, one setup. A run that is not
valid says nothing about the table, and is in none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Final

import orjson

from keyheat.analysis.measures.catalogue import MEASURES, Measure
from keyheat.analysis.measures.setup import Setup
from keyheat.pages.run.hero import PLACES
from keyheat.pages.runs.rows import Row
from keyheat.regression.statistics.change_points import change_points

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
class Change:
    """From the run at `at` on, a measure was another: medians before and after."""

    at: int
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One measure over the runs of a trend; None where a run does not have it."""

    measure: Measure
    values: tuple[float | None, ...]
    baseline: float | None
    changes: tuple[Change, ...]
    worse: tuple[int, ...]  # places of runs that a gate found worse than the baseline

    def is_worse(self, change: Change) -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Runs of one setup, the oldest first. `says` tells setups of one scenario apart."""

    scenario: str
    target: str
    says: str
    rows: tuple[Row, ...]
    left_out: int  # older runs
    series: tuple[Series, ...]

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


def trends_of(rows: Sequence[Row]) -> tuple[Trend, ...]:
    """A trend for every setup that was measured twice: those that became worse first, then the newest."""
    groups: dict[bytes, list[Row]] = {}
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


def _trend(group: Sequence[Row], *, alone: bool) -> Trend:
    rows = tuple(group[-MOST:])
    last = rows[-1]
    assert last.summary is not None, "only analyzed runs are compared"
    return Trend(
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


def _series(rows: Sequence[Row]) -> Iterator[Series]:
    columns = {name: _column(rows, name) for name in DRAWN}
    most = max((_level(columns[name]) for name in DRAWN if name.startswith("accepted")), default=0.0)
    for name, values in columns.items():
        level = _level(values)
        if not any(value is not None for value in values):
            continue
        if name.startswith("accepted") and level < MEANINGLESS * most:
            continue
        yield Series(
            measure=MEASURES[name],
            values=values,
            baseline=_baseline(rows, values),
            changes=_changes(MEASURES[name], values),
            worse=tuple(place for place, row in enumerate(rows) if row.place and name in row.place.worse),
        )


def _column(rows: Sequence[Row], name: str) -> tuple[float | None, ...]:
    return tuple(row.summary.measures.get(name) if row.summary else None for row in rows)


def _level(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return median(known) if known else 0.0


def _baseline(rows: Sequence[Row], values: Sequence[float | None]) -> float | None:
    """What later runs are held against: the median of the baseline's repetitions."""
    known = [
        value
        for row, value in zip(rows, values, strict=True)
        if row.place is not None and row.place.baseline and value is not None
    ]
    return median(known) if known else None


@lru_cache(maxsize=1_000)  # a server finds most trends as they were
def _changes(measure: Measure, values: tuple[float | None, ...]) -> tuple[Change, ...]:
    """Change points, at the places of the runs that have the measure; below its floor nothing changes."""
    places = [place for place, value in enumerate(values) if value is not None]
    known = [value for value in values if value is not None]
    return tuple(
        Change(at=places[found.index], before=found.before, after=found.after)
        for found in change_points(known, least_effect=LEAST_EFFECT, shuffles=SHUFFLES)
        if max(found.before, found.after) >= measure.floor
    )
