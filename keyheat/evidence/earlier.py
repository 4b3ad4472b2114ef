"""Evidence of the hours before an incident, a day and a week earlier."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from keyheat.evidence.clients import ClientFactory
from keyheat.evidence.cloudwatch import MetricRequest, fetch
from keyheat.evidence.series import series_of
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Window
from keyheat.runs.metrics import SeriesKey, series_keys
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.words import Direction

DAY: Final = timedelta(days=1)
PERIODS: Final = ((DAY, 3_600), (timedelta(hours=1), 300), (timedelta(), 60))
"""Windows longer than this, and the period in seconds that is requested for them."""
AGO: Final = (("a day before", DAY), ("a week before", 7 * DAY))


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRequest:
    """Request for one direction of a table in each earlier window."""

    table: TableFacts
    direction: Direction
    window: Window
    now: datetime

    @property
    def windows(self) -> tuple[tuple[str, Window], ...]:
        """Earlier windows with their names; none overlaps the incident's."""
        start, end = self.window.start, self.window.end
        return (
            ("in the hours before", self._whole(start - (end - start), start)),
            *((name, self._whole(start - ago, end - ago)) for name, ago in AGO if end - start <= ago),
        )

    def _period_s(self, start: datetime) -> int:
        length = self.window.end - self.window.start
        _first, kept_s = metrics.request_start(start, self.now)
        return max(kept_s, next(period_s for longer, period_s in PERIODS if length > longer))

    def _whole(self, start: datetime, end: datetime) -> Window:
        """Round to whole periods: the sum of half a period is not a rate."""
        period_s = self._period_s(start)
        last_s = end.timestamp() // period_s * period_s
        first_s = min(start.timestamp() // period_s * period_s, last_s - period_s)
        return Window(start=datetime.fromtimestamp(first_s, UTC), end=datetime.fromtimestamp(last_s, UTC))

    def keys(self, window: Window) -> tuple[SeriesKey, ...]:
        """The series of one window: demand and capacity of the direction, and requests by operation."""
        names = {
            name(self.direction)
            for name in (
                metrics.consumed, metrics.throttle_events, metrics.provisioned, metrics.on_demand_maximum,
            )
        }  # fmt: skip
        indexes = [index.name for index in self.table.indexes]
        return tuple(
            key
            for key in series_keys(indexes, finest_period_s=self._period_s(window.start))
            if (key.metric in names and key.statistic in ("Sum", "Average"))
            or (key.metric, key.statistic) == (metrics.LATENCY, "SampleCount")
        )

    @property
    def metrics(self) -> int:
        """Number of metrics requested over all windows."""
        return sum(len(self.keys(window)) for _name, window in self.windows)


def most_requested(indexes: Sequence[str], window: Window, now: datetime) -> int:
    """Most metrics requested for a throttled table, earlier windows included."""
    table = TableFacts(name="-", indexes=tuple(IndexFacts(name=name) for name in indexes))
    request = EarlierRequest(table=table, direction=Direction.WRITE, window=window, now=now)
    return len(series_keys(indexes)) + request.metrics


def fetch_earlier(factory: ClientFactory, request: EarlierRequest) -> Iterator[tuple[str, Evidence]]:
    """Fetch evidence of each earlier window; failures are in its `missing`."""
    for name, window in request.windows:
        first, _kept_s = metrics.request_start(window.start, request.now)
        query = MetricRequest(request.table.name, request.keys(window), first, window)
        answer = fetch(factory, query)
        yield (
            name,
            Evidence(
                table=TableFacts(name=request.table.name, indexes=request.table.indexes),
                window=window,
                series=series_of(answer.points, window),
                missing=answer.problems,
            ),
        )
