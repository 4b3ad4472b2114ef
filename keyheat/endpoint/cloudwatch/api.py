"""CloudWatch's operations, whatever protocol they are asked in; GetMetricData comes in pages.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/Welcome.html

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from keyheat.endpoint.cloudwatch.insights import get_insight_rule_report
from keyheat.endpoint.cloudwatch.metrics import (
    MINUTE_S,
    SIMPLE_STATISTICS,
    MetricKey,
    MetricPoint,
    Metrics,
    MetricsView,
    by_period,
    is_statistic,
    statistic,
)
from keyheat.endpoint.cloudwatch.parameters import (
    Parameters,
    combination,
    dimensions,
    flag,
    invalid,
    items,
    moment_s,
    optional_text,
    structure,
    structures,
    text,
    validation,
    whole,
)
from keyheat.endpoint.errors import ServiceError

MAX_QUERIES = 500
MAX_DATAPOINTS = 100_800
ID = re.compile(r"[a-z][a-zA-Z0-9_]*")
HIGH_RESOLUTION_S = (1, 5, 10, 20, 30)

Measured = list[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricQuery:
    """One MetricDataQuery: a statistic of a metric per period."""

    id: str
    metric: MetricKey
    statistic: str
    period_s: int
    unit: str | None
    label: str
    returned: bool


@dataclass(frozen=True, slots=True)
class MetricPage:
    """Where a page begins, in datapoints, and until when metrics are seen: the same on every page."""

    offset: int
    until_s: int

    def token(self) -> str:
        return base64.urlsafe_b64encode(orjson.dumps([self.offset, self.until_s])).decode()


def get_metric_data(metrics: Metrics, parameters: Parameters) -> dict[str, Any]:
    queries = _queries(parameters)
    start_s = moment_s(parameters, "StartTime") // MINUTE_S * MINUTE_S
    end_s = moment_s(parameters, "EndTime")
    if start_s >= end_s:
        raise validation("The parameter StartTime must be less than the parameter EndTime.")
    descending = _descending(parameters)
    most = whole(parameters, "MaxDatapoints", MAX_DATAPOINTS)
    if not 0 < most <= MAX_DATAPOINTS:
        raise validation(
            f"The value {most} for parameter MaxDatapoints must be between 1 and {MAX_DATAPOINTS}."
        )
    page = _page(optional_text(parameters, "NextToken")) or MetricPage(0, metrics.published_until_s())
    view = metrics.view(start_s, min(end_s, page.until_s))
    measured = [
        (query, _measured(query, view)[:: -1 if descending else 1]) for query in queries if query.returned
    ]
    return _in_pages(measured, page, most)


def _queries(parameters: Parameters) -> list[MetricQuery]:
    raw = structures(parameters, "MetricDataQueries")
    if not raw:
        raise validation("The parameter MetricDataQueries is required.")
    if len(raw) > MAX_QUERIES:
        raise validation(f"The collection MetricDataQueries must not have a size greater than {MAX_QUERIES}.")
    queries = [_query(query) for query in raw]
    if len({query.id for query in queries}) < len(queries):
        raise validation("The values for parameter id in MetricDataQueries are not unique.")
    return queries


def _query(raw: Parameters) -> MetricQuery:
    identifier = text(raw, "Id")
    if ID.fullmatch(identifier) is None:
        raise validation(f'The value "{identifier}" for parameter "Id" does not match ^[a-z][a-zA-Z0-9_]*$.')
    if raw.get("MetricStat") is None:
        raise validation(f"The query {identifier} needs a MetricStat: the local endpoint has no expressions.")
    stat = structure(raw["MetricStat"], "MetricStat")
    metric = structure(stat.get("Metric"), "Metric")
    name = text(metric, "MetricName")
    return MetricQuery(
        id=identifier,
        metric=MetricKey(text(metric, "Namespace"), name, dimensions(metric)),
        statistic=_statistic(text(stat, "Stat")),
        period_s=_query_period_s(whole(stat, "Period")),
        unit=optional_text(stat, "Unit"),
        label=optional_text(raw, "Label") or name,
        returned=flag(raw, "ReturnData", True),
    )


def _statistic(name: str) -> str:
    if not is_statistic(name):
        raise validation(
            f"The value {name} for parameter Stat is not a statistic that the local endpoint computes."
        )
    return name


def _query_period_s(period_s: int) -> int:
    if period_s not in HIGH_RESOLUTION_S and (period_s < MINUTE_S or period_s % MINUTE_S):
        raise validation(
            f"The value {period_s} for parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60."
        )
    return period_s


def _descending(parameters: Parameters) -> bool:
    order = optional_text(parameters, "ScanBy") or "TimestampDescending"
    if order not in ("TimestampDescending", "TimestampAscending"):
        raise validation(f"The value {order} for parameter ScanBy is invalid.")
    return order == "TimestampDescending"


def _measured(query: MetricQuery, view: MetricsView) -> Measured:
    """The statistic per period."""
    periods = by_period(view.points(query.metric, query.unit), query.period_s)
    values = [(point.start_s, statistic(point, query.statistic)) for point in periods]
    return [(start_s, value) for start_s, value in values if value is not None]


def _in_pages(measured: list[tuple[MetricQuery, Measured]], page: MetricPage, most: int) -> dict[str, Any]:
    """The page's part of all datapoints; a query without any is in the first page, and complete."""
    results, skip, left = [], page.offset, most
    for query, points in measured:
        part = points[skip : skip + left]
        whole_part = skip + left >= len(points)
        if part or (not points and not page.offset):
            results.append(_result(query, part, whole_part))
        skip = max(0, skip - len(points))
        left -= len(part)
    answer: dict[str, Any] = {"MetricDataResults": results, "Messages": []}
    reached = page.offset + most - left
    if reached < sum(len(points) for _, points in measured):
        answer["NextToken"] = MetricPage(reached, page.until_s).token()
    return answer


