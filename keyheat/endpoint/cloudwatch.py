"""CloudWatch's operations in the protocol that boto3 speaks (JSON, the operation in `X-Amz-Target`).

Each answers in one page, however long it is; there are no expressions.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetInsightRuleReport.html
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

import orjson

from keyheat.addresses import OPEN_MINUTE
from keyheat.endpoint.errors import CORAL, ServiceError
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.itemkeys import key_texts
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import ACCOUNT, MetricKey, Regions, Series, Service, by_period
from keyheat.model.limits import INSIGHT_CONTRIBUTORS, MINUTE_S

TARGET: Final = b"GraniteServiceVersion20100801."
CODES: Final = {"ValidationException": "ValidationError"}  # as CloudWatch calls it
# An error's name, and the shape that it has.
# https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsquerycompatible-trait
SHAPES: Final = {"InvalidParameterCombination": "InvalidParameterCombinationException"}
NAMESPACE: Final = "AWS/DynamoDB"
SIMPLE_STATISTICS: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")
PERCENTILE: Final = re.compile(r"p(100|\d{1,2}(?:\.\d{1,10})?)")
MAX_QUERIES: Final = 500
ID: Final = re.compile(r"[a-z][a-zA-Z0-9_]*")
HIGH_RESOLUTION_S: Final = (1, 5, 10, 20, 30)
DATAPOINTS_PER_CALL: Final = 1440
RECENT_S: Final = 3 * 3600
LISTED_S: Final = 14 * 86_400

CONTRIBUTORS: Final = 10  # in a report, unless a request says how many

Answer = dict[str, Any]
Request = Mapping[str, Any]
"""Its members have the API's shapes."""


def invalid(message: str, code: str = "ValidationError") -> ServiceError:
    return ServiceError(code, message)


