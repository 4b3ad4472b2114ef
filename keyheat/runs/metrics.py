"""Every series that is requested from CloudWatch, and the queries for it.

Names, dimensions and periods: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
A query without the index dimension returns the base table only, so each index needs its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from keyheat.model import limits
from keyheat.model.resources import Cause, parse_reason
from keyheat.words import Constraint, Direction

NAMESPACE: Final = "AWS/DynamoDB"
QUERIES_PER_CALL: Final = 500  # of GetMetricData
OPERATIONS: Final = (
    "PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "BatchWriteItem", "BatchGetItem",
    "TransactWriteItems", "TransactGetItems", "ExecuteStatement", "BatchExecuteStatement",
    "ExecuteTransaction",
)  # fmt: skip
_READ_OR_WRITE: Final = ("OperationType=Read", "OperationType=Write")
FURTHER: Final[Mapping[str, tuple[str, ...]]] = {
    "ExecuteStatement": tuple(f"Verb=PartiQL{verb}" for verb in ("Select", "Insert", "Update", "Delete")),
    "BatchExecuteStatement": _READ_OR_WRITE,
    "ExecuteTransaction": _READ_OR_WRITE,
}
"""Further dimension that some operations need: a query without it returns nothing.
Seen in live answers (github.com/radkawar/stackd, testdata/aws/dynamodb/throttle_metrics.json, 2026-09)."""
_SELECT, *_CHANGES = FURTHER["ExecuteStatement"]
_Operations = Mapping[Direction, tuple[tuple[str, str | None], ...]]
SINGLE_REQUESTS: Final[_Operations] = {
    Direction.READ: (("GetItem", None), ("Query", None), ("Scan", None), ("ExecuteStatement", _SELECT)),
    Direction.WRITE: (
        *((name, None) for name in ("PutItem", "UpdateItem", "DeleteItem")),
        *(("ExecuteStatement", verb) for verb in _CHANGES),
    ),
}
"""Operations, with their further dimension, whose requests are throttled as a whole."""
REQUESTS_OF_PARTS: Final[_Operations] = {
    direction: (
        *((name, None) for name in names),
        *((name, f"OperationType={direction.title()}") for name in FURTHER if name != "ExecuteStatement"),
    )
    for direction, names in (
        (Direction.READ, ("BatchGetItem", "TransactGetItems")),
        (Direction.WRITE, ("BatchWriteItem", "TransactWriteItems")),
    )
}
"""Operations whose requests have several parts, each throttled by itself."""
TRANSACTIONS: Final[_Operations] = {
    direction: tuple(pair for pair in operations if "Transact" in pair[0])
    for direction, operations in REQUESTS_OF_PARTS.items()
}
"""Those that fail as a whole if one part is throttled."""
THROTTLED_REQUESTS: Final = "ThrottledRequests"
"""Throttled requests by operation, of the table and its indexes together."""
SYSTEM_ERRORS: Final = "SystemErrors"
"""Requests that failed inside DynamoDB, by operation."""
GET_RECORDS: Final = "GetRecords"
REPLICATED: Final = "Source=GlobalTable"
"""Write units of a replica for writes of other Regions; `Source=Customer` has the rest."""

LONGEST_PERIOD_S: Final = 86_400  # longest period of a datapoint
LATENCY: Final = "SuccessfulRequestLatency"
FAILED_CONDITIONS: Final = "ConditionalCheckFailedRequests"
REPLICATION_LATENCY: Final = "ReplicationLatency"
DURATIONS: Final = (LATENCY, REPLICATION_LATENCY)  # in milliseconds; everything else is counted
NOT_READ: Final = ("UserErrors", "ReturnedItemCount", "ReturnedBytes")


def constraint_of(reason: str | None) -> Constraint | None:
    """The constraint that DynamoDB's reason names; None if it is missing or unknown."""
    parsed = parse_reason(reason) if reason else None
    return parsed[2].constraint if parsed else None


# CloudWatch keeps one-minute points 15 days, five-minute points 63 days, hourly points 455 days.
# An answer is waited for, and printed queries are asked later: what ages meanwhile is taken to be older.
ASKED_WITHIN_S: Final = 3_600
_KEPT: Final = ((15 * 86_400, 60), (63 * 86_400, 300), (455 * 86_400, 3_600))


def direction_of(operation: str | None, dimension: str | None) -> Direction | None:
    """Whether an operation reads or writes items; None for others, such as GetRecords."""
    for direction in Direction:
        if (operation, dimension) in (*SINGLE_REQUESTS[direction], *REQUESTS_OF_PARTS[direction]):
            return direction
    return None


