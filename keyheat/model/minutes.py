"""One-minute datapoints, named and shaped as CloudWatch names and shapes them.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from keyheat.model import limits
from keyheat.model.meter import LaneMeter, MinuteTallies, Tally, events
from keyheat.model.resources import Cause
from keyheat.words import Capacity, Direction

Dimensions = tuple[tuple[str, str], ...]
Datapoints = Mapping[int, Tally]
"""By the epoch second at which each period begins, oldest first."""

COUNT: Final = "Count"
MILLISECONDS: Final = "Milliseconds"


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """One metric of one resource."""

    metric: str
    unit: str
    dimensions: Dimensions
    period_s: int
    points: Datapoints


@dataclass(frozen=True, slots=True)
class CapacitySetting:
    """The capacity that a resource has from `at_s` on; None where its billing mode has no such number."""

    at_s: float
    provisioned: Capacity | None
    max_on_demand: Capacity | None


@dataclass(slots=True)
class ResourceMinutes:
    """What CloudWatch knows of one resource: two meters and the history of its settings."""

    index: str | None
    meters: tuple[LaneMeter, LaneMeter]
    settings: list[CapacitySetting] = field(default_factory=list)

    def end(self, now_s: float) -> None:
        """The resource is deleted: its datapoints stay, and no more are published."""
        self.settings.append(CapacitySetting(now_s, None, None))
        for meter in self.meters:
            meter.until_s = now_s


class Minutes:
    """Every datapoint of one table: the model records units and throttles, the endpoint records requests."""

    __slots__ = ("_records", "_requests")

    def __init__(self, records: Iterable[ResourceMinutes]) -> None:
        self._records = records
        self._requests: dict[tuple[str, str | None], MinuteTallies] = {}

    def throttled_request(self, operation: str, now_s: float, count: int = 1) -> None:
        """API calls with a throttled event in them (a batch: only if every item was throttled)."""
        self._events("ThrottledRequests", operation, count, now_s)

    def completed(
        self, operation: str, latency_ms: float, now_s: float, returned_items: int | None = None
    ) -> None:
        """One successful API call; `returned_items` for Query and Scan."""
        self._track("SuccessfulRequestLatency", operation).add(latency_ms, now_s)
        if returned_items is not None:
            self.returned_items(operation, returned_items, now_s)

    def returned_items(self, operation: str, count: int, now_s: float) -> None:
        self._track("ReturnedItemCount", operation).add(float(count), now_s)

    def system_error(self, operation: str, now_s: float) -> None:
        self._events("SystemErrors", operation, 1, now_s)

    def user_error(self, now_s: float) -> None:
        """One API call that failed with HTTP 400, throttles and failed conditions excepted.

        CloudWatch has one such series per account, so its dimensions are empty: add it up over all tables.
        """
        self._events("UserErrors", None, 1, now_s)

    def conditional_check_failed(self, now_s: float) -> None:
        self._events("ConditionalCheckFailedRequests", None, 1, now_s)

    def transaction_conflict(self, now_s: float) -> None:
        self._events("TransactionConflict", None, 1, now_s)

    def series(self, table_name: str, start_s: float, end_s: float) -> list[MetricSeries]:
        """Every series with a datapoint from the minute of `start_s` up to, not including, `end_s`."""
        first = int(start_s // limits.MINUTE_S)
        past = -int(-end_s // limits.MINUTE_S)
        listed = [
            *_capacity_series(self._records, table_name, range(first, past)),
            *_setting_series(self._records, table_name, range(first, past)),
            *_request_series(self._requests, table_name, range(first, past)),
        ]
        return [series for series in listed if series.points]

    def _events(self, metric: str, operation: str | None, count: int, now_s: float) -> None:
        if count:
            self._track(metric, operation).of(int(now_s) // limits.MINUTE_S).merge(events(count))

    def _track(self, metric: str, operation: str | None) -> MinuteTallies:
        track = self._requests.get((metric, operation))
        if track is None:
            track = self._requests[metric, operation] = MinuteTallies()
        return track


def _capacity_series(
    records: Iterable[ResourceMinutes], table: str, minutes: range
) -> Iterator[MetricSeries]:
    throttles: dict[tuple[str, Dimensions], dict[int, Tally]] = {}
    for record in records:
        dimensions = _resource(table, record.index)
        for meter in record.meters:
            side = meter.direction.title()
            yield MetricSeries(
                f"Consumed{side}CapacityUnits", COUNT, dimensions, limits.MINUTE_S, _consumed(meter, minutes)
            )
            for cause, tallies in meter.throttles_by_minute().items():
                _merge(throttles.setdefault((f"{side}ThrottleEvents", dimensions), {}), tallies)
                # CloudWatch lists this one metric under the table alone, its indexes' events included.
                of_table = cause is Cause.ACCOUNT and meter.direction is Direction.WRITE
                owner = _resource(table, None) if of_table else dimensions
                _merge(throttles.setdefault((side + cause.metric, owner), {}), tallies)
    for (metric, dimensions), tallies in throttles.items():
        yield MetricSeries(metric, COUNT, dimensions, limits.MINUTE_S, _points(tallies, minutes))


def _consumed(meter: LaneMeter, minutes: range) -> Datapoints:
    """Datapoints of every minute of the resource's life; an idle minute has one sample of zero."""
    alive = range(
        max(minutes.start, int(meter.since_s // limits.MINUTE_S)),
        min(minutes.stop, int(min(meter.until_s, minutes.stop * limits.MINUTE_S) // limits.MINUTE_S) + 1),
    )
    tallies = meter.consumed_by_minute()
    idle = Tally(0.0, 1, 0.0, 0.0)
    return {minute * limits.MINUTE_S: tallies.get(minute, idle) for minute in alive}


def _setting_series(records: Iterable[ResourceMinutes], table: str, minutes: range) -> Iterator[MetricSeries]:
    for record in records:
        for direction in Direction:
            pairs = {
                f"Provisioned{direction.title()}CapacityUnits": [s.provisioned for s in record.settings],
                f"OnDemandMax{direction.title()}RequestUnits": [s.max_on_demand for s in record.settings],
            }
            for metric, history in pairs.items():
                values = [None if pair is None else pair.of(direction) for pair in history]
                points = _setting_points([s.at_s for s in record.settings], values, minutes)
                yield MetricSeries(
                    metric, COUNT, _resource(table, record.index), limits.SETTING_PERIOD_S, points
                )


def _setting_points(changes_s: list[float], values: list[float | None], minutes: range) -> Datapoints:
    """One point per five minutes, with every value that was in force at some time in them as a sample."""
    period = limits.SETTING_PERIOD_S
    first_s = -(-minutes.start * limits.MINUTE_S // period) * period
    if changes_s:  # a span of weeks is asked of a table that is minutes old
        first_s = max(first_s, int(changes_s[0] // period) * period)
    points = {}
    for start_s in range(first_s, minutes.stop * limits.MINUTE_S, period):
        tally = Tally()
        for at_s, value, replaced_s in zip(changes_s, values, [*changes_s[1:], inf], strict=True):
            if value is not None and at_s < start_s + period and replaced_s > start_s:
                tally.add(value)
        if tally.count:
            points[start_s] = tally
    return points


def _request_series(
    requests: Mapping[tuple[str, str | None], MinuteTallies], table: str, minutes: range
) -> Iterator[MetricSeries]:
    for (metric, operation), track in requests.items():
        unit = MILLISECONDS if metric == "SuccessfulRequestLatency" else COUNT
        dimensions: Dimensions = () if metric == "UserErrors" else _resource(table, None)
        if operation is not None:
            name, *further = operation.split(",")
            dimensions = (*dimensions, ("Operation", name))
            for pair in further:  # such as Verb=PartiQLSelect: CloudWatch tells apart what it does
                name, _, value = pair.partition("=")
                dimensions = (*dimensions, (name, value))
        yield MetricSeries(metric, unit, dimensions, limits.MINUTE_S, _points(track.tallies, minutes))


def _resource(table: str, index: str | None) -> Dimensions:
    dimensions: Dimensions = (("TableName", table),)
    return dimensions if index is None else (*dimensions, ("GlobalSecondaryIndexName", index))


def _merge(into: dict[int, Tally], tallies: Mapping[int, Tally]) -> None:
    for minute, tally in tallies.items():
        into.setdefault(minute, Tally()).merge(tally)


def _points(tallies: Mapping[int, Tally], minutes: range) -> Datapoints:
    return {minute * limits.MINUTE_S: tallies[minute] for minute in sorted(tallies) if minute in minutes}


def decision_rows(records: Iterable[ResourceMinutes]) -> list[dict[str, Any]]:
    """One row per second, resource and direction with any request, in order of time.

    `second` is an epoch second, `consumed` in units, `refused` counts by cause. Bounded: the last two busy
    hours of each meter.
    """
    rows = [
        {
            "second": second.start_s,
            "index": meter.index,
            "direction": meter.direction.value,
            "accepted": second.count,
            "consumed": second.sum,
            "refused": {cause.value: count for cause, count in second.refused.items()},
        }
        for record in records
        for meter in record.meters
        for second in meter.seconds
    ]
    return sorted(rows, key=lambda row: (row["second"], row["index"] or "", row["direction"]))
