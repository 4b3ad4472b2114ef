"""Reports of Contributor Insights; here all rules are those that DynamoDB makes.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetInsightRuleReport.html
"""

from datetime import UTC, datetime
from typing import Final

from keyheat.endpoint.cloudwatch.queries import Answer, Request, invalid, span_of, whole_minutes
from keyheat.endpoint.contributors import InsightRule
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.service import Service
from keyheat.model.limits import INSIGHT_CONTRIBUTORS

CONTRIBUTORS: Final = 10  # where a request does not say how many


def get_insight_rule_report(service: Service, request: Request, until_s: int) -> Answer:
    """GetInsightRuleReport: the keys with the largest sums in the published minutes of a span."""
    most = request.get("MaxContributorCount")
    most = CONTRIBUTORS if most is None else most
    start_s, end_s = span_of(request)
    period_s = whole_minutes(request["Period"])
    if not 1 <= most <= INSIGHT_CONTRIBUTORS:
        raise invalid(f"The parameter MaxContributorCount must be between 1 and {INSIGHT_CONTRIBUTORS}.")
    if request.get("OrderBy") not in (None, "Sum") or request.get("Metrics"):
        raise invalid("The local endpoint orders a report by Sum, and adds no Metrics to it.")
    rule = _rule(service, request["RuleName"])
    minutes = [minute for minute in sorted(rule.minutes) if start_s <= minute < min(end_s, until_s)]
    by_key: dict[bytes, dict[int, float]] = {}
    for minute in minutes:
        begins_s = start_s + (minute - start_s) // period_s * period_s
        for key, value in rule.minutes[minute].weights.items():
            of_key = by_key.setdefault(key, {})
            of_key[begins_s] = of_key.get(begins_s, 0.0) + value
    ranked = sorted(by_key.items(), key=lambda pair: (-sum(pair[1].values()), pair[0]))
    counts = [rule.minutes[minute] for minute in minutes]
    return {
        "KeyLabels": rule.labels,
        "AggregationStatistic": "COUNT" if rule.throttled else "SUM",
        "AggregateValue": float(sum(minute.total for minute in counts)),
        "ApproximateUniqueCount": max([len(by_key), *(minute.contributors for minute in counts)]),
        "Contributors": [_contributor(rule, key, values) for key, values in ranked[:most]],
        "MetricDatapoints": [],
    }


def _rule(service: Service, name: str) -> InsightRule:
    for table in service.catalog:
        for watch in table.insights.watches.values():
            for rule in watch.rules.values():
                if rule.name == name:
                    return rule
    raise ServiceError("ResourceNotFoundException", f"Rule {name} does not exist.", status=404)


def _contributor(rule: InsightRule, key: bytes, values: dict[int, float]) -> Answer:
    return {
        "Keys": rule.key_texts(key),
        "ApproximateAggregateValue": sum(values.values()),
        "Datapoints": [
            {"Timestamp": datetime.fromtimestamp(start_s, UTC), "ApproximateValue": value}
            for start_s, value in values.items()
        ],
    }