def consumed(direction: Direction) -> str:
    """Consumed units; idle minutes have zero points."""
    return f"Consumed{direction.title()}CapacityUnits"


def provisioned(direction: Direction) -> str:
    """Provisioned units per second, every five minutes."""
    return f"Provisioned{direction.title()}CapacityUnits"


def on_demand_maximum(direction: Direction) -> str:
    """The configured on-demand maximum in units per second, every five minutes."""
    return f"OnDemandMax{direction.title()}RequestUnits"


def throttle_events(direction: Direction) -> str:
    """Throttled items or index entries, of any cause."""
    return f"{direction.title()}ThrottleEvents"


def cause_events(direction: Direction, cause: Cause) -> str:
    """Throttled items or index entries of one cause."""
    return f"{direction.title()}{cause.metric}"


SETTINGS: Final = frozenset(
    name(direction) for name in (provisioned, on_demand_maximum) for direction in Direction
)
"""Settings: a point holds until the next one. All other metrics describe one period."""


def split_label(label: str) -> tuple[str | None, str]:
    """Split a query's label into its table (None: not named) and its series key."""
    table, colon, key = label.partition(":")
    return (table, key) if colon and "/" not in table else (None, label)


def is_dimension(text: str) -> bool:
    """Whether a text is a dimension with its value, such as `Verb=PartiQLSelect`."""
    name, _, value = text.partition("=")
    return name.isidentifier() and bool(value) and "/" not in value


_LABEL: Final = re.compile(
    r"(?P<metric>[^/]+)/(?P<statistic>[^/]+)/(?P<period_s>[1-9][0-9]{0,5})"
    r"/(?:table|index=(?P<index>[^/]+)|operation=(?P<operation>[^/]+))(?:/(?P<dimension>.+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesKey:
    """A series: a metric of the table (index and operation None), an index or an operation.

    `dimension` is a further one, such as `Verb=PartiQLSelect`.
    """

    metric: str
    statistic: str
    period_s: int
    index: str | None = None
    operation: str | None = None
    dimension: str | None = None

    @property
    def label(self) -> str:
        """The key as text. After the table's name it is the query's label, so answers name their series."""
        operation = f"operation={self.operation}" if self.operation else "table"
        whose = f"index={self.index}" if self.index else operation
        further = f"/{self.dimension}" if self.dimension else ""
        return f"{self.metric}/{self.statistic}/{self.period_s}/{whose}{further}"

    @classmethod
    def of_label(cls, label: str) -> "SeriesKey | None":
        """Parse a label, with or without its table; None for any other text."""
        match = _LABEL.fullmatch(split_label(label)[1])
        if match is None or (match["dimension"] and not is_dimension(match["dimension"])):
            return None
        fields: dict[str, Any] = match.groupdict()
        return cls(**fields | {"period_s": int(match["period_s"])})

    def query(self, table: str, query_id: str) -> dict[str, Any]:
        """The `MetricDataQuery` for the series."""
        dimensions = [{"Name": "TableName", "Value": table}]
        if self.index:
            dimensions.append({"Name": "GlobalSecondaryIndexName", "Value": self.index})
        if self.operation:
            dimensions.append({"Name": "Operation", "Value": self.operation})
        if self.dimension:
            name, _, value = self.dimension.partition("=")
            dimensions.append({"Name": name, "Value": value})
        return {
            "Id": query_id,
            "Label": f"{table}:{self.label}",
            "MetricStat": {
                "Metric": {"Namespace": NAMESPACE, "MetricName": self.metric, "Dimensions": dimensions},
                "Period": self.period_s,
                "Stat": self.statistic,
            },
            "ReturnData": True,
        }


def carried_s(period_s: int) -> int:
    """How long before a window a setting may be: two periods, at least ten minutes."""
    return 2 * max(period_s, limits.SETTING_PERIOD_S)


def request_start(start: datetime, now: datetime) -> tuple[datetime, int]:
    """StartTime of a window's request, and the finest period in seconds that is still kept.

    It precedes the window, so that settings carry into it, on a full period. The kept period depends on the
    StartTime's age alone, even where a window spans several:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
    """
    first, period_s = start, limits.MINUTE_S
    for kept_s, period_s in _KEPT:
        step_s = max(period_s, limits.SETTING_PERIOD_S)
        first_s = (start.timestamp() - carried_s(period_s)) // step_s * step_s
        first = datetime.fromtimestamp(first_s, UTC)
        if now.timestamp() - first_s < kept_s - ASKED_WITHIN_S:
            break
    return first, period_s


def series_keys(
    indexes: Sequence[str] = (), *, replicas: Sequence[str] = (), finest_period_s: int = limits.MINUTE_S
) -> tuple[SeriesKey, ...]:
    """Every series of a table with these indexes, and replicas in these other Regions."""
    minute, setting = limits.MINUTE_S, limits.SETTING_PERIOD_S
    resources = [{"index": index} for index in (None, *indexes)]
    stream = [{"operation": GET_RECORDS}]  # those who read the table's stream
    operations: list[dict[str, str | None]] = [
        {"operation": operation, "dimension": further}
        for operation in OPERATIONS
        for further in FURTHER.get(operation, (None,))
    ]
    rows: list[tuple[str, str, int, Sequence[Mapping[str, str | None]]]] = []
    for direction in Direction:
        rows += [
            (consumed(direction), "Sum", minute, resources),
            (provisioned(direction), "Minimum", setting, resources),  # unequal: changed within the period
            (provisioned(direction), "Maximum", setting, resources),
            (provisioned(direction), "Average", setting, resources),
            (on_demand_maximum(direction), "Average", setting, resources),
            (throttle_events(direction), "Sum", minute, resources),
            *((cause_events(direction, cause), "Sum", minute, resources) for cause in Cause),
        ]
    rows += [
        (FAILED_CONDITIONS, "Sum", minute, [{}]),
        ("TransactionConflict", "Sum", minute, [{}]),
        (THROTTLED_REQUESTS, "Sum", minute, [*operations, *stream]),
        (SYSTEM_ERRORS, "Sum", minute, [*operations, *stream]),
        (LATENCY, "Average", minute, operations),
        (LATENCY, "SampleCount", minute, operations),
    ]
    if replicas:  # writes from other Regions, and how late each other Region is
        of_region = [{"dimension": f"ReceivingRegion={region}"} for region in replicas]
        replicated = [{**resource, "dimension": REPLICATED} for resource in resources]
        rows.append((consumed(Direction.WRITE), "Sum", minute, replicated))
        rows.append((REPLICATION_LATENCY, "Average", setting, of_region))
    return tuple(
        SeriesKey(metric=metric, statistic=statistic, period_s=max(period_s, finest_period_s), **owner)
        for metric, statistic, period_s, owners in rows
        for owner in owners
    )


_ALL: Final = series_keys(replicas=("any",))
READ: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(key.statistic for key in _ALL if key.metric == name)
    for name in dict.fromkeys(key.metric for key in _ALL)
}
"""Accepted statistics by metric."""


