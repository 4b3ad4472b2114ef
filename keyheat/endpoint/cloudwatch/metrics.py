"""Every metric of the account: those of the tables and those that users put, as datapoints by the minute."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from keyheat.endpoint.cloudwatch.parameters import (
    Parameters,
    as_number,
    combination,
    dimensions,
    invalid,
    items,
    missing,
    moment_s,
    number,
    structure,
    structures,
    text,
)
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.service import Service
from keyheat.model.limits import MINUTE_RETENTION_S
from keyheat.model.minutes import Datapoint, Minutes

MINUTE_S = 60
PERCENTILE = re.compile(r"p(100|\d{1,2}(?:\.\d{1,10})?)")
SIMPLE_STATISTICS = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")

Dimensions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MetricKey:
    """Which metric: CloudWatch tells metrics apart by all three, and adds nothing up across dimensions."""

    namespace: str
    name: str
    dimensions: Dimensions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPoint:
    """What was measured from `start_s` on, for a minute or a longer period.

    `values` are (value, how often) in order of value, where they are kept: percentiles need them.
    """

    start_s: int
    sum: float
    count: float
    minimum: float
    maximum: float
    values: tuple[tuple[float, float], ...] | None = None


def together(points: Sequence[MetricPoint], start_s: int) -> MetricPoint:
    """Several points as one."""
    values: dict[float, float] | None = {}
    for point in points:
        if point.values is None or values is None:
            values = None
            continue
        for value, count in point.values:
            values[value] = values.get(value, 0.0) + count
    return MetricPoint(
        start_s=start_s,
        sum=math.fsum(point.sum for point in points),
        count=math.fsum(point.count for point in points),
        minimum=min(point.minimum for point in points),
        maximum=max(point.maximum for point in points),
        values=None if values is None else tuple(sorted(values.items())),
    )


def by_period(points: Iterable[MetricPoint], period_s: int, anchor_s: int = 0) -> list[MetricPoint]:
    """Points added up to periods, which begin at `anchor_s` and every `period_s` from it; oldest first."""
    periods: dict[int, list[MetricPoint]] = {}
    for point in points:
        start_s = anchor_s + (point.start_s - anchor_s) // period_s * period_s
        periods.setdefault(start_s, []).append(point)
    return [
        of_period[0]
        if len(of_period) == 1 and of_period[0].start_s == start_s
        else together(of_period, start_s)
        for start_s, of_period in sorted(periods.items())
    ]


def is_statistic(name: str) -> bool:
    """Whether the name is a statistic that is computed here."""
    return name in SIMPLE_STATISTICS or PERCENTILE.fullmatch(name) is not None


def statistic(point: MetricPoint, name: str) -> float | None:
    """One statistic of a point; None for a percentile of values that were not kept."""
    if name == "Sum":
        return point.sum
    if name == "SampleCount":
        return point.count
    if name == "Minimum":
        return point.minimum
    if name == "Maximum":
        return point.maximum
    if name == "Average":
        return point.sum / point.count if point.count else None
    return _percentile(point, float(name[1:]))


def _percentile(point: MetricPoint, percent: float) -> float | None:
    """The least value that `percent` of the values do not exceed."""
    if not point.values:
        return None
    rank = percent / 100.0 * sum(count for _, count in point.values)
    reached = 0.0
    for value, count in point.values:
        reached += count
        if reached >= rank:
            return value
    return point.values[-1][0]


MAX_DATUMS = 1000
MAX_VALUES = 150
PAST_S = 14 * 86_400
FUTURE_S = 2 * 3600
# The endpoint's own bounds: enough for any rehearsal, and not enough to fill the machine.
MAX_METRICS = 10_000
MAX_POINTS = 500_000
VALUES_KEPT = 1000


@dataclass(slots=True)
class OwnMetrics:
    """Minutes of metrics that were put, by metric."""

    _minutes: dict[MetricKey, dict[int, MetricPoint]] = field(default_factory=dict)
    _held: int = 0

    def put(self, parameters: Parameters, now_s: float) -> None:
        """Take one PutMetricData request, all of it or nothing."""
        namespace = text(parameters, "Namespace")
        if namespace.startswith("AWS/"):
            raise invalid(f"The value {namespace} for parameter Namespace is invalid: AWS/ is AWS's own.")
        data = structures(parameters, "MetricData")
        for entity in structures(parameters, "EntityMetricData"):
            data += structures(entity, "MetricData")
        if not data:
            raise missing("MetricData")
        if len(data) > MAX_DATUMS:
            raise invalid(f"The collection MetricData must not have a size greater than {MAX_DATUMS}.")
        for key, point in [_measured(namespace, datum, now_s) for datum in data]:
            self._add(key, point)

    def points(self, key: MetricKey, start_s: float, end_s: float) -> list[MetricPoint]:
        """The metric's minutes that begin in [start, end), oldest first."""
        minutes = self._minutes.get(key, {})
        return [minutes[minute] for minute in sorted(minutes) if start_s <= minute < end_s]

    def listed(self, start_s: float, end_s: float) -> Iterator[MetricKey]:
        """Metrics that have a minute in [start, end)."""
        for key, minutes in self._minutes.items():
            if any(start_s <= minute < end_s for minute in minutes):
                yield key

    def _add(self, key: MetricKey, point: MetricPoint) -> None:
        minutes = self._minutes.get(key)
        if minutes is None:
            if len(self._minutes) >= MAX_METRICS:
                raise _full()
            minutes = self._minutes[key] = {}
        old = minutes.get(point.start_s)
        if old is None and self._held >= MAX_POINTS:
            raise _full()
        self._held += old is None
        new = point if old is None else together((old, point), point.start_s)
        minutes[point.start_s] = _bounded(new)


