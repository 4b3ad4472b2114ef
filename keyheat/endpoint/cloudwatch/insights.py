"""Reports of Contributor Insights; here all rules are those that DynamoDB makes.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetInsightRuleReport.html
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from keyheat.endpoint.cloudwatch.metrics import Metrics
from keyheat.endpoint.cloudwatch.queries import Answer, Request, invalid, span_of, whole_minutes
from keyheat.endpoint.contributors import InsightRule, KeyCounts
from keyheat.endpoint.errors import ServiceError
from keyheat.model.limits import INSIGHT_CONTRIBUTORS

CONTRIBUTORS: Final = 10  # where a request does not say how many
STATISTICS: Final = (
    "UniqueContributors", "MaxContributorValue", "SampleCount", "Sum", "Minimum", "Maximum", "Average",
)  # fmt: skip
ORDERS: Final = ("Sum", "Maximum")
Periods = Mapping[int, Sequence[KeyCounts]]
"""The minutes that were counted in, by the epoch second at which their period begins."""


def get_insight_rule_report(metrics: Metrics, request: Request, until_s: int) -> Answer:
    """GetInsightRuleReport: who contributed most from StartTime to EndTime, in minutes that are published."""
    most, order = request.get("MaxContributorCount") or CONTRIBUTORS, request.get("OrderBy") or ORDERS[0]
    names = request.get("Metrics") or []
    start_s, end_s = span_of(request)
    period_s = whole_minutes(request["Period"])
    if not 1 <= most <= INSIGHT_CONTRIBUTORS or request.get("MaxContributorCount") == 0:
        raise invalid(f"The parameter MaxContributorCount must be between 1 and {INSIGHT_CONTRIBUTORS}.")
    if order not in ORDERS:
        raise invalid(f"The value {order} for parameter OrderBy is invalid; it can be Sum or Maximum.")
    if unknown := [name for name in names if name not in STATISTICS]:
        raise invalid(f"The value {unknown[0]} for parameter Metrics is invalid.")
    rule = _rule(metrics, request["RuleName"])
    periods: dict[int, list[KeyCounts]] = {}
    for minute in sorted(rule.minutes):
        if start_s <= minute < min(end_s, until_s):
            begins_s = start_s + (minute - start_s) // period_s * period_s
            periods.setdefault(begins_s, []).append(rule.minutes[minute])
    return _report(rule, periods, most, order, names)


def _rule(metrics: Metrics, name: str) -> InsightRule:
    for table in metrics.service.catalog:
        for watch in table.insights.watches.values():
            for rule in watch.rules.values():
                if rule.name == name:
                    return rule
    raise ServiceError("ResourceNotFoundException", f"Rule {name} does not exist.", status=404)


def _report(rule: InsightRule, periods: Periods, most: int, order: str, names: Sequence[str]) -> Answer:
    by_key: dict[bytes, dict[int, float]] = {}
    for start_s, minutes in periods.items():
        for key, value in _values(minutes).items():
            by_key.setdefault(key, {})[start_s] = value
    rank = sum if order == "Sum" else max
    ranked = sorted(by_key.items(), key=lambda pair: (-rank(pair[1].values()), pair[0]))
    counted = [counts for minutes in periods.values() for counts in minutes]
    return {
        "KeyLabels": rule.labels,
        "AggregationStatistic": "COUNT" if rule.throttled else "SUM",
        "AggregateValue": float(sum(counts.total for counts in counted)),
        "ApproximateUniqueCount": max(len(by_key), *(counts.contributors for counts in counted), 0),
        "Contributors": [_contributor(rule, key, values) for key, values in ranked[:most]],
        "MetricDatapoints": [
            {"Timestamp": _time(start_s), **{name: _statistics(minutes)[name] for name in names}}
            for start_s, minutes in periods.items()
            if names
        ],
    }


def _values(minutes: Sequence[KeyCounts]) -> Counter[bytes]:
    """The value of each key in several minutes together."""
    added: Counter[bytes] = Counter()
    for counts in minutes:
        added.update(counts.values)
    return added


def _contributor(rule: InsightRule, key: bytes, values: Mapping[int, float]) -> dict[str, Any]:
    return {
        "Keys": rule.shown(key),
        "ApproximateAggregateValue": sum(values.values()),
        "Datapoints": [
            {"Timestamp": _time(start_s), "ApproximateValue": value} for start_s, value in values.items()
        ],
    }


def _statistics(minutes: Sequence[KeyCounts]) -> dict[str, float]:
    values = _values(minutes)
    total = sum(counts.total for counts in minutes)
    contributors = max(len(values), *(counts.contributors for counts in minutes))
    numbers = (
        contributors,
        max(values.values(), default=0.0),
        sum(counts.samples for counts in minutes),
        total,
        min(counts.least for counts in minutes),
        max(counts.most for counts in minutes),
        total / contributors,
    )
    return dict(zip(STATISTICS, map(float, numbers), strict=True))


def _time(start_s: int) -> datetime:
    return datetime.fromtimestamp(start_s, UTC)
