"""Measure the traffic of a live table with CloudWatch.

From all hours, take the one with most throttles, else the busiest; from it, the busiest minute, preferring
throttled ones. Its rates become a scenario. For an incident, the evidence's window replaces the hour.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from keyheat.intake.metric_query import Metric, MetricQuery, Points
from keyheat.model.limits import EVENTUAL_READ_FACTOR
from keyheat.runs.formats import Evidence, HotKey, Window
from keyheat.runs.metrics import LATENCY, THROTTLED_REQUESTS, consumed, throttle_events
from keyheat.words import Direction, Resource

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MINUTE_S: Final = 60
TASKS: Final[Mapping[str, str]] = {
    "PutItem": "put",
    "UpdateItem": "update",
    "DeleteItem": "delete",
    "BatchWriteItem": "batch_write",
    "TransactWriteItems": "transact_write",
    "GetItem": "get",
    "Query": "query",
    "BatchGetItem": "batch_get",
    "TransactGetItems": "transact_get",
}
"""Operations that a scenario can send, with their task names."""
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
NOT_SENT: Final = ("Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction")


@dataclass(frozen=True, slots=True)
class TaskRate:
    """Requests per second of one operation on the table or an index: peak and mean."""

    operation: str  # as in DynamoDB's API
    per_s: float
    mean_per_s: float
    index: str | None = None


@dataclass(frozen=True, slots=True)
class HotShare:
    """The share of one key, of an index or the table, that would throttle as much as was measured."""

    index: str | None
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTraffic:
    """Traffic of a table over some days, with notes on gaps."""

    days: float  # since the first counted request
    peak_at: datetime  # start of the busiest minute
    tasks: tuple[TaskRate, ...]
    units_per_write: float | None  # of the table in its peak hour; None if not all were single writes
    units_per_read: float | None  # of table and indexes at the peak; None if not all were single reads
    throttled: bool  # whether the peak hour is the one with most throttles
    metrics_asked: int
    notes: tuple[str, ...]
    hot_keys: tuple[HotKey, ...] = ()  # of the table and its indexes, named by Contributor Insights
    period_s: int = MINUTE_S  # of the peak
    hot_share: HotShare | None = None  # assumed if a partition throttled and no key is named
    asked_per_s: Mapping[Resource, float] = field(default_factory=dict)  # units at the peak, also throttled

    @property
    def hour(self) -> Window:
        """The hour of the peak."""
        start = self.peak_at.replace(minute=0)
        return Window(start=start, end=start + timedelta(hours=1))

    def keys_of(self, index: str | None) -> tuple[HotKey, ...]:
        """The hot keys of the table or an index."""
        return tuple(key for key in self.hot_keys if key.index == index)

    @property
    def peak_per_s(self) -> float:
        """Requests per second in the busiest minute."""
        return sum(task.per_s for task in self.tasks)

    @property
    def mean_per_s(self) -> float:
        """Requests per second over all days."""
        return sum(task.mean_per_s for task in self.tasks)


def measure_traffic(
    cloudwatch: Any, table: str, indexes: Sequence[str], *, days: int, now: datetime
) -> MeasuredTraffic | None:
    """Measure a table's traffic; None if CloudWatch counted no request.

    Raises `NotTaken` if CloudWatch refuses the query.
    """
    end = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    start = end - timedelta(days=days)
    sent = [
        Metric(name, "SampleCount" if name == LATENCY else "Sum", operation)
        for operation in (*TASKS, *NOT_SENT)
        for name in (LATENCY, THROTTLED_REQUESTS)
    ]
    used = [Metric(consumed(side), "Sum", index=index) for index in (None, *indexes) for side in Direction]
    query = MetricQuery(cloudwatch, table)
    hours = query.fetch((*sent, *used), start, end, HOUR_S)
    throttles = [metric for metric in sent if metric.name == THROTTLED_REQUESTS]
    worst = _busiest(hours, throttles)
    throttled = worst is not None and _count(hours, throttles, worst) >= FEWEST_THROTTLES
    busiest = worst if throttled else _busiest(hours, sent)
    if busiest is None:
        return None
    seen_days = (end - min(at for metric in sent for at in hours.get(metric, ()))).total_seconds() / DAY_S
    minutes = query.fetch((*sent, *used), busiest, busiest + timedelta(hours=1), MINUTE_S)
    peak_at = _peak(minutes, sent, throttles if throttled else ())
    rates = minutes if peak_at is not None else hours  # CloudWatch keeps minutes for 15 days, hours longer
    moment, period_s = (peak_at, MINUTE_S) if peak_at is not None else (busiest, HOUR_S)
    return MeasuredTraffic(
        days=seen_days,
        peak_at=moment,
        tasks=tuple(_tasks(hours, rates, moment, period_s, seen_days, indexes)),
        units_per_write=_units_per_request(hours, Direction.WRITE, [busiest]),
        units_per_read=_units_per_request(rates, Direction.READ, [moment], indexes),
        throttled=throttled,
        metrics_asked=query.metrics_requested,
        asked_per_s=_asked_per_s(rates, moment, period_s, indexes),
        notes=tuple(_notes(hours, days)),
    )


def incident_traffic(evidence: Evidence) -> MeasuredTraffic | None:
    """A table's demand in its busiest throttled period, from evidence; None without metrics.

    Rates are for a table at scale 1.
    """
    points_of = {
        Metric(series.metric, series.statistic, series.operation, series.index): dict(series.points)
        for series in evidence.series
        if series.dimension is None and series.statistic in ("Sum", "SampleCount")
    }
    events = {throttle_events(side) for side in Direction}
    throttles = [metric for metric in points_of if metric.name in events]
    accepted = [metric for metric in points_of if metric.name == LATENCY and points_of[metric]]
    sent = [metric for metric in points_of if metric.operation in (*TASKS, *NOT_SENT)]
    units = [Metric(name, "Sum") for name in (*map(consumed, Direction), *events)]
    moment = _peak(points_of, sent if accepted else units, throttles)
    if moment is None:
        return None
    periods = [series.period_s for series in evidence.series if series.metric in map(consumed, Direction)]
    period_s = min(periods, default=MINUTE_S)
    days = (evidence.window.end - evidence.window.start).total_seconds() / DAY_S
    indexes = [index.name for index in evidence.table.indexes]
    scaled_s, scaled_days = period_s * evidence.scale, days * evidence.scale
    all_tasks = _tasks(points_of, points_of, moment, scaled_s, scaled_days, indexes) if accepted else ()
    units_per_read = _units_per_request(points_of, Direction.READ, [moment], indexes)
    tasks = tuple(task for task in all_tasks if task.per_s)
    written = {at for metric in points_of if metric.name == LATENCY for at in points_of[metric]}
    return MeasuredTraffic(
        days=days,
        peak_at=moment,
        tasks=tasks or tuple(_by_units(points_of, moment, scaled_s, scaled_days, indexes)),
        units_per_write=_units_per_request(points_of, Direction.WRITE, [moment])
        or _units_per_request(points_of, Direction.WRITE, written),
        units_per_read=units_per_read if tasks else 1.0,
        throttled=bool(_count(points_of, throttles, moment)),
        metrics_asked=0,
        notes=tuple(_left_out(points_of, moment, scaled_s))
        if tasks
        else ("no operation was counted; each request is assumed to take one unit",),
        period_s=period_s,
    )


def _by_units(
    points_of: Mapping[Metric, Points], moment: datetime, period_s: float, days: float, indexes: Sequence[str]
) -> Iterator[TaskRate]:
    """Assume single reads and writes of one unit: the consumed and throttled ones."""
    for side, operation in ((Direction.WRITE, "PutItem"), (Direction.READ, "GetItem")):
        units = points_of.get(Metric(consumed(side), "Sum"), {})
        names = [Metric(throttle_events(side), "Sum", index=index) for index in (None, *indexes)]
        throttled = {
            at: _events(points_of, at, side, indexes) for name in names for at in points_of.get(name, ())
        }
        peak = units.get(moment, 0.0) + throttled.get(moment, 0.0)
        if peak:
            every = sum(units.values()) + sum(throttled.values())
            yield TaskRate(operation, peak / period_s, every / (days * DAY_S))


def _peak(
    points_of: Mapping[Metric, Points], sent: Sequence[Metric], throttles: Sequence[Metric]
) -> datetime | None:
    """The busiest throttled period, else the busiest of all; None without any."""
    throttled = {at for metric in throttles for at, count in points_of.get(metric, {}).items() if count}
    return max(throttled, key=lambda at: (_count(points_of, sent, at), at), default=_busiest(points_of, sent))


def _busiest(points_of: Mapping[Metric, Points], sent: Sequence[Metric]) -> datetime | None:
    """The period with most requests, the latest of equals; None without any."""
    moments = {at for metric in sent for at, count in points_of.get(metric, {}).items() if count}
    return max(moments, key=lambda at: (_count(points_of, sent, at), at), default=None)


def _count(points_of: Mapping[Metric, Points], sent: Sequence[Metric], at: datetime) -> float:
    return sum(points_of.get(metric, {}).get(at, 0.0) for metric in sent)


def _tasks(
    hours: Mapping[Metric, Points],
    rates: Mapping[Metric, Points],
    moment: datetime,
    period_s: float,
    days: float,
    indexes: Sequence[str],
) -> Iterator[TaskRate]:
    """Rates of each operation; queries are split over table and indexes by read units."""
    shares = _read_shares(hours, indexes)
    for operation in TASKS:
        peak = sum(points.get(moment, 0.0) for points in _sent(rates, operation)) / period_s
        mean = sum(sum(points.values()) for points in _sent(hours, operation)) / (days * DAY_S)
        if not mean:
            continue
        if operation != "Query":
            yield TaskRate(operation, peak, mean)
            continue
        for index, share in shares.items():
            yield TaskRate(operation, peak * share, mean * share, index)


def _sent(points_of: Mapping[Metric, Points], operation: str) -> list[Points]:
    return [points for metric, points in points_of.items() if metric.operation == operation]


def _read_shares(hours: Mapping[Metric, Points], indexes: Sequence[str]) -> dict[str | None, float]:
    """Share of the queries on the table and each index, by read units.

    Subtracts the table's gets at the lowest price of a get. The table gets all queries if
    no units were counted.
    """
    units = {
        index: sum(hours.get(Metric("ConsumedReadCapacityUnits", "Sum", index=index), {}).values())
        for index in (None, *indexes)
    }
    gets = sum(sum(points.values()) for points in _sent(hours, "GetItem"))
    if any(units[index] for index in indexes):
        units[None] = max(0.0, units[None] - gets * EVENTUAL_READ_FACTOR)
    total = sum(units.values())
    return {index: value / total for index, value in units.items() if value} if total else {None: 1.0}


def _asked_per_s(
    points_of: Mapping[Metric, Points], at: datetime, period_s: float, indexes: Sequence[str]
) -> dict[Resource, float]:
    """Units/s that were asked for in one period: consumed ones, and throttled ones in proportion.

    Sides without published units are left out.
    """
    rates = {}
    for index, side in ((index, side) for index in (None, *indexes) for side in Direction):
        units = points_of.get(Metric(consumed(side), "Sum", index=index), {}).get(at)
        if units is None:
            continue
        operations = (*SINGLE[side], *SEVERAL[side])
        accepted = _accepted(points_of, operations, [at])
        throttled = _count(points_of, [Metric(THROTTLED_REQUESTS, "Sum", name) for name in operations], at)
        more = units * throttled / accepted if accepted else 0.0
        rates[Resource(index, side)] = (units + more) / period_s
    return rates


def _events(
    points_of: Mapping[Metric, Points], at: datetime, side: Direction, indexes: Sequence[str]
) -> float:
    """Throttle events of the table in one period; a write that indexes throttled is one of them, too."""
    of_table, *of_indexes = (
        _count(points_of, [Metric(throttle_events(side), "Sum", index=name)], at) for name in (None, *indexes)
    )
    return of_table + (max(of_indexes, default=0.0) if side is Direction.WRITE else 0.0)


def _units_per_request(
    points_of: Mapping[Metric, Points],
    side: Direction,
    periods: Iterable[datetime],
    indexes: Sequence[str] = (),
) -> float | None:
    """Units per accepted request, of the table and `indexes`, in some periods.

    None without single requests, or if there were others, whose items are not counted.
    """
    moments = tuple(periods)
    single, several = (_accepted(points_of, names[side], moments) for names in (SINGLE, SEVERAL))
    units = sum(
        _count(points_of, [Metric(consumed(side), "Sum", index=index) for index in (None, *indexes)], at)
        for at in moments
    )
    return None if several or not single or not units else units / single


def _accepted(
    points_of: Mapping[Metric, Points], operations: Sequence[str], moments: Iterable[datetime]
) -> float:
    counts = [Metric(LATENCY, "SampleCount", name) for name in operations]
    return sum(_count(points_of, counts, at) for at in moments)


def _left_out(points_of: Mapping[Metric, Points], at: datetime, period_s: float) -> Iterator[str]:
    """Operations of one period that no task can send."""
    for operation in NOT_SENT:
        if per_s := sum(points.get(at, 0.0) for points in _sent(points_of, operation)) / period_s:
            yield f"{per_s:.3g} requests/s of {operation}: a scenario has no such task"


def _notes(hours: Mapping[Metric, Points], days: int) -> Iterator[str]:
    """Operations that no task can send, and missing counts."""
    for operation in NOT_SENT:
        count = sum(sum(points.values()) for points in _sent(hours, operation))
        if count:
            yield f"{count:,.0f} requests of {operation} within {days} days: a scenario has no such task"
    for name, what in (("ConsumedWriteCapacityUnits", "writes"), ("ConsumedReadCapacityUnits", "reads")):
        if Metric(name, "Sum") not in hours:
            yield f"CloudWatch has no {name} for these days: the units per request of {what} are unknown"
