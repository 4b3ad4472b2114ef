"""Every metric of the account: those of the tables, present and deleted, and those that users put."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from keyheat.endpoint.cloudwatch.own import OwnMetrics
from keyheat.endpoint.cloudwatch.points import MINUTE_S, MetricKey, Point, by_period
from keyheat.endpoint.service import Service
from keyheat.model.limits import MINUTE_RETENTION_S
from keyheat.model.minutes import Datapoint, Minutes

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

    `account` has the datapoints that belong to no table.
    """

    service: Service
    publish_delay_s: float = 0.0
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
        return int((self.service.now_s() - self.publish_delay_s) // MINUTE_S) * MINUTE_S

    def view(self, start_s: float, end_s: float) -> "View":
        """The metrics' minutes that begin in [start, end), are shown, and are not too old to be kept."""
        self.note_tables()
        lives = [Life(ACCOUNT, self.account), *self._lives]
        until_s = self.published_until_s()
        return View(self, lives, max(start_s, until_s - MINUTE_RETENTION_S), min(end_s, until_s))


@dataclass(slots=True)
class View:
    """Metrics in a span of time. Each table's series are made once, however many of them are asked for."""

    metrics: Metrics
    lives: list[Life]
    start_s: float
    end_s: float
    _tables: dict[str, dict[MetricKey, tuple[str, list[Point]]]] = field(default_factory=dict)

    def points(self, key: MetricKey, unit: str | None = None) -> list[Point]:
        """One point per minute, oldest first; none for a metric that does not exist or is of another unit."""
        found: list[Point] = []
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

    def _of_table(self, table: str) -> dict[MetricKey, tuple[str, list[Point]]]:
        if table not in self._tables:
            self._tables[table] = self._made(table)
        return self._tables[table]

    def _made(self, table: str) -> dict[MetricKey, tuple[str, list[Point]]]:
        """All series of all lives of one table name."""
        made: dict[MetricKey, tuple[str, list[Point]]] = {}
        for life in self.lives:
            if life.table != table:
                continue
            for series in life.minutes.series(table, self.start_s, min(self.end_s, life.ended_s)):
                if not series.dimensions and table != ACCOUNT:
                    continue
                key = MetricKey(NAMESPACE, series.metric, tuple(sorted(series.dimensions)))
                made.setdefault(key, (series.unit, []))[1].extend(map(_point, series.points))
        return {key: (unit, by_period(points, MINUTE_S)) for key, (unit, points) in made.items()}


def _point(datapoint: Datapoint) -> Point:
    return Point(
        start_s=datapoint.start_s,
        sum=datapoint.sum,
        count=datapoint.count,
        minimum=datapoint.minimum,
        maximum=datapoint.maximum,
    )
