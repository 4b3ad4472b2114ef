"""What every table admitted and refused since it was made, for Prometheus.

The numbers are those of the model's meters, which CloudWatch's datapoints are made of as well.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from keyheat.endpoint.regions import Regions
from keyheat.metrics import PREFIX, Labels, Metric
from keyheat.model.minutes import LaneTotals
from keyheat.model.resources import Refusal
from keyheat.words import Direction, label_of


def _metric(kind: Any, name: str, says: str) -> Metric:
    return Metric(name=f"{PREFIX}_local_{name}", says=says, points=(), kind=kind)


REQUESTS: Final = _metric("counter", "requests_total", "requests that were asked of the endpoint")
THROTTLES: Final = _metric("counter", "throttles_total", "throttle events, by DynamoDB's reason")
CONSUMED: Final = _metric("counter", "consumed_units_total", "capacity units that were consumed")
CAPACITY: Final = _metric(
    "gauge", "capacity_units_per_second", "capacity units that may be consumed, by what limits them"
)
METRICS: Final = (REQUESTS, THROTTLES, CONSUMED, CAPACITY)


def metrics_of(regions: Regions) -> Iterator[Metric]:
    lanes = [
        ({"region": service.region, "table": table.name}, lane)
        for service, table in regions.tables().values()
        for lane in table.model.minutes.totals()
    ]
    requests = tuple(({"operation": name}, float(count)) for name, count in regions.requests.items())
    yield replace(REQUESTS, points=requests)
    yield replace(THROTTLES, points=tuple(point for pair in lanes for point in _throttles(*pair)))
    consumed = ((_labels(table, lane.index, lane.direction), lane.consumed_units) for table, lane in lanes)
    yield replace(CONSUMED, points=tuple(consumed))
    yield replace(CAPACITY, points=tuple(_capacity(regions)))


def _capacity(regions: Regions) -> Iterator[tuple[Labels, float]]:
    for service, table in regions.tables().values():
        named = {"region": service.region, "table": table.name}
        for index, resource in table.model.capacity.parts.items():
            for limit, pair in (
                ("provisioned", resource.provisioned),
                ("on-demand maximum", resource.max_on_demand),
            ):
                for direction in Direction:
                    if pair is not None and (units := pair.of(direction)):
                        yield {**_labels(named, index, direction), "limit": limit}, units * service.scale


def _throttles(table: Labels, lane: LaneTotals) -> Iterator[tuple[Labels, float]]:
    for cause, count in lane.refused.items():
        named = {"reason": Refusal(lane.index, lane.direction, cause).reason, "constraint": cause.constraint}
        yield {**_labels(table, lane.index, lane.direction), **named}, float(count)


def _labels(table: Labels, index: str | None, direction: Direction) -> dict[str, str]:
    return {**table, "resource": label_of(index), "direction": direction.value}
