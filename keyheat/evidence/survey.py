"""Survey a Region for throttled tables, with coarse metrics for all tables."""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import failure_of
from keyheat.evidence.cloudwatch import Sleep
from keyheat.evidence.series import COMPLETE
from keyheat.evidence.table import Target, time_of
from keyheat.masking import masked
from keyheat.numbers import some, span
from keyheat.runs import metrics
from keyheat.runs.formats import Window
from keyheat.runs.metrics import SeriesKey
from keyheat.words import Direction

AT_ONCE: Final = 8  # concurrent DescribeTable calls
PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses after throttled calls, on top of the SDK's own retries."""
LOOKED_AT: Final = (*metrics.OPERATIONS, metrics.GET_RECORDS)
FINE: Final = timedelta(days=1)  # windows up to this length use five-minute periods, others one hour
Result = TypeVar("Result")


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
    missing: tuple[str, ...] = ()  # failures and delays
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


@dataclass(slots=True)
class Patience:
    """Retries throttled calls with growing pauses, and counts throttled and failed calls."""

    sleep: Sleep
    throttled: Counter[str] = field(default_factory=Counter)
    failed: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    waited_s: float = 0.0

    def call(self, name: str, act: Callable[[], Result]) -> Result:
        """Call an operation, with retries. Raises `ClientError`, `BotoCoreError`."""
        for pause_s in PAUSES_S:
            try:
                return act()
            except ClientError as error:
                if failure_of(error) != "throttled":
                    raise
            self.throttled[name] += 1
            self.waited_s += pause_s
            self.sleep(pause_s)
        return act()

    def words(self) -> Iterator[str]:
        """Delays and failures, one line each."""
        if self.throttled:
            what = " and ".join(f"{name} ({some(count, 'time')})" for name, count in self.throttled.items())
            yield f"AWS throttled {what}: the survey waited {span(self.waited_s)} for it"
        for why, names in self.failed.items():
            more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
            yield f"{', '.join(names[:3])}{more}: {why}"


def survey(target: Target, window: Window, *, sleep: Sleep, announce: Callable[[int], None]) -> Survey:
    """Survey every table of the target for throttle events. Failures go to `missing`.

    Calls `announce` with the number of metrics before requesting them. Raises `ValueError` if tables cannot
    be listed.
    """
    patience = Patience(sleep)
    tables = _describe_tables(target, _names(target, patience), patience)
    period_s = _period_s(window, target.now)
    series = [
        (table.name, SeriesKey(metric=events, statistic="Sum", period_s=period_s, index=index))
        for table in tables
        for index in (None, *table.indexes)
        for events in map(metrics.throttle_events, Direction)
    ]
    series += _list_series(target, {table.name for table in tables}, period_s, patience)
    if series:
        announce(len(series))
    throttles, errors = _points(target, series, window, period_s, patience)
    tables_found = [
        replace(table, throttles=throttles[table.name], errors=errors[table.name]) for table in tables
    ]
    tables_found.sort(key=lambda table: (-table.total, -table.errors, table.name))
    return Survey(
        window=window,
        tables=tuple(tables_found),
        period_s=period_s,
        missing=tuple(patience.words()),
        undecided=bool(patience.failed),
    )


def user_errors(target: Target, window: Window) -> float | None:
    """Requests of the whole Region that DynamoDB rejected as invalid; None if unknown.

    The metric has no dimension, so the table is unknown.
    """
    metric = {"Namespace": metrics.NAMESPACE, "MetricName": "UserErrors"}
    period_s = _period_s(window, target.now)
    query = {"Id": "q0", "MetricStat": {"Metric": metric, "Period": period_s, "Stat": "Sum"}}
    try:
        pages = _pages(target.factory("cloudwatch"), [query], window.start, window.end)
    except (BotoCoreError, ClientError):
        return None  # the same call for the table's series reports why
    results = (result for page in pages for result in page["MetricDataResults"])
    return float(sum(sum(result["Values"]) for result in results))