def span_of(request: Request) -> tuple[int, float]:
    """StartTime, rounded down to its minute, and EndTime as epoch seconds. Raises `ServiceError`."""
    moments = (request["StartTime"], request["EndTime"])
    start_s, end_s = (at.timestamp() if isinstance(at, datetime) else at for at in moments)
    if not start_s < end_s or not isfinite(end_s - start_s):
        raise invalid("The parameter StartTime must be less than the parameter EndTime.")
    return int(start_s // MINUTE_S) * MINUTE_S, end_s


def whole_minutes(period_s: int) -> int:
    """A Period of whole minutes. Raises `ServiceError`."""
    if period_s % MINUTE_S:
        raise invalid(f"The value {period_s} for parameter Period must be a multiple of 60.")
    return period_s


def get_metric_data(service: Service, request: Request, until_s: int) -> Answer:
    """GetMetricData: statistics of metrics by period; there are no expressions."""
    queries = request["MetricDataQueries"]
    start_s, end_s = span_of(request)
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise invalid(f"MetricDataQueries has {len(queries)} queries; 1 to {MAX_QUERIES} are accepted.")
    if len({query["Id"] for query in queries}) < len(queries):
        raise invalid("The values for parameter id in MetricDataQueries are not unique.")
    if request.get("NextToken") is not None:
        raise invalid(
            "The next token is invalid: the local endpoint answers in one page.", "InvalidNextToken"
        )
    step = 1 if request.get("ScanBy") == "TimestampAscending" else -1
    tables: dict[str, Series] = {}
    results = []
    for query in queries:
        _check_query(query)
        if query.get("ReturnData") is not False:
            stat = query["MetricStat"]
            table = dict(_key(stat["Metric"]).dimensions).get("TableName", ACCOUNT)
            if table not in tables:
                tables[table] = service.metrics.series(start_s, end_s, until_s, table)
            values = _values(stat, tables[table])[::step]
            results.append(
                {
                    "Id": query["Id"],
                    "Label": query.get("Label") or stat["Metric"].get("MetricName"),
                    "Timestamps": [datetime.fromtimestamp(start_s, UTC) for start_s, _ in values],
                    "Values": [value for _, value in values],
                    "StatusCode": "Complete",
                }
            )
    return {"MetricDataResults": results, "Messages": []}


def _check_query(query: Request) -> None:
    if ID.fullmatch(query["Id"]) is None:
        raise invalid(f'The value "{query["Id"]}" for parameter "Id" does not match ^{ID.pattern}$.')
    if query.get("MetricStat") is None:
        raise invalid(f"The query {query['Id']} needs a MetricStat: the local endpoint has no expressions.")
    name, period_s = query["MetricStat"]["Stat"], query["MetricStat"]["Period"]
    if name not in SIMPLE_STATISTICS and PERCENTILE.fullmatch(name) is None:
        raise invalid(f"The value {name} for parameter Stat is not supported by the local endpoint.")
    if period_s not in HIGH_RESOLUTION_S:
        whole_minutes(period_s)


def _key(metric: Request) -> MetricKey:
    """The metric by name and dimensions, whose order means nothing."""
    dimensions = tuple(sorted((pair["Name"], pair["Value"]) for pair in metric.get("Dimensions") or ()))
    if len(dict(dimensions)) < len(dimensions):
        raise invalid("No two dimensions may have one name.")
    return MetricKey(metric.get("MetricName") or "", dimensions)


def _values(stat: Request, series: Series) -> list[tuple[int, float]]:
    """The statistic of each period that has a datapoint."""
    metric, stat_unit = stat["Metric"], stat.get("Unit")
    unit, points = series.get(_key(metric), ("Count", {}))
    if metric.get("Namespace") != NAMESPACE or stat_unit not in (None, unit):
        return []
    periods = by_period(points.items(), stat["Period"])
    values = [(start_s, tally.statistic(stat["Stat"])) for start_s, tally in periods.items()]
    return [(start_s, float(value)) for start_s, value in values if value is not None]


def get_metric_statistics(service: Service, request: Request, until_s: int) -> Answer:
    """GetMetricStatistics: one metric; periods begin at the StartTime. Percentiles have no datapoints."""
    start_s, end_s = span_of(request)
    period_s = whole_minutes(request["Period"])
    periods = int(-(-(end_s - start_s) // period_s))
    if periods > DATAPOINTS_PER_CALL:
        raise invalid(
            f"You have requested up to {periods:,} datapoints, which exceeds the limit of "
            f"{DATAPOINTS_PER_CALL:,}; increase Period, or take a shorter span.",
            "InvalidParameterCombination",
        )
    names = request.get("Statistics") or []
    if not names and not request.get("ExtendedStatistics"):
        raise invalid("Specify Statistics or ExtendedStatistics.", "InvalidParameterCombination")
    key = _key(request)
    table = dict(key.dimensions).get("TableName", ACCOUNT)
    unit, points = service.metrics.series(start_s, end_s, until_s, table).get(key, ("None", {}))
    if request["Namespace"] != NAMESPACE or request.get("Unit") not in (None, unit):
        points = {}
    datapoints = [
        {"Timestamp": datetime.fromtimestamp(at_s, UTC), "Unit": unit}
        | {name: tally.statistic(name) for name in names}
        for at_s, tally in by_period(points.items(), period_s, start_s).items()
    ]
    return {"Label": request["MetricName"], "Datapoints": datapoints}


def list_metrics(service: Service, request: Request, until_s: int) -> Answer:
    """ListMetrics: those with a datapoint in the last two weeks, or in the last three hours."""
    now_s = service.clock()
    span_s = RECENT_S if request.get("RecentlyActive") else LISTED_S
    filters = {(dimension["Name"], dimension.get("Value")) for dimension in request.get("Dimensions") or ()}
    keys = service.metrics.series(now_s - span_s, now_s, until_s)
    if request.get("Namespace") not in (None, NAMESPACE):
        keys = {}
    return {
        "Metrics": [
            {
                "Namespace": NAMESPACE,
                "MetricName": key.name,
                "Dimensions": [{"Name": name, "Value": value} for name, value in key.dimensions],
            }
            for key in sorted(keys)
            if request.get("MetricName") in (None, key.name)
            and filters <= {*key.dimensions, *((name, None) for name, _ in key.dimensions)}
        ]
    }


def get_insight_rule_report(service: Service, request: Request, until_s: int) -> Answer:
    """GetInsightRuleReport: the keys with the largest sums in the published minutes of a span."""
    most = CONTRIBUTORS if (given := request.get("MaxContributorCount")) is None else given
    start_s, end_s = span_of(request)
    period_s = whole_minutes(request["Period"])
    if not 1 <= most <= INSIGHT_CONTRIBUTORS:
        raise invalid(f"The parameter MaxContributorCount must be between 1 and {INSIGHT_CONTRIBUTORS}.")
    if request.get("OrderBy") not in (None, "Sum") or request.get("Metrics"):
        raise invalid("The local endpoint orders a report by Sum, and adds no Metrics to it.")
    watches = (watch for table in service.catalog for watch in table.insights.watches.values())
    rules = {rule.name: rule for watch in watches for rule in watch.rules.values()}
    rule = rules.get(request["RuleName"])
    if rule is None:
        message = f"Rule {request['RuleName']} does not exist."
        raise ServiceError("ResourceNotFoundException", message, status=404)
    minutes = [minute for minute in sorted(rule.minutes) if start_s <= minute < min(end_s, until_s)]
    by_key: dict[bytes, dict[int, float]] = {}
    for minute in minutes:
        begins_s = start_s + (minute - start_s) // period_s * period_s
        for key, value in rule.minutes[minute].values.weights.items():
            of_key = by_key.setdefault(key, {})
            of_key[begins_s] = of_key.get(begins_s, 0.0) + value
    ranked = sorted(by_key.items(), key=lambda pair: (-sum(pair[1].values()), pair[0]))
    counts = [rule.minutes[minute] for minute in minutes]
    return {
        "KeyLabels": [attribute.name for attribute in rule.keys.partitions],
        "AggregationStatistic": "COUNT" if rule.kind == "PKT" else "SUM",
        "AggregateValue": float(sum(minute.values.total for minute in counts)),
        "ApproximateUniqueCount": max([len(by_key), *(minute.contributors for minute in counts)]),
        "Contributors": [
            {
                "Keys": key_texts(rule.keys, key),
                "ApproximateAggregateValue": sum(values.values()),
                "Datapoints": [
                    {"Timestamp": datetime.fromtimestamp(at_s, UTC), "ApproximateValue": value}
                    for at_s, value in values.items()
                ],
            }
            for key, values in ranked[:most]
        ],
        "MetricDatapoints": [],
    }


OPERATIONS: Final[dict[str, Callable[[Service, Request, int], Answer]]] = {
    "GetInsightRuleReport": get_insight_rule_report,
    "GetMetricData": get_metric_data,
    "GetMetricStatistics": get_metric_statistics,
    "ListMetrics": list_metrics,
}


@dataclass(frozen=True, slots=True)
class CloudWatch:
    """CloudWatch's API in all Regions of one endpoint. `ids` are those of responses."""

    regions: Regions
    ids: Iterator[bytes]

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None
    ) -> bytes:
        extra = b""
        try:
            out, status = self._answer(headers, body), 200
        except ServiceError as error:
            code, status = CODES.get(error.code, error.code), error.status
            out = {"__type": f"com.amazonaws.cloudwatch#{SHAPES.get(code, code)}", "message": error.message}
            kind = b"Sender" if status < 500 else b"Receiver"
            extra = b"x-amzn-query-error: %b;%b\r\n" % (code.encode(), kind)
        raw = orjson.dumps(out, default=datetime.timestamp, option=orjson.OPT_PASSTHROUGH_DATETIME)
        kind = b"application/x-amz-json-1.0"
        return response(status, raw, content_type=kind, request_id=next(self.ids), extra=extra)

    def _answer(self, headers: Headers, body: bytes) -> Answer:
        # Any signature is taken, but in a header: any web page can send what stands in a form or a link.
        if not headers.get(b"authorization", b"").startswith(b"AWS"):
            raise ServiceError(
                "MissingAuthenticationToken", "Request is missing Authentication Token", status=403
            )
        name = headers[b"x-amz-target"].decode("latin-1").removeprefix(TARGET.decode())
        service, operation = self.regions.signed_for(headers), OPERATIONS.get(name)
        if operation is None:
            raise ServiceError("InvalidAction", f"The local endpoint has no operation {name}.")
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            request = None
        if not isinstance(request, Mapping):
            message = "The body cannot be read: not a JSON object"
            raise ServiceError("SerializationException", message, prefix=CORAL)
        check_shape(name, request, "cloudwatch")
        now_s = service.clock()
        service.metrics.note_tables(service.catalog, now_s)
        # A run whose load is over need not wait for the end of its last minute.
        shows_open = OPEN_MINUTE.lower().encode() in headers
        return operation(service, request, (int(now_s // MINUTE_S) + shows_open) * MINUTE_S)
