"""Query CloudWatch for the metrics of one table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.intake.tables import NotTaken
from keyheat.runs.metrics import NAMESPACE

MOST_QUERIES: Final = 500
"""Per GetMetricData call: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html"""
PERMISSION: Final = "cloudwatch:GetMetricData"
Points = Mapping[datetime, float]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the table, an operation or an index."""

    name: str
    statistic: str
    operation: str | None = None
    index: str | None = None

    def query(self, number: int, table: str, period_s: int) -> dict[str, Any]:
        """The GetMetricData query of the metric."""
        dimensions = {"TableName": table, "Operation": self.operation, "GlobalSecondaryIndexName": self.index}
        pairs = [{"Name": name, "Value": value} for name, value in dimensions.items() if value]
        metric = {"Namespace": NAMESPACE, "MetricName": self.name, "Dimensions": pairs}
        stat = {"Metric": metric, "Period": period_s, "Stat": self.statistic}
        return {"Id": f"m{number}", "MetricStat": stat}


@dataclass(slots=True)
class MetricQuery:
    """Queries of one table's metrics, which count what they ask for."""

    cloudwatch: Any
    table: str
    metrics_requested: int = 0

    def fetch(
        self, metrics: Sequence[Metric], start: datetime, end: datetime, period_s: int
    ) -> dict[Metric, Points]:
        """Values of each metric by period start; metrics without values are left out."""
        points_of: dict[Metric, dict[datetime, float]] = {}
        for first in range(0, len(metrics), MOST_QUERIES):
            some = metrics[first : first + MOST_QUERIES]
            queries = [metric.query(number, self.table, period_s) for number, metric in enumerate(some)]
            for page in self._checked_pages(queries, start, end):
                for result in page["MetricDataResults"]:
                    moments = (at.astimezone(UTC) for at in result["Timestamps"])
                    points = dict(zip(moments, result["Values"], strict=True))
                    if points:
                        points_of.setdefault(some[int(result["Id"][1:])], {}).update(points)
        return {metric: points for metric, points in points_of.items()}

    def _checked_pages(self, queries: list[dict[str, Any]], start: datetime, end: datetime) -> Iterator[Any]:
        try:
            yield from self._pages(queries, start, end)
        except ClientError as error:
            problem = error.response["Error"]
            raise NotTaken(
                f"CloudWatch: {problem['Code']}: {problem['Message']}. --from-metrics needs {PERMISSION}"
            ) from error
        except BotoCoreError as error:
            raise NotTaken(f"CloudWatch: {error}") from error

    def _pages(self, queries: list[dict[str, Any]], start: datetime, end: datetime) -> Iterator[Any]:
        parameters: dict[str, Any] = {"MetricDataQueries": queries, "StartTime": start, "EndTime": end}
        while True:
            self.metrics_requested += len(queries)
            page = self.cloudwatch.get_metric_data(**parameters)
            yield page
            if not page.get("NextToken"):
                return
            parameters["NextToken"] = page["NextToken"]
