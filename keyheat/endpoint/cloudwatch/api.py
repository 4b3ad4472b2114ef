"""CloudWatch's operations, whatever protocol they are asked in.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/Welcome.html
"""

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from keyheat.endpoint.cloudwatch.insights import describe_insight_rules, get_insight_rule_report
from keyheat.endpoint.cloudwatch.metrics import Metrics
from keyheat.endpoint.cloudwatch.parameters import (
    Parameters,
    combination,
    dimensions,
    invalid,
    items,
    moment_s,
    optional_text,
    structures,
    text,
    whole,
)
from keyheat.endpoint.cloudwatch.points import (
    MINUTE_S,
    SIMPLE_STATISTICS,
    MetricKey,
    Point,
    by_period,
    is_statistic,
    statistic,
)
from keyheat.endpoint.cloudwatch.queries import get_metric_data
from keyheat.endpoint.errors import ServiceError

METRICS_PER_PAGE = 500
DATAPOINTS_PER_CALL = 1440
RECENT_S = 3 * 3600
LISTED_S = 14 * 86_400

Answer = dict[str, Any]
Operation = Callable[[Metrics, Parameters], Answer]


def put_metric_data(metrics: Metrics, parameters: Parameters) -> Answer:
    """PutMetricData."""
    metrics.own.put(parameters, metrics.service.now_s())
    return {}


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
    simple, extended = _statistics(parameters)
    view = metrics.view(start_s, end_s)
    points = by_period(view.points(key, optional_text(parameters, "Unit")), period_s, start_s)
    unit = view.unit(key)
    return {"Label": key.name, "Datapoints": [_datapoint(point, unit, simple, extended) for point in points]}


OPERATIONS: dict[str, Operation] = {
    "DescribeInsightRules": describe_insight_rules,
    "GetInsightRuleReport": get_insight_rule_report,
    "GetMetricData": get_metric_data,
    "GetMetricStatistics": get_metric_statistics,
    "ListMetrics": list_metrics,
    "PutMetricData": put_metric_data,
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


def _statistics(parameters: Parameters) -> tuple[list[str], list[str]]:
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
    return simple, extended


def _datapoint(point: Point, unit: str, simple: list[str], extended: list[str]) -> Answer:
    answer: Answer = {"Timestamp": datetime.fromtimestamp(point.start_s, UTC), "Unit": unit}
    answer |= {name: value for name in simple if (value := statistic(point, name)) is not None}
    percentiles = {name: value for name in extended if (value := statistic(point, name)) is not None}
    return answer | ({"ExtendedStatistics": percentiles} if percentiles else {})


def call(metrics: Metrics, operation: str, parameters: Parameters) -> Answer:
    """Answer one operation. Raises `ServiceError`."""
    handler = OPERATIONS.get(operation)
    if handler is None:
        raise ServiceError("InvalidAction", f"The local endpoint has no operation {operation}.")
    return handler(metrics, parameters)