def _names(target: Target, patience: Patience) -> list[str]:
    """Names of all tables, page by page."""
    client, names, after = target.factory("dynamodb"), dict[str, None](), dict[str, str]()
    try:
        while True:
            page = patience.call("ListTables", partial(client.list_tables, **after))
            names |= dict.fromkeys(page["TableNames"])
            if not page.get("LastEvaluatedTableName"):
                break
            after = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
    except (BotoCoreError, ClientError) as error:
        if not names:
            raise ValueError(
                f"the tables of {target.region} cannot be listed: {masked(str(error))}. "
                "Allow dynamodb:ListTables, or name a table: keyheat diagnose TABLE"
            ) from error
        patience.failed[f"not listed: {masked(str(error))}"].append(f"the tables after {[*names][-1]}")
    return list(names)


def _describe_tables(target: Target, names: Sequence[str], patience: Patience) -> list[SurveyedTable]:
    """The tables with the indexes from DescribeTable."""
    client = target.factory("dynamodb")

    def describe(name: str) -> SurveyedTable:
        try:
            answer = patience.call("DescribeTable", lambda: client.describe_table(TableName=name))
        except (BotoCoreError, ClientError) as error:
            patience.failed[f"indexes not looked at: {_code(error)}"].append(name)
            return SurveyedTable(name)
        indexes = answer["Table"].get("GlobalSecondaryIndexes") or ()
        names = tuple(index["IndexName"] for index in indexes)
        return SurveyedTable(name, names, created=time_of(answer["Table"].get("CreationDateTime")))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(describe, names))


def _code(error: BotoCoreError | ClientError) -> str:
    """An error message without the table, so that many tables share one line."""
    if isinstance(error, ClientError):
        return f"{error.operation_name} answered {error.response['Error']['Code']}"
    return masked(str(error))


def _period_s(window: Window, now: datetime) -> int:
    _first, kept_s = metrics.request_start(window.start, now)
    return max(kept_s, 300 if window.end - window.start <= FINE else 3_600)


def _list_series(
    target: Target, tables: Container[str], period_s: int, patience: Patience
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
            listed = patience.call("ListMetrics", pages.build_full_result)["Metrics"]
        except (BotoCoreError, ClientError) as error:
            patience.failed[f"not looked for: {_code(error)}"].append(metric)
            continue
        for each in listed:
            named = {dimension["Name"]: dimension["Value"] for dimension in each["Dimensions"]}
            operation = named.get("Operation")
            if len(named) == 2 and named.get("TableName") in tables and operation in LOOKED_AT:
                key = SeriesKey(metric=metric, statistic="Sum", period_s=period_s, operation=operation)
                series[named["TableName"], key] = None
    return list(series)


def _pages(client: Any, queries: Sequence[Any], start: datetime, end: datetime) -> list[Mapping[str, Any]]:
    return list(metrics.answer_pages(client, queries, start, end))


def _points(
    target: Target, series: Sequence[tuple[str, SeriesKey]], window: Window, period_s: int, patience: Patience
) -> tuple[Mapping[str, Mapping[datetime, float]], Mapping[str, float]]:
    """Throttles by table and period, and errors by table, with 500 series per request."""
    client = target.factory("cloudwatch")
    owners = {f"q{number}": owner for number, owner in enumerate(series)}
    queries = [key.query(table, f"q{number}") for number, (table, key) in enumerate(series)]
    start = datetime.fromtimestamp(window.start.timestamp() // period_s * period_s, UTC)
    throttles: defaultdict[str, dict[datetime, float]] = defaultdict(dict)
    errors = defaultdict[str, float](float)
    for first in range(0, len(queries), metrics.QUERIES_PER_CALL):
        batch = queries[first : first + metrics.QUERIES_PER_CALL]
        try:
            pages = patience.call("GetMetricData", partial(_pages, client, batch, start, window.end))
        except (BotoCoreError, ClientError) as error:
            names = dict.fromkeys(owners[query["Id"]][0] for query in batch)
            patience.failed[f"throttles not known: {_code(error)}"].extend(names)
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
        lacking = dict.fromkeys(owners[query["Id"]][0] for query in batch if query["Id"] not in complete)
        if lacking:
            patience.failed["throttles not all known: CloudWatch's answer is not complete"].extend(lacking)
    return throttles, errors
