"""`/_keyheat/metrics`: what every table admitted and refused since it was made, for Prometheus to read.

The numbers are those of the model's meters, which CloudWatch's datapoints are made of as well: nothing is
counted for this page, and the library that writes it is loaded when somebody looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.service import Service
from keyheat.endpoint.tables.catalog import Table
from keyheat.metrics import PREFIX, TEXT, Labels, Metric, prometheus_text
from keyheat.model.minutes import LaneTotals
from keyheat.model.resources import Refusal
from keyheat.words import Direction, label_of

URL: Final = b"/_keyheat/metrics"


def _of(kind: Any, name: str, says: str) -> Metric:
    return Metric(name=f"{PREFIX}_local_{name}", says=says, points=(), kind=kind)


REQUESTS: Final = _of("counter", "requests_total", "requests that were asked of the endpoint")
THROTTLES: Final = _of("counter", "throttles_total", "throttle events, by DynamoDB's reason")
CONSUMED: Final = _of("counter", "consumed_units_total", "capacity units that were consumed")
CAPACITY: Final = _of(
    "gauge", "capacity_units_per_second", "capacity units that may be consumed, by what limits them"
)
METRICS: Final = (REQUESTS, THROTTLES, CONSUMED, CAPACITY)


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """The page, of all tables of all Regions that there are."""

    regions: Regions

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: another URL."""
        if url != URL:
            return None
        if method != b"GET":
            return response(405, b"only GET is answered here\n", content_type=b"text/plain")
        return response(200, prometheus_text(self.metrics()), content_type=TEXT.encode())

    def metrics(self) -> Iterator[Metric]:
        """What there is something to say of."""
        lanes = [
            (_named(service, table), lane)
            for service, table in self.regions.tables().values()
            for lane in table.model.minutes.totals()
        ]
        asked = self.regions.asked.items()
        requests = tuple(({"operation": name}, float(count)) for name, count in asked)
        yield replace(REQUESTS, points=requests)
        yield replace(THROTTLES, points=tuple(point for one in lanes for point in _throttles(*one)))
        consumed = (
            (_labels(table, lane.index, lane.direction), lane.consumed_units) for table, lane in lanes
        )
        yield replace(CONSUMED, points=tuple(consumed))
        yield replace(CAPACITY, points=tuple(self._capacity()))

    def _capacity(self) -> Iterator[tuple[Labels, float]]:
        for service, table in self.regions.tables().values():
            for index, part in table.model.capacity.parts.items():
                for words, pair in (
                    ("provisioned", part.provisioned),
                    ("on-demand maximum", part.max_on_demand),
                ):
                    for direction in Direction:
                        units = None if pair is None else pair.of(direction)
                        if units:
                            labels = {**_labels(_named(service, table), index, direction), "limit": words}
                            yield labels, units * service.scale


def _throttles(table: Labels, lane: LaneTotals) -> Iterator[tuple[Labels, float]]:
    for cause, count in lane.refused.items():
        named = {"reason": Refusal(lane.index, lane.direction, cause).reason, "constraint": cause.constraint}
        yield {**_labels(table, lane.index, lane.direction), **named}, float(count)


def _named(service: Service, table: Table) -> Labels:
    return {"region": service.region, "table": table.name}


def _labels(table: Labels, index: str | None, direction: Direction) -> dict[str, str]:
    return {**table, "resource": label_of(index), "direction": direction.value}