def queries(table: str, keys: Sequence[SeriesKey]) -> list[dict[str, Any]]:
    """GetMetricData queries for the keys; ids are `q0`, `q1` ... in order."""
    return [key.query(table, f"q{number}") for number, key in enumerate(keys)]


def answer_pages(
    client: Any, metric_queries: Sequence[Mapping[str, Any]], start: datetime, end: datetime
) -> Iterator[Mapping[str, Any]]:
    """Pages of GetMetricData for any number of queries. Raises what the client raises."""
    for first in range(0, len(metric_queries), QUERIES_PER_CALL):
        batch = metric_queries[first : first + QUERIES_PER_CALL]
        token: dict[str, str] = {}
        seen: set[str | None] = {None, ""}
        while True:
            page = client.get_metric_data(
                MetricDataQueries=batch, StartTime=start, EndTime=end, ScanBy="TimestampAscending", **token
            )
            yield page
            if (following := page.get("NextToken")) in seen:  # a repeated token would loop forever
                break
            seen.add(following)
            token = {"NextToken": following}


def request_for(
    table: str,
    indexes: Sequence[str] = (),
    *,
    replicas: Sequence[str] = (),
    start: datetime | None = None,
    end: datetime | None = None,
    now: datetime,
) -> dict[str, Any]:
    """A request for `aws cloudwatch get-metric-data --cli-input-json`, with its times if given.

    `start` (of the window) and `now` select the period that is still kept; without them, one minute.
    """
    first, period_s = request_start(start, now) if start else (None, limits.MINUTE_S)
    keys = series_keys(indexes, replicas=replicas, finest_period_s=period_s)
    request = {"MetricDataQueries": queries(table, keys), "ScanBy": "TimestampAscending"}
    if first is None or end is None:
        return request
    return request | {"StartTime": f"{first:%FT%TZ}", "EndTime": f"{end:%FT%TZ}"}