def _result(query: MetricQuery, points: Measured, is_whole: bool) -> dict[str, Any]:
    return {
        "Id": query.id,
        "Label": query.label,
        "Timestamps": [datetime.fromtimestamp(start_s, UTC) for start_s, _ in points],
        "Values": [float(value) for _, value in points],
        "StatusCode": "Complete" if is_whole else "PartialData",
    }


def _page(token: str | None) -> MetricPage | None:
    """The page that a NextToken names; None for the first. Raises InvalidNextToken."""
    if token is None:
        return None
    try:
        offset, until_s = orjson.loads(base64.urlsafe_b64decode(token))
        return MetricPage(int(offset), int(until_s))
    except (binascii.Error, orjson.JSONDecodeError, ValueError, TypeError):
        raise ServiceError("InvalidNextToken", "The next token specified is invalid.") from None


METRICS_PER_PAGE = 500
DATAPOINTS_PER_CALL = 1440
RECENT_S = 3 * 3600
LISTED_S = 14 * 86_400

Answer = dict[str, Any]
Operation = Callable[[Metrics, Parameters], Answer]


def list_metrics(metrics: Metrics, parameters: Parameters) -> Answer:
    """ListMetrics: those with a datapoint in the last two weeks, or the last three hours."""
    now_s = metrics.service.now_s()
    span_s = RECENT_S if _recent(parameters) else LISTED_S
    namespace, name = optional_text(parameters, "Namespace"), optional_text(parameters, "MetricName")
    filters = [
        (text(one, "Name"), optional_text(one, "Value")) for one in structures(parameters, "Dimensions")
    ]
    keys = [
        key
        for key in metrics.view(now_s - span_s, now_s).listed()
        if namespace in (None, key.namespace) and name in (None, key.name) and _matches(key, filters)
    ]
    offset = _offset(optional_text(parameters, "NextToken"))
    answer: Answer = {"Metrics": [_listed(key) for key in keys[offset : offset + METRICS_PER_PAGE]]}
    if offset + METRICS_PER_PAGE < len(keys):
        answer["NextToken"] = base64.urlsafe_b64encode(b"%d" % (offset + METRICS_PER_PAGE)).decode()
    return answer