def _measured(namespace: str, datum: Parameters, now_s: float) -> tuple[MetricKey, MetricPoint]:
    """One MetricDatum."""
    key = MetricKey(namespace, text(datum, "MetricName"), dimensions(datum))
    at_s = moment_s(datum, "Timestamp", now_s)
    if not now_s - PAST_S <= at_s <= now_s + FUTURE_S:
        raise invalid(
            "The parameter Timestamp must specify a time within the past two weeks or the next two hours."
        )
    given = [name for name in ("Value", "StatisticValues", "Values") if datum.get(name) is not None]
    if len(given) > 1:
        raise combination(
            f"The parameters {' and '.join(given)} are mutually exclusive and you have specified both."
        )
    if not given:
        raise missing("Value")
    if given[0] == "StatisticValues":
        return key, _stated(structure(datum["StatisticValues"], "StatisticValues"), at_s)
    return key, _own_point(at_s, _counted(datum))


def _counted(datum: Parameters) -> dict[float, float]:
    """How often each value was measured."""
    if datum.get("Value") is not None:
        return {number(datum, "Value"): 1.0}
    values = [as_number(value, "Values") for value in items(datum, "Values")]
    counts = [as_number(count, "Counts") for count in items(datum, "Counts")] or [1.0] * len(values)
    if not values or len(values) > MAX_VALUES:
        raise invalid(f"The collection Values must have a size of 1 to {MAX_VALUES}.")
    if len(counts) != len(values) or min(counts) <= 0:
        raise invalid("The parameters Values and Counts must have one length, and counts above 0.")
    counted: dict[float, float] = {}
    for value, count in zip(values, counts, strict=True):
        counted[value] = counted.get(value, 0.0) + count
    return counted


def _stated(statistics: Parameters, at_s: float) -> MetricPoint:
    """A point of which only the statistics are known."""
    count = number(statistics, "SampleCount")
    minimum, maximum = number(statistics, "Minimum"), number(statistics, "Maximum")
    if count <= 0 or minimum > maximum:
        raise invalid("StatisticValues must have a SampleCount above 0 and a Minimum not above the Maximum.")
    return MetricPoint(
        start_s=_minute(at_s), sum=number(statistics, "Sum"), count=count, minimum=minimum, maximum=maximum
    )


def _own_point(at_s: float, counted: Mapping[float, float]) -> MetricPoint:
    return MetricPoint(
        start_s=_minute(at_s),
        sum=sum(value * count for value, count in counted.items()),
        count=sum(counted.values()),
        minimum=min(counted),
        maximum=max(counted),
        values=tuple(sorted(counted.items())),
    )


def _bounded(point: MetricPoint) -> MetricPoint:
    """The point without its values where they are too many to keep."""
    if point.values is None or len(point.values) <= VALUES_KEPT:
        return point
    return MetricPoint(
        start_s=point.start_s, sum=point.sum, count=point.count, minimum=point.minimum, maximum=point.maximum
    )


