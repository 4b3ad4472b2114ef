"""Metrics that users put themselves, added up per minute, as many as the endpoint is willing to hold."""

from collections.abc import Iterator, Mapping
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
from keyheat.endpoint.cloudwatch.points import MINUTE_S, MetricKey, Point, together
from keyheat.endpoint.errors import ServiceError

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

    _minutes: dict[MetricKey, dict[int, Point]] = field(default_factory=dict)
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

    def points(self, key: MetricKey, start_s: float, end_s: float) -> list[Point]:
        """The metric's minutes that begin in [start, end), oldest first."""
        minutes = self._minutes.get(key, {})
        return [minutes[minute] for minute in sorted(minutes) if start_s <= minute < end_s]

    def listed(self, start_s: float, end_s: float) -> Iterator[MetricKey]:
        """Metrics that have a minute in [start, end)."""
        for key, minutes in self._minutes.items():
            if any(start_s <= minute < end_s for minute in minutes):
                yield key

    def _add(self, key: MetricKey, point: Point) -> None:
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


def _measured(namespace: str, datum: Parameters, now_s: float) -> tuple[MetricKey, Point]:
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
    return key, _point(at_s, _counted(datum))


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


def _stated(statistics: Parameters, at_s: float) -> Point:
    """A point of which only the statistics are known."""
    count = number(statistics, "SampleCount")
    minimum, maximum = number(statistics, "Minimum"), number(statistics, "Maximum")
    if count <= 0 or minimum > maximum:
        raise invalid("StatisticValues must have a SampleCount above 0 and a Minimum not above the Maximum.")
    return Point(
        start_s=_minute(at_s), sum=number(statistics, "Sum"), count=count, minimum=minimum, maximum=maximum
    )


def _point(at_s: float, counted: Mapping[float, float]) -> Point:
    return Point(
        start_s=_minute(at_s),
        sum=sum(value * count for value, count in counted.items()),
        count=sum(counted.values()),
        minimum=min(counted),
        maximum=max(counted),
        values=tuple(sorted(counted.items())),
    )


def _bounded(point: Point) -> Point:
    """The point without its values where they are too many to keep."""
    if point.values is None or len(point.values) <= VALUES_KEPT:
        return point
    return Point(
        start_s=point.start_s, sum=point.sum, count=point.count, minimum=point.minimum, maximum=point.maximum
    )


def _minute(at_s: float) -> int:
    return int(at_s // MINUTE_S) * MINUTE_S


def _full() -> ServiceError:
    return ServiceError(
        "LimitExceeded", f"The local endpoint holds {MAX_METRICS} metrics and {MAX_POINTS} minutes at most."
    )
