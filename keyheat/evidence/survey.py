"""Which tables of a Region throttled: all are listed, and their throttle events are requested coarsely."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answer_shape import bounded_pages
from keyheat.evidence.clients import failure_of
from keyheat.evidence.cloudwatch import Sleep, pages_of
from keyheat.evidence.series import COMPLETE
from keyheat.evidence.table import time_of
from keyheat.evidence.target import Target
from keyheat.masking import masked
from keyheat.numbers import some, span
from keyheat.runs import metrics
from keyheat.runs.formats import Window
from keyheat.runs.metrics import SeriesKey
from keyheat.words import Direction

AT_ONCE: Final = 8  # tables that are described at a time
PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""How long to wait after each throttled call, on top of the SDK's own retries."""
FINE: Final = timedelta(days=1)  # windows up to this length are surveyed by five minutes, others by the hour
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SurveyedTable:
    """A table with its global indexes, and its throttle events by the start of their period."""

    name: str
    indexes: tuple[str, ...] = ()
    throttles: Mapping[datetime, float] = field(default_factory=dict)
    created: datetime | None = None  # None if DescribeTable does not tell

    @property
    def total(self) -> float:
        """Throttle events of the table and its indexes in the window."""
        return sum(self.throttles.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The tables of a Region, those that throttled first, the worst at the front."""

    window: Window
    tables: tuple[SurveyedTable, ...]
    period_s: int
    missing: tuple[str, ...] = ()  # what could not be had, and what was slow
    undecided: bool = False  # whether throttles of some table may not have been seen

    @property
    def throttled(self) -> tuple[SurveyedTable, ...]:
        """The tables that throttled, the worst first."""
        return tuple(table for table in self.tables if table.total)

    @property
    def created_later(self) -> tuple[SurveyedTable, ...]:
        """The tables that were created after the window, unless a former one of that name throttled in it."""
        return tuple(
            table for table in self.tables
            if table.created is not None and table.created >= self.window.end and not table.total
        )  # fmt: skip


@dataclass(slots=True)
class Patience:
    """Repeats throttled calls, more slowly each time, and keeps count of what was throttled and denied."""

    sleep: Sleep
    throttled: Counter[str] = field(default_factory=Counter)
    failed: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    waited_s: float = 0.0

    def call(self, name: str, act: Callable[[], Result]) -> Result:
        """The result of a call of an operation. Raises `ClientError`, `BotoCoreError`."""
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
        """What was slow, and what could not be had, a line each."""
        if self.throttled:
            what = " and ".join(f"{name} ({some(count, 'time')})" for name, count in self.throttled.items())
            yield f"AWS throttled {what}: the survey waited {span(self.waited_s)} for it"
        for why, names in self.failed.items():
            more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
            yield f"{', '.join(names[:3])}{more}: {why}"


def survey(target: Target, window: Window, *, sleep: Sleep, announce: Callable[[int], None]) -> Survey:
    """Every table of the target with its throttle events. What cannot be had is `missing`.

    `announce` is told how many metrics are requested before they are. Raises `ValueError` where tables cannot
    be listed.
    """
    patience = Patience(sleep)
    tables = _described(target, _names(target, patience), patience)
    period_s = _period_s(window, target.now)
    series = [(table.name, key) for table in tables for key in _keys(table.indexes, period_s)]
    if series:
        announce(len(series))
    points = _points(target, series, window, period_s, patience)
    found = [replace(table, throttles=points.get(table.name, {})) for table in tables]
    found.sort(key=lambda table: (-table.total, table.name))
    return Survey(
        window=window,
        tables=tuple(found),
        period_s=period_s,
        missing=tuple(patience.words()),
        undecided=bool(patience.failed),
    )


def user_errors(target: Target, window: Window) -> float | None:
    """Requests of the whole Region that DynamoDB refused as wrong; None if CloudWatch does not say.

    The metric has no dimension: nobody can say which table they were for.
    """
    metric = {"Namespace": metrics.NAMESPACE, "MetricName": "UserErrors"}
    period_s = _period_s(window, target.now)
    query = {"Id": "q0", "MetricStat": {"Metric": metric, "Period": period_s, "Stat": "Sum"}}
    try:
        pages = _pages(target.factory("cloudwatch"), [query], window.start, window.end)
    except (BotoCoreError, ClientError):
        return None  # the same call for the table's series has said why
    results = (result for page in pages for result in page["MetricDataResults"])
    return float(sum(sum(result["Values"]) for result in results))


def _names(target: Target, patience: Patience) -> list[str]:
    """The names of all tables, page by page."""
    client, names, after = target.factory("dynamodb"), list[str](), dict[str, str]()

    def pages() -> Iterator[Mapping[str, Any]]:
        while True:
            page = patience.call("ListTables", lambda: client.list_tables(**after))
            yield page
            if not page.get("LastEvaluatedTableName"):
                return
            after["ExclusiveStartTableName"] = page["LastEvaluatedTableName"]

    try:
        for page in bounded_pages("ListTables", pages()):
            names += page["TableNames"]
    except (BotoCoreError, ClientError) as error:
        if not names:
            raise ValueError(
                f"the tables of {target.region} cannot be listed: {masked(str(error))}. "
                "Allow dynamodb:ListTables, or name a table: keyheat diagnose TABLE"
            ) from error
        patience.failed[f"not listed: {masked(str(error))}"].append(f"the tables after {names[-1]}")
    return list(dict.fromkeys(names))


def _described(target: Target, names: Sequence[str], patience: Patience) -> list[SurveyedTable]:
    """The tables with the indexes that DescribeTable names."""
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
    """The error without its table, so that many tables share one line."""
    if isinstance(error, ClientError):
        return f"{error.operation_name} answered {error.response['Error']['Code']}"
    return masked(str(error))


def _period_s(window: Window, now: datetime) -> int:
    _first, kept_s = metrics.asked_from(window.start, now)
    return max(kept_s, 300 if window.end - window.start <= FINE else 3_600)


def _keys(indexes: Sequence[str], period_s: int) -> Iterator[SeriesKey]:
    for index in (None, *indexes):
        for direction in Direction:
            yield SeriesKey(
                metric=metrics.throttle_events(direction), statistic="Sum", period_s=period_s, index=index
            )


def _pages(client: Any, queries: Sequence[Any], start: datetime, end: datetime) -> list[Mapping[str, Any]]:
    return list(bounded_pages("GetMetricData", pages_of(client, queries, start, end)))


def _points(
    target: Target,
    series: Sequence[tuple[str, SeriesKey]],
    window: Window,
    period_s: int,
    patience: Patience,
) -> dict[str, dict[datetime, float]]:
    """Throttle events by table and period, 500 series at a time."""
    client = target.factory("cloudwatch")
    owners = {f"q{number}": table for number, (table, _key) in enumerate(series)}
    queries = [key.query(table, f"q{number}") for number, (table, key) in enumerate(series)]
    start = datetime.fromtimestamp(window.start.timestamp() // period_s * period_s, UTC)
    found: defaultdict[str, dict[datetime, float]] = defaultdict(dict)
    for first in range(0, len(queries), metrics.QUERIES_PER_CALL):
        batch = queries[first : first + metrics.QUERIES_PER_CALL]
        try:
            pages = patience.call("GetMetricData", partial(_pages, client, batch, start, window.end))
        except (BotoCoreError, ClientError) as error:
            names = dict.fromkeys(owners[query["Id"]] for query in batch)
            patience.failed[f"throttles not known: {_code(error)}"].extend(names)
            continue
        complete = set[str]()
        for result in (result for page in pages for result in page["MetricDataResults"]):
            table = found[owners[result["Id"]]]
            if result.get("StatusCode", COMPLETE) == COMPLETE:
                complete.add(result["Id"])
            for at, value in zip(result["Timestamps"], result["Values"], strict=True):
                table[at] = table.get(at, 0.0) + value
        lacking = dict.fromkeys(owners[query["Id"]] for query in batch if query["Id"] not in complete)
        if lacking:
            patience.failed["throttles not all known: CloudWatch's answer is not complete"].extend(lacking)
    return dict(found)