def get_metric_statistics(metrics: Metrics, parameters: Parameters) -> Answer:
    """GetMetricStatistics: one metric; periods begin at the StartTime, rounded down to its minute."""
    key = MetricKey(text(parameters, "Namespace"), text(parameters, "MetricName"), dimensions(parameters))
    start_s = int(moment_s(parameters, "StartTime") // MINUTE_S * MINUTE_S)
    end_s = moment_s(parameters, "EndTime")
    period_s = _period_s(parameters, start_s, end_s)
    statistics = _statistics(parameters)
    view = metrics.view(start_s, end_s)
    points = by_period(view.points(key, optional_text(parameters, "Unit")), period_s, start_s)
    unit = view.unit(key)
    return {"Label": key.name, "Datapoints": [_datapoint(point, unit, statistics) for point in points]}


OPERATIONS: dict[str, Operation] = {
    "GetInsightRuleReport": get_insight_rule_report,
    "GetMetricData": get_metric_data,
    "GetMetricStatistics": get_metric_statistics,
    "ListMetrics": list_metrics,
}


def _recent(parameters: Parameters) -> bool:
    asked = optional_text(parameters, "RecentlyActive")
    if asked not in (None, "PT3H"):
        raise invalid(f"The value {asked} for parameter RecentlyActive is invalid; it can be PT3H.")
    return asked is not None


def _matches(key: MetricKey, filters: list[tuple[str, str | None]]) -> bool:
    """Whether the metric has every dimension asked for, with any value where none is named."""
    of_key = dict(key.dimensions)
    return all(name in of_key and value in (None, of_key[name]) for name, value in filters)


def _listed(key: MetricKey) -> Answer:
    return {
        "Namespace": key.namespace,
        "MetricName": key.name,
        "Dimensions": [{"Name": name, "Value": value} for name, value in key.dimensions],
    }


def _offset(token: str | None) -> int:
    if token is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError):
        raise invalid("The value for parameter NextToken is invalid.") from None


def _period_s(parameters: Parameters, start_s: float, end_s: float) -> int:
    period_s = whole(parameters, "Period")
    if period_s < MINUTE_S or period_s % MINUTE_S:
        raise invalid("The parameter Period must be a multiple of 60.")
    if start_s >= end_s:
        raise invalid("The parameter StartTime must be less than the parameter EndTime.")
    asked = int(-(-(end_s - start_s) // period_s))
    if asked > DATAPOINTS_PER_CALL:
        raise combination(
            f"You have requested up to {asked:,} datapoints, which exceeds the limit of "
            f"{DATAPOINTS_PER_CALL:,}. You may reduce the datapoints requested by increasing Period, "
            "or decreasing the time range."
        )
    return period_s


def _statistics(parameters: Parameters) -> list[str]:
    """The statistics; there are no percentiles of the metrics of a table here."""
    simple, extended = items(parameters, "Statistics"), items(parameters, "ExtendedStatistics")
    if not simple and not extended:
        raise combination(
            "At least one of the parameters Statistics and ExtendedStatistics must be specified."
        )
    for name in simple:
        if name not in SIMPLE_STATISTICS:
            raise invalid(f"The value {name} for parameter Statistics is invalid.")
    for name in extended:
        if not isinstance(name, str) or name in SIMPLE_STATISTICS or not is_statistic(name):
            raise invalid(f"The value {name} for parameter ExtendedStatistics is invalid.")
    return simple


def _datapoint(point: MetricPoint, unit: str, statistics: list[str]) -> Answer:
    answer: Answer = {"Timestamp": datetime.fromtimestamp(point.start_s, UTC), "Unit": unit}
    return answer | {name: value for name in statistics if (value := statistic(point, name)) is not None}


def call(metrics: Metrics, operation: str, parameters: Parameters) -> Answer:
    """Answer one operation. Raises `ServiceError`."""
    handler = OPERATIONS.get(operation)
    if handler is None:
        raise ServiceError("InvalidAction", f"The local endpoint has no operation {operation}.")
    return handler(metrics, parameters)
