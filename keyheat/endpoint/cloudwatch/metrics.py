"""The metrics of the account's tables, as datapoints by the minute."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

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
    """What was measured from `start_s` on, for a minute or a longer period."""

    start_s: int
    sum: float
    count: float
    minimum: float
    maximum: float


def together(points: Sequence[MetricPoint], start_s: int) -> MetricPoint:
    """Several points as one."""
    return MetricPoint(
        start_s=start_s,
        sum=math.fsum(point.sum for point in points),
        count=math.fsum(point.count for point in points),
        minimum=min(point.minimum for point in points),
        maximum=max(point.maximum for point in points),
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
    """One statistic of a point; None for a percentile: single values are not kept."""
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
    return None


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
        return found

    def listed(self) -> Iterator[MetricKey]:
        for table in sorted({life.table for life in self.lives}):
            yield from sorted(self._of_table(table), key=lambda key: (key.name, key.dimensions))

    def unit(self, key: MetricKey) -> str:
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
