"""Survey a Region for throttled tables, with coarse metrics for all tables."""

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.series import COMPLETE
from keyheat.evidence.table import Target, time_of
from keyheat.masking import masked
from keyheat.runs import metrics
from keyheat.runs.formats import Window
from keyheat.runs.metrics import SeriesKey
from keyheat.words import Direction

AT_ONCE: Final = 8  # concurrent DescribeTable calls
LOOKED_AT: Final = (*metrics.OPERATIONS, metrics.GET_RECORDS)
FINE: Final = timedelta(days=1)  # windows up to this length use five-minute periods, others one hour
Failed = defaultdict[str, list[str]]
"""Names of tables or metrics by why they are unknown."""


@dataclass(frozen=True, slots=True)
class SurveyedTable:
    """A table, its global indexes, and its throttles by period start.

    Throttles are events of the table and its indexes, and requests of stream readers.
    """

    name: str
    indexes: tuple[str, ...] = ()
    throttles: Mapping[datetime, float] = field(default_factory=dict)
    errors: float = 0.0  # requests with a system error
    created: datetime | None = None  # None: unknown

    @property
    def total(self) -> float:
        """Throttles in the window."""
        return sum(self.throttles.values())

    @property
    def troubled(self) -> bool:
        """Whether there were throttles or system errors."""
        return bool(self.total or self.errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The tables of a Region, the worst first: most throttles, then most errors."""

    window: Window
    tables: tuple[SurveyedTable, ...]
    period_s: int
    missing: tuple[str, ...] = ()  # failures
    undecided: bool = False  # throttles of some table may be missing

    @property
    def troubled(self) -> tuple[SurveyedTable, ...]:
        """The tables with throttles or errors, the worst first."""
        return tuple(table for table in self.tables if table.troubled)

    @property
    def created_later(self) -> tuple[SurveyedTable, ...]:
        """Tables created after the window, unless an earlier table of that name throttled in it."""
        return tuple(
            table for table in self.tables
            if table.created is not None and table.created >= self.window.end and not table.troubled
        )  # fmt: skip


def survey(target: Target, window: Window, *, announce: Callable[[int], None]) -> Survey:
    """Survey every table of the target for throttle events. Failures go to `missing`.

    Calls `announce` with the number of metrics before requesting them. Raises `ValueError` if tables cannot
    be listed.
    """
    failed = Failed(list)
    tables = _describe_tables(target, failed)
    period_s = _period_s(window, target.now)
    series = [
        (table.name, SeriesKey(metric=events, statistic="Sum", period_s=period_s, index=index))
        for table in tables
        for index in (None, *table.indexes)
        for events in map(metrics.throttle_events, Direction)
    ]
    series += _list_series(target, {table.name for table in tables}, period_s, failed)
    if series:
        announce(len(series))
    throttles, errors = _points(target, series, window, period_s, failed)
    surveyed = [replace(each, throttles=throttles[each.name], errors=errors[each.name]) for each in tables]
    missing = []
    for why, names in failed.items():
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        missing.append(f"{', '.join(names[:3])}{more}: {why}")
    return Survey(
        window=window,
        tables=tuple(sorted(surveyed, key=lambda table: (-table.total, -table.errors, table.name))),
        period_s=period_s,
        missing=tuple(missing),
        undecided=bool(failed),
    )


def user_errors(target: Target, window: Window) -> float | None:
    """Requests of the whole Region that DynamoDB rejected as invalid; None if unknown.

    The metric has no dimension, so the table is unknown.
    """
    metric = {"Namespace": metrics.NAMESPACE, "MetricName": "UserErrors"}
    period_s = _period_s(window, target.now)
    query = {"Id": "q0", "MetricStat": {"Metric": metric, "Period": period_s, "Stat": "Sum"}}
    try:
        pages = list(metrics.answer_pages(target.factory("cloudwatch"), [query], window.start, window.end))
    except (BotoCoreError, ClientError):
        return None  # the same call for the table's series reports why
    results = (result for page in pages for result in page["MetricDataResults"])
    return float(sum(sum(result["Values"]) for result in results))


def _describe_tables(target: Target, failed: Failed) -> list[SurveyedTable]:
    """All tables, page by page, with the indexes from DescribeTable."""
    client, names = target.factory("dynamodb"), list[str]()
    try:
        for page in client.get_paginator("list_tables").paginate():
            names += page["TableNames"]
    except (BotoCoreError, ClientError) as error:
        if not names:
            raise ValueError(
                f"the tables of {target.region} cannot be listed: {masked(str(error))}. "
                "Allow dynamodb:ListTables, or name a table: keyheat diagnose TABLE"
            ) from error
        failed[f"not listed: {masked(str(error))}"].append(f"the tables after {names[-1]}")

    def describe(name: str) -> SurveyedTable:
        try:
            table = client.describe_table(TableName=name)["Table"]
        except (BotoCoreError, ClientError) as error:
            failed[f"indexes not looked at: {_code(error)}"].append(name)
            return SurveyedTable(name)
        indexes = tuple(index["IndexName"] for index in table.get("GlobalSecondaryIndexes") or ())
        return SurveyedTable(name, indexes, created=time_of(table.get("CreationDateTime")))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(describe, dict.fromkeys(names)))


def _code(error: BotoCoreError | ClientError) -> str:
    """An error message without the table, so that many tables share one line."""
    if isinstance(error, ClientError):
        return f"{error.operation_name} answered {error.response['Error']['Code']}"
    return masked(str(error))


def _period_s(window: Window, now: datetime) -> int:
    _first, kept_s = metrics.request_start(window.start, now)
    return max(kept_s, 300 if window.end - window.start <= FINE else 3_600)


def _list_series(
    target: Target, tables: Container[str], period_s: int, failed: Failed
) -> list[tuple[str, SeriesKey]]:
    """Series of system errors and of throttled stream readers, if CloudWatch has any.

    Most tables have neither: listing them takes two calls, requesting them one per operation and
    table.
    """
    paginator = target.factory("cloudwatch").get_paginator("list_metrics")
    of_stream = [{"Name": "Operation", "Value": metrics.GET_RECORDS}]
    series = dict[tuple[str, SeriesKey], None]()
    for metric, dimensions in ((metrics.SYSTEM_ERRORS, []), (metrics.THROTTLED_REQUESTS, of_stream)):
        pages = paginator.paginate(Namespace=metrics.NAMESPACE, MetricName=metric, Dimensions=dimensions)
        try:
            listed = pages.build_full_result()["Metrics"]
        except (BotoCoreError, ClientError) as error:
            failed[f"not looked for: {_code(error)}"].append(metric)
            continue
        for each in listed:
            named = {dimension["Name"]: dimension["Value"] for dimension in each["Dimensions"]}
            operation = named.get("Operation")
            if len(named) == 2 and named.get("TableName") in tables and operation in LOOKED_AT:
                key = SeriesKey(metric=metric, statistic="Sum", period_s=period_s, operation=operation)
                series[named["TableName"], key] = None
    return list(series)


def _points(
    target: Target, series: Sequence[tuple[str, SeriesKey]], window: Window, period_s: int, failed: Failed
) -> tuple[Mapping[str, Mapping[datetime, float]], Mapping[str, float]]:
    """Throttles by table and period, and errors by table, with 500 series per request."""
    client = target.factory("cloudwatch")
    start = datetime.fromtimestamp(window.start.timestamp() // period_s * period_s, UTC)
    throttles: defaultdict[str, dict[datetime, float]] = defaultdict(dict)
    errors = defaultdict[str, float](float)
    for first in range(0, len(series), metrics.QUERIES_PER_CALL):
        owners = {f"q{n}": owner for n, owner in enumerate(series[first : first + metrics.QUERIES_PER_CALL])}
        queries = [key.query(table, query_id) for query_id, (table, key) in owners.items()]
        try:
            pages = list(metrics.answer_pages(client, queries, start, window.end))
        except (BotoCoreError, ClientError) as error:
            tables = dict.fromkeys(table for table, _key in owners.values())
            failed[f"throttles not known: {_code(error)}"].extend(tables)
            continue
        complete = set[str]()
        for result in (result for page in pages for result in page["MetricDataResults"]):
            table, key = owners[result["Id"]]
            if result.get("StatusCode", COMPLETE) == COMPLETE:
                complete.add(result["Id"])
            if key.metric == metrics.SYSTEM_ERRORS:
                errors[table] += sum(result["Values"])
                continue
            for at, value in zip(result["Timestamps"], result["Values"], strict=True):
                throttles[table][at] = throttles[table].get(at, 0.0) + value
        lacking = dict.fromkeys(owners[query_id][0] for query_id in owners.keys() - complete)
        if lacking:
            failed["throttles not all known: CloudWatch's answer is not complete"].extend(sorted(lacking))
    return throttles, errors
