"""Measure the traffic of a table in evidence: its busiest throttled minute, else its busiest one.

Its rates become a scenario. Of a live table, the evidence is of its worst hour.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Final

from keyheat.intake.tables import NotTaken
from keyheat.model.limits import EVENTUAL_READ_FACTOR, READ_UNIT_BYTES
from keyheat.numbers import span
from keyheat.runs.formats import Evidence, HotKey, Window
from keyheat.runs.metrics import (
    LATENCY,
    THROTTLED_REQUESTS,
    SeriesKey,
    consumed,
    throttle_events,
)  # fmt: skip
from keyheat.words import Direction, Resource

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MINUTE_S: Final = 60
TASKS: Final[Mapping[str, str]] = {
    "PutItem": "put", "UpdateItem": "update", "DeleteItem": "delete", "BatchWriteItem": "batch_write",
    "TransactWriteItems": "transact_write", "GetItem": "get", "Query": "query", "BatchGetItem": "batch_get",
    "TransactGetItems": "transact_get",
}  # fmt: skip
"""Operations that a scenario can send, with their task names."""
PUTS: Final = ("PutItem", "BatchWriteItem", "TransactWriteItems")
"""Operations that put the items which other tasks of the scenario read."""
FEWEST_THROTTLES: Final = 20  # in an hour, for a scenario to reproduce that hour
SINGLE: Final[Mapping[Direction, tuple[str, ...]]] = {
    Direction.WRITE: ("PutItem", "UpdateItem", "DeleteItem"),
    Direction.READ: ("GetItem", "Query"),
}
SEVERAL: Final[Mapping[Direction, tuple[str, ...]]] = {
    Direction.WRITE: ("BatchWriteItem", "TransactWriteItems"),
    Direction.READ: ("BatchGetItem", "TransactGetItems", "Scan"),
}
"""Operations of several items, whose number CloudWatch does not count."""
CONSISTENT: Final = 1.5  # times the units of an eventually consistent read, above which a read is consistent
Key = tuple[str, str | None, str | None]
"""A metric with its operation or index; of the table without either."""
Fetch = Callable[[Sequence[SeriesKey], datetime, datetime], Any]
"""Fetch series of the table from CloudWatch, as a `MetricAnswer`."""
NOT_SENT: Final = ("Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction")


@dataclass(frozen=True, slots=True)
class TaskRate:
    """Requests per second of one operation on the table or an index: peak and mean."""

    operation: str  # as in DynamoDB's API
    per_s: float
    mean_per_s: float
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTraffic:
    """Traffic of a table over a window of evidence, with notes on gaps."""

    days: float  # of the window
    peak_at: datetime  # start of the busiest minute
    tasks: tuple[TaskRate, ...]
    units_per_write: float | None  # of the table at the peak; None if not all were single writes
    units_per_read: float | None  # of table and indexes at the peak; None if not all were single reads
    throttled: bool  # whether the peak throttled
    notes: tuple[str, ...]
    hour: str | None = None  # which hour of some days the window is; None: it was given
    hot_keys: tuple[HotKey, ...] = ()  # of the table and its indexes, named by Contributor Insights
    period_s: int = MINUTE_S  # of the peak
    hot_share: tuple[str | None, float] | None = None
    """Share of one key of an index, or the table: assumed if a partition throttled and no key is named."""
    asked_per_s: Mapping[Resource, float] = field(default_factory=dict)  # units at the peak, also throttled

    def keys_of(self, index: str | None) -> tuple[HotKey, ...]:
        """The hot keys of the table or an index."""
        return tuple(key for key in self.hot_keys if key.index == index)


@dataclass(frozen=True, slots=True)
class Counts:
    """What CloudWatch counted by the start of each period, by metric, operation and index."""

    points: Mapping[Key, Mapping[datetime, float]]

    def at(self, moment: datetime, keys: Iterable[Key]) -> float:
        """Sum over the keys in one period."""
        return sum(self.points.get(key, {}).get(moment, 0.0) for key in keys)

    def per_s(self, keys: Iterable[Key], days: float) -> float:
        """Mean per second of all periods, over a time in days."""
        return sum(sum(self.points.get(key, {}).values()) for key in keys) / (days * DAY_S)

    def moments(self, keys: Iterable[Key]) -> set[datetime]:
        """Periods in which anything was counted."""
        return {at for key in keys for at, count in self.points.get(key, {}).items() if count}

    def busiest(self, keys: Sequence[Key], among: Iterable[datetime]) -> datetime | None:
        """The period with the highest sum, the latest of equals; None without any."""
        return max(among, key=lambda moment: (self.at(moment, keys), moment), default=None)

    def of(self, *operations: str) -> list[Key]:
        """The counted metrics of operations."""
        return [key for key in self.points if key[1] in operations]


def _of_resources(name: str, indexes: Sequence[str]) -> list[Key]:
    return [(name, None, index) for index in (None, *indexes)]


def _accepted_of(operations: Iterable[str]) -> list[Key]:
    return [(LATENCY, operation, None) for operation in operations]


@dataclass(frozen=True, slots=True)
class WorstHour:
    """The hour of some days that a scenario reproduces: the one with most throttles, else the busiest."""

    window: Window
    name: str


def worst_hour(fetch: Fetch, *, days: int, now: datetime) -> WorstHour | None:
    """Find the worst hour of a table by its requests; None if CloudWatch counted no request.

    Raises `NotTaken` if CloudWatch does not answer.
    """
    end = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    series = [
        SeriesKey(metric=name, statistic=_statistic(name), period_s=HOUR_S, operation=operation)
        for name in (LATENCY, THROTTLED_REQUESTS)
        for operation in (*TASKS, *NOT_SENT)
    ]
    answer = fetch(series, end - timedelta(days=days), end)
    if answer.failure:
        needs = ". --from-metrics needs cloudwatch:GetMetricData" if answer.failure == "refused" else ""
        raise NotTaken("; ".join(answer.problems) + needs)
    throttled, sent = Counter[datetime](), Counter[datetime]()
    for key, points in answer.points.items():
        for counts in (sent, throttled) if key.metric == THROTTLED_REQUESTS else (sent,):
            counts.update(points)
    is_throttled = max(throttled.values(), default=0) >= FEWEST_THROTTLES
    hours = throttled if is_throttled else sent
    start = max(hours, key=lambda at: (hours[at], at), default=None)
    if start is None or not hours[start]:
        return None
    name = "the hour that throttled most" if is_throttled else f"the busiest hour of {span(days * DAY_S)}"
    return WorstHour(Window(start=start, end=start + timedelta(hours=1)), name)


def _statistic(name: str) -> str:
    """How CloudWatch counts with a metric."""
    return "SampleCount" if name == LATENCY else "Sum"


def incident_traffic(evidence: Evidence) -> MeasuredTraffic | None:
    """A table's demand in its busiest throttled period, from evidence; None without metrics.

    Rates are for a table at scale 1.
    """
    counts = Counts(
        {
            (series.metric, series.operation, series.index): dict(series.points)
            for series in evidence.series
            if series.dimension is None and series.statistic == _statistic(series.metric)
        }
    )
    events = {throttle_events(side) for side in Direction}
    throttles = [key for key in counts.points if key[0] in events]
    accepted = {at for key, points in counts.points.items() if key[0] == LATENCY for at in points}
    units: list[Key] = [(name, None, None) for name in (*map(consumed, Direction), *events)]
    sent = counts.of(*TASKS, *NOT_SENT) if accepted else units
    moment = counts.busiest(sent, counts.moments(throttles) or counts.moments(sent))
    if moment is None:
        return None
    periods = [series.period_s for series in evidence.series if series.metric in map(consumed, Direction)]
    period_s = min(periods, default=MINUTE_S)
    days = (evidence.window.end - evidence.window.start).total_seconds() / DAY_S
    indexes = [index.name for index in evidence.table.indexes]
    scaled_s, scaled_days = period_s * evidence.scale, days * evidence.scale
    tasks = tuple(_tasks(counts, moment, scaled_s, scaled_days, indexes)) if accepted else ()
    notes = ["no operation was counted; each request is assumed to take one unit"]
    if tasks:
        notes = _not_sent({name: counts.at(moment, counts.of(name)) / scaled_s for name in NOT_SENT})
    return MeasuredTraffic(
        days=days,
        peak_at=moment,
        tasks=tasks or tuple(_by_units(counts, moment, scaled_s, scaled_days, indexes)),
        units_per_write=_units_per_request(counts, Direction.WRITE, [moment])
        or _units_per_request(counts, Direction.WRITE, accepted),
        units_per_read=_units_per_request(counts, Direction.READ, [moment], indexes) if tasks else 1.0,
        throttled=bool(counts.at(moment, throttles)),
        notes=tuple(notes),
        period_s=period_s,
    )


def _by_units(
    counts: Counts, moment: datetime, period_s: float, days: float, indexes: Sequence[str]
) -> Iterator[TaskRate]:
    """Assume single reads and writes of one unit: the consumed and throttled ones."""
    for side, operation in ((Direction.WRITE, "PutItem"), (Direction.READ, "GetItem")):
        units: list[Key] = [(consumed(side), None, None)]
        events = _of_resources(throttle_events(side), indexes)
        peak = counts.at(moment, units) + _events(counts, moment, events, side)
        if peak:
            throttled = sum(_events(counts, at, events, side) for at in counts.moments(events))
            yield TaskRate(operation, peak / period_s, counts.per_s(units, days) + throttled / (days * DAY_S))


def _events(counts: Counts, at: datetime, events: Sequence[Key], side: Direction) -> float:
    """Throttle events of the table in one period; a write that indexes throttled is one of them, too."""
    of_table, *of_indexes = (counts.at(at, [key]) for key in events)
    return of_table + (max(of_indexes, default=0.0) if side is Direction.WRITE else 0.0)


def _tasks(
    counts: Counts, moment: datetime, period_s: float, days: float, indexes: Sequence[str]
) -> Iterator[TaskRate]:
    """Rates of each operation at the peak; queries are split over table and indexes by read units."""
    units = {key[2]: counts.per_s([key], 1) for key in _of_resources(consumed(Direction.READ), indexes)}
    if any(units[index] for index in indexes):  # without the table's gets, at the lowest price of a get
        gets = counts.per_s(counts.of("GetItem"), 1)
        units[None] = max(0.0, units[None] - gets * EVENTUAL_READ_FACTOR)
    total = sum(units.values())
    queried = {index: value / total for index, value in units.items() if value} if total else {None: 1.0}
    for operation in TASKS:
        sent = counts.of(operation)
        peak, mean = counts.at(moment, sent) / period_s, counts.per_s(sent, days)
        if peak:
            for index, share in (queried if operation == "Query" else {None: 1.0}).items():
                yield TaskRate(operation, peak * share, mean * share, index)


def _units_per_request(
    counts: Counts, side: Direction, periods: Collection[datetime], indexes: Sequence[str] = ()
) -> float | None:
    """Units per accepted request, of the table and `indexes`, in some periods.

    None without single requests, or if there were others, whose items are not counted.
    """

    def total(keys: Sequence[Key]) -> float:
        return sum(counts.at(at, keys) for at in periods)

    single, several = total(_accepted_of(SINGLE[side])), total(_accepted_of(SEVERAL[side]))
    units = total(_of_resources(consumed(side), indexes))
    return None if several or not single or not units else units / single


def _not_sent(per_s: Mapping[str, float]) -> list[str]:
    """Notes on operations that no task can send."""
    return [
        f"{rate:.3g} requests/s of {operation}: a scenario has no such task"
        for operation, rate in per_s.items()
        if rate
    ]


def read_of(
    task: TaskRate, per_s: float, units: float, item_bytes: int, *, sorts: bool, items: bool
) -> tuple[float, str, list[str]]:
    """Reads that take `units` for each that was measured: consistent ones, pages, or more of them.

    Returns how many for each, why there are more or fewer, and the lines of their task. `sorts`: what is read
    has a sort key; `items`: other tasks put items there.
    """
    note = f"  # {units:.3g} RCU consumed per read"
    if items and task.operation == "Query" and sorts:
        page_bytes = (units / EVENTUAL_READ_FACTOR - 0.5) * READ_UNIT_BYTES
        return 1.0, "", [f"limit = {max(1, round(page_bytes / item_bytes))}{note}"]
    each = EVENTUAL_READ_FACTOR * (ceil(item_bytes / READ_UNIT_BYTES) if items else 1)
    consistent = task.index is None and units > CONSISTENT * each
    if consistent:
        each /= EVENTUAL_READ_FACTOR
    lines = [f"consistent = true{note}"] if consistent else []
    if each == units or (items and units <= CONSISTENT * each):
        return 1.0, "", lines
    why = "smaller items are read" if items else "no task puts items, so a read finds none"
    why = f"{per_s:,.5g} reads/s of {units:.3g} RCU; {why}: {each:g} RCU"
    return units / each, why, lines