def _minute(at_s: float) -> int:
    return int(at_s // MINUTE_S) * MINUTE_S


def _full() -> ServiceError:
    return ServiceError(
        "LimitExceeded", f"The local endpoint holds {MAX_METRICS} metrics and {MAX_POINTS} minutes at most."
    )


NAMESPACE = "AWS/DynamoDB"
ACCOUNT = ""
DELETED_TABLES_KEPT = 1000


@dataclass(slots=True)
class Life:
    """The datapoints of one table, from creation to deletion. A later table of its name has its own."""

    table: str
    minutes: Minutes
    ended_s: float = float("inf")


@dataclass(slots=True)
class Metrics:
    """What CloudWatch knows. Only minutes that ended `publish_delay_s` ago or earlier are shown.

    To who asks for it (`OPEN_MINUTE`) also the minute that goes on, as far as it is: a run whose load is over
    need not wait for its end. `account` has the datapoints that belong to no table.
    """

    service: Service
    publish_delay_s: float = 0.0
    shows_open: bool = False  # whether the request that is answered asks for the minute that goes on
    own: OwnMetrics = field(default_factory=OwnMetrics)
    account: Minutes = field(default_factory=lambda: Minutes(()))
    _lives: list[Life] = field(default_factory=list)

    def user_error(self, now_s: float) -> None:
        """One request was refused as its sender's mistake; the account has one count of these."""
        self.account.user_error(now_s)

    def note_tables(self) -> None:
        """Tables may have come or gone: metrics outlive their table, as they do in AWS."""
        now_s = self.service.now_s()
        alive = {id(table.model.minutes): table for table in self.service.catalog}
        for life in self._lives:
            if id(life.minutes) not in alive:
                life.ended_s = min(life.ended_s, now_s)
            alive.pop(id(life.minutes), None)
        self._lives += [Life(table.name, table.model.minutes) for table in alive.values()]
        ended = [life for life in self._lives if life.ended_s < float("inf")]
        for life in ended[: max(0, len(ended) - DELETED_TABLES_KEPT)]:
            self._lives.remove(life)

    def published_until_s(self) -> int:
        """The end of the last minute that is shown."""
        if self.shows_open:
            return (int(self.service.now_s() // MINUTE_S) + 1) * MINUTE_S
        return int((self.service.now_s() - self.publish_delay_s) // MINUTE_S) * MINUTE_S

    def view(self, start_s: float, end_s: float) -> "MetricsView":
        """The metrics' minutes that begin in [start, end), are shown, and are not too old to be kept."""
        self.note_tables()
        lives = [Life(ACCOUNT, self.account), *self._lives]
        until_s = self.published_until_s()
        return MetricsView(self, lives, max(start_s, until_s - MINUTE_RETENTION_S), min(end_s, until_s))


@dataclass(slots=True)
class MetricsView:
    """Metrics in a span of time. Each table's series are made once, however many of them are asked for."""

    metrics: Metrics
    lives: list[Life]
    start_s: float
    end_s: float
    _tables: dict[str, dict[MetricKey, tuple[str, list[MetricPoint]]]] = field(default_factory=dict)

    def points(self, key: MetricKey, unit: str | None = None) -> list[MetricPoint]:
        """One point per minute, oldest first; none for a metric that does not exist or is of another unit."""
        found: list[MetricPoint] = []
        if key.namespace == NAMESPACE:
            table = dict(key.dimensions).get("TableName", ACCOUNT)
            its_unit, found = self._of_table(table).get(key, ("Count", []))
            if unit not in (None, its_unit) and found:
                return []
        return [*found, *self.metrics.own.points(key, self.start_s, self.end_s)]

    def listed(self) -> Iterator[MetricKey]:
        """Every metric that has a point."""
        for table in sorted({life.table for life in self.lives}):
            yield from sorted(self._of_table(table), key=lambda key: (key.name, key.dimensions))
        yield from self.metrics.own.listed(self.start_s, self.end_s)

    def unit(self, key: MetricKey) -> str:
        """The unit of a metric's values."""
        table = dict(key.dimensions).get("TableName", ACCOUNT)
        return self._of_table(table).get(key, ("None", []))[0]

    def _of_table(self, table: str) -> dict[MetricKey, tuple[str, list[MetricPoint]]]:
        if table not in self._tables:
            self._tables[table] = self._made(table)
        return self._tables[table]

    def _made(self, table: str) -> dict[MetricKey, tuple[str, list[MetricPoint]]]:
        """All series of all lives of one table name."""
        made: dict[MetricKey, tuple[str, list[MetricPoint]]] = {}
        for life in self.lives:
            if life.table != table:
                continue
            for series in life.minutes.series(table, self.start_s, min(self.end_s, life.ended_s)):
                if not series.dimensions and table != ACCOUNT:
                    continue
                key = MetricKey(NAMESPACE, series.metric, tuple(sorted(series.dimensions)))
                made.setdefault(key, (series.unit, []))[1].extend(map(_point, series.points))
        return {key: (unit, by_period(points, MINUTE_S)) for key, (unit, points) in made.items()}


def _point(datapoint: Datapoint) -> MetricPoint:
    return MetricPoint(
        start_s=datapoint.start_s,
        sum=datapoint.sum,
        count=datapoint.count,
        minimum=datapoint.minimum,
        maximum=datapoint.maximum,
    )
