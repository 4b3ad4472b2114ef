"""The rules of Contributor Insights and their reports; here all rules are those that DynamoDB makes.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetInsightRuleReport.html
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keyheat.endpoint.cloudwatch.metrics import MINUTE_S, Metrics
from keyheat.endpoint.cloudwatch.parameters import (
    Parameters,
    invalid,
    items,
    moment_s,
    optional_text,
    text,
    whole,
)
from keyheat.endpoint.contributors import InsightRule, KeyCounts
from keyheat.endpoint.errors import ServiceError
from keyheat.model.limits import INSIGHT_CONTRIBUTORS

CONTRIBUTORS = 10  # where a request does not say how many
STATISTICS = (
    "UniqueContributors", "MaxContributorValue", "SampleCount", "Sum", "Minimum", "Maximum", "Average",
)  # fmt: skip
ORDERS = ("Sum", "Maximum")
Periods = Mapping[int, Sequence[KeyCounts]]
"""The minutes that were counted in, by the epoch second at which their period begins."""


def get_insight_rule_report(metrics: Metrics, parameters: Parameters) -> dict[str, Any]:
    """GetInsightRuleReport: who contributed most from StartTime to EndTime, in minutes that are published."""
    name, most = text(parameters, "RuleName"), _most(parameters)
    span, order, wanted = ReportSpan.of(parameters), _order(parameters), _wanted(parameters)
    rule = _rules(metrics).get(name)
    if rule is None:
        raise ServiceError("ResourceNotFoundException", f"Rule {name} does not exist.", status=404)
    periods = span.periods(rule, metrics.published_until_s())
    by_key = _by_key(periods)
    ranked = sorted(by_key.items(), key=lambda one: (-_rank(one[1], order), one[0]))
    return {
        "KeyLabels": rule.labels,
        "AggregationStatistic": "COUNT" if rule.throttled else "SUM",
        "AggregateValue": float(sum(counts.total for minutes in periods.values() for counts in minutes)),
        "ApproximateUniqueCount": max(
            len(by_key), *(counts.contributors for minutes in periods.values() for counts in minutes), 0
        ),
        "Contributors": [_contributor(rule, key, values) for key, values in ranked[:most]],
        "MetricDatapoints": [_datapoint(start_s, minutes, wanted) for start_s, minutes in periods.items()]
        if wanted
        else [],
    }


@dataclass(frozen=True, slots=True)
class ReportSpan:
    """StartTime, EndTime and Period of a request, in epoch seconds and seconds."""

    start_s: int
    end_s: float
    period_s: int

    @classmethod
    def of(cls, parameters: Parameters) -> "ReportSpan":
        """The span that is asked for. Raises InvalidParameterValue."""
        start_s = int(moment_s(parameters, "StartTime") // MINUTE_S * MINUTE_S)
        end_s, period_s = moment_s(parameters, "EndTime"), whole(parameters, "Period")
        if start_s >= end_s:
            raise invalid("The parameter StartTime must be less than the parameter EndTime.")
        if period_s < MINUTE_S or period_s % MINUTE_S:
            raise invalid("The parameter Period must be a multiple of 60.")
        return cls(start_s, end_s, period_s)

    def periods(self, rule: InsightRule, published_until_s: int) -> Periods:
        """The minutes of the span by period, oldest first; those without a contributor are not there."""
        found: dict[int, list[KeyCounts]] = {}
        for minute in sorted(rule.minutes):
            if self.start_s <= minute < min(self.end_s, published_until_s):
                start_s = self.start_s + (minute - self.start_s) // self.period_s * self.period_s
                found.setdefault(start_s, []).append(rule.minutes[minute])
        return found


def _rules(metrics: Metrics) -> dict[str, InsightRule]:
    """Every rule of the account by name."""
    return {
        rule.name: rule
        for table in metrics.service.catalog
        for watch in table.insights.watches.values()
        for rule in watch.rules.values()
    }


def _most(parameters: Parameters) -> int:
    most = whole(parameters, "MaxContributorCount", CONTRIBUTORS)
    if not 1 <= most <= INSIGHT_CONTRIBUTORS:
        raise invalid(
            f"The parameter MaxContributorCount must be between 1 and {INSIGHT_CONTRIBUTORS} for a rule of "
            "DynamoDB's."
        )
    return most


def _order(parameters: Parameters) -> str:
    order = optional_text(parameters, "OrderBy") or ORDERS[0]
    if order not in ORDERS:
        raise invalid(f"The value {order} for parameter OrderBy is invalid; it can be Sum or Maximum.")
    return order


def _wanted(parameters: Parameters) -> list[str]:
    wanted = items(parameters, "Metrics")
    for name in wanted:
        if name not in STATISTICS:
            raise invalid(f"The value {name} for parameter Metrics is invalid.")
    return wanted


def _by_key(periods: Periods) -> dict[bytes, dict[int, float]]:
    """Each key's value in each period in which it is known to have contributed."""
    found: dict[bytes, dict[int, float]] = {}
    for start_s, minutes in periods.items():
        for key, value in _together(minutes).items():
            found.setdefault(key, {})[start_s] = value
    return found


def _together(minutes: Sequence[KeyCounts]) -> Counter[bytes]:
    added: Counter[bytes] = Counter()
    for counts in minutes:
        added.update(counts.values)
    return added


def _rank(values: Mapping[int, float], order: str) -> float:
    return sum(values.values()) if order == "Sum" else max(values.values())


def _contributor(rule: InsightRule, key: bytes, values: Mapping[int, float]) -> dict[str, Any]:
    points = [{"Timestamp": _time(start_s), "ApproximateValue": value} for start_s, value in values.items()]
    return {
        "Keys": rule.shown(key),
        "ApproximateAggregateValue": sum(values.values()),
        "Datapoints": points,
    }


def _datapoint(start_s: int, minutes: Sequence[KeyCounts], wanted: Sequence[str]) -> dict[str, Any]:
    return {"Timestamp": _time(start_s)} | {
        name: value for name, value in _statistics(minutes) if name in wanted
    }


def _statistics(minutes: Sequence[KeyCounts]) -> Iterator[tuple[str, float]]:
    added = _together(minutes)
    total = sum(counts.total for counts in minutes)
    contributors = max(len(added), *(counts.contributors for counts in minutes))
    values = (
        contributors,
        max(added.values(), default=0.0),
        sum(counts.samples for counts in minutes),
        total,
        min(counts.least for counts in minutes),
        max(counts.most for counts in minutes),
        total / contributors,
    )
    yield from zip(STATISTICS, map(float, values), strict=True)


def _time(start_s: int) -> datetime:
    return datetime.fromtimestamp(start_s, UTC)
