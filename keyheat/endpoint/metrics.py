"""The metrics of the account's tables, as datapoints by the minute."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from keyheat.model.limits import MINUTE_RETENTION_S, MINUTE_S
from keyheat.model.minutes import Datapoint, Dimensions, Minutes

if TYPE_CHECKING:
    from keyheat.endpoint.tables.catalog import Table

NAMESPACE: Final = "AWS/DynamoDB"
ACCOUNT: Final = ""
DELETED_TABLES_KEPT: Final = 1000
SIMPLE_STATISTICS: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")
_PERCENTILE: Final = re.compile(r"p(100|\d{1,2}(?:\.\d{1,10})?)")


@dataclass(frozen=True, slots=True, order=True)
class MetricKey:
    """Which metric: CloudWatch tells metrics apart by both, and adds nothing up across dimensions."""

    name: str
    dimensions: Dimensions = ()


Series = dict[MetricKey, tuple[str, list[Datapoint]]]
"""The unit and the datapoints of each metric, oldest first."""


def by_period(points: Iterable[Datapoint], period_s: int, anchor_s: int = 0) -> list[Datapoint]:
    """Add points up to periods, which begin at `anchor_s` and every `period_s` from it; oldest first."""
    periods: dict[int, list[Datapoint]] = {}
    for point in points:
        start_s = anchor_s + (point.start_s - anchor_s) // period_s * period_s
        periods.setdefault(start_s, []).append(point)
    return [together(of_period, start_s) for start_s, of_period in sorted(periods.items())]


def together(points: Sequence[Datapoint], start_s: int) -> Datapoint:
    return Datapoint(
        start_s,
        math.fsum(point.sum for point in points),
        sum(point.count for point in points),
        min(point.minimum for point in points),
        max(point.maximum for point in points),
    )


def is_statistic(name: str) -> bool:
    return name in SIMPLE_STATISTICS or _PERCENTILE.fullmatch(name) is not None


def statistic(point: Datapoint, name: str) -> float | None:
    """One statistic of a point; None for a percentile: single values are not kept."""
    if name == "Average":
        return point.sum / point.count if point.count else None
    simple = {
        "Sum": point.sum,
        "SampleCount": point.count,
        "Minimum": point.minimum,
        "Maximum": point.maximum,
    }
    return simple.get(name)


@dataclass(slots=True)
class Life:
    """The datapoints of one table, from creation to deletion. A later table of its name has its own."""

    table: str
    minutes: Minutes
    ended_s: float = math.inf


@dataclass(slots=True)
class Metrics:
    """The datapoints of one Region; `account` has those that belong to no table."""

    account: Minutes = field(default_factory=lambda: Minutes(()))
    _lives: list[Life] = field(default_factory=list)

    def note_tables(self, tables: Iterable["Table"], now_s: float) -> None:
        """Note created and deleted tables: metrics outlive their table, as they do in AWS."""
        alive = {id(table.model.minutes): table for table in tables}
        for life in self._lives:
            if id(life.minutes) not in alive:
                life.ended_s = min(life.ended_s, now_s)
            alive.pop(id(life.minutes), None)
        self._lives += [Life(table.name, table.model.minutes) for table in alive.values()]
        ended = [life for life in self._lives if life.ended_s < math.inf]
        for life in ended[: max(0, len(ended) - DELETED_TABLES_KEPT)]:
            self._lives.remove(life)

    def series(self, start_s: float, end_s: float, until_s: int, table: str | None = None) -> Series:
        """The minutes in [start, end) that are published until `until_s`: of one table name, or of all."""
        start_s, end_s = max(start_s, until_s - MINUTE_RETENTION_S), min(end_s, until_s)
        series: Series = {}
        for life in (Life(ACCOUNT, self.account), *self._lives):
            if table not in (None, life.table):
                continue
            for metric in life.minutes.series(life.table, start_s, min(end_s, life.ended_s)):
                if metric.dimensions or life.table == ACCOUNT:
                    key = MetricKey(metric.metric, tuple(sorted(metric.dimensions)))
                    series.setdefault(key, (metric.unit, []))[1].extend(metric.points)
        return {key: (unit, by_period(points, MINUTE_S)) for key, (unit, points) in series.items()}
