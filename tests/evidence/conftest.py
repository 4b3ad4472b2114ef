"""DynamoDB and CloudWatch of one table, whatever they are to say, under a clock that tests move."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from keyheat.evidence.cloudwatch import MetricSource
from keyheat.evidence.collection import collect_table
from keyheat.runs.formats import Evidence, Window
from keyheat.runs.table_facts import TableFacts
from tests.endpoint.clients import FakeClock

ORDERS = TableFacts(name="orders")
Points = Callable[[Any, datetime, datetime], Iterable[tuple[datetime, float]]]
"""Points of a `MetricStat`, from a time up to another."""


@dataclass
class FakeAws:
    """Metrics are what `says` has, one after the other and the last one forever; without it, `points`.

    A minute is published `delay_s` after it closed.
    """

    says: list[Any] = field(default_factory=list)
    points: Points = lambda _stat, _start, _end: ()
    table: dict[str, Any] = field(default_factory=lambda: {"TableName": "orders"})
    stream: Any = None
    clock: FakeClock = field(default_factory=FakeClock)
    delay_s: float = 0.0
    page_points: int = 100_800
    calls: list[dict[str, Any]] = field(default_factory=list)
    asked_s: list[float] = field(default_factory=list)
    waited: list[tuple[str, float]] = field(default_factory=list)

    def factory(self, _service: str) -> Any:
        return self

    def progress(self, what: str, left_s: float) -> None:
        self.waited.append((what, left_s))

    def describe_limits(self) -> dict[str, Any]:
        return {}

    def describe_contributor_insights(self, **_asked: Any) -> dict[str, Any]:
        return {"ContributorInsightsStatus": "DISABLED"}

    def describe_table(self, **_asked: Any) -> dict[str, Any]:
        return {"Table": self.table}

    def describe_stream(self, **_asked: Any) -> Any:
        return _said(self.stream)

    def get_metric_data(self, **request: Any) -> Any:
        self.calls.append(request)
        self.asked_s.append(self.clock())
        if self.says:
            return _said(self.says.pop(0) if len(self.says) > 1 else self.says[0])
        queries, start = request["MetricDataQueries"], request["StartTime"]
        end = min(request["EndTime"], datetime.fromtimestamp(self.clock() - self.delay_s, UTC))
        flat = [
            (query, *point) for query in queries for point in self.points(query["MetricStat"], start, end)
        ]
        first = int(request.get("NextToken", 0))
        page = flat[first : first + self.page_points]
        results = [
            {
                "Id": query["Id"], "Label": query["Label"], "StatusCode": "Complete",
                "Timestamps": [at for q, at, _ in page if q is query],
                "Values": [value for q, _, value in page if q is query],
            }
            for query in queries
        ]  # fmt: skip
        more = {"NextToken": str(first + len(page))} if first + len(page) < len(flat) else {}
        return {"MetricDataResults": results, **more}

    def collected(self, window: Window, table: TableFacts = ORDERS) -> Evidence:
        """What is collected of the table over a window."""
        return collect_table(self.source(), table, window)

    def source(self, **more: Any) -> MetricSource:
        """It as evidence is collected from it."""
        return MetricSource(
            client_factory=self.factory,
            clock=self.clock,
            sleep=self.clock.advance,
            progress=self.progress,
            **more,
        )


def _said(what: Any) -> Any:
    if isinstance(what, Exception):
        raise what
    return what
