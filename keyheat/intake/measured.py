"""What a live table was asked for, as CloudWatch counted it: requests by operation, their peak, their size.

hours of the days --> the one that throttled most, else the busiest --> its busiest minute, of those that
throttled if any did: the rates of a scenario. Of an incident, the evidence's own window is that hour.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answer_shape import bounded_pages
from keyheat.intake.tables import NotTaken
from keyheat.model.limits import EVENTUAL_READ_FACTOR
from keyheat.runs.formats import Evidence, HotKey, Window
from keyheat.runs.metrics import LATENCY, NAMESPACE, consumed, throttle_events
from keyheat.words import Direction

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MINUTE_S: Final = 60
MOST_QUERIES: Final = 500
"""Of one GetMetricData: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html"""
TASKS: Final[Mapping[str, str]] = {
    "PutItem": "put",
    "UpdateItem": "update",
    "DeleteItem": "delete",
    "BatchWriteItem": "batch_write",
    "TransactWriteItems": "transact_write",
    "GetItem": "get",
    "Query": "query",
    "BatchGetItem": "batch_get",
    "TransactGetItems": "transact_get",
}
"""Operations that a scenario sends, as its tasks are called."""
FEWEST_THROTTLES: Final = 20  # in an hour, from where on it is the one that a scenario is to repeat
NOT_SENT: Final = ("Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction")
PERMISSION: Final = "cloudwatch:GetMetricData"
Points = Mapping[datetime, float]


@dataclass(frozen=True, slots=True)
class TaskRate:
    """How often one operation was sent to the table or to an index, in the busiest minute and in the mean."""

    operation: str  # DynamoDB's
    per_s: float
    mean_per_s: float
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTraffic:
    """What a table was asked for over some days, and what is not known of it."""

    days: float  # from the first request that was counted to now
    peak_at: datetime  # the busiest minute begins
    tasks: tuple[TaskRate, ...]
    units_per_write: float | None  # of the table in its peak hour; None if not all were single writes
    throttled: bool  # whether the peak hour is the one that throttled most
    metrics_asked: int
    notes: tuple[str, ...]
    hot_keys: tuple[HotKey, ...] = ()  # those that Contributor Insights names in that hour
    period_s: int = MINUTE_S  # of the peak
    hot_share: float | None = None  # assumed of one key, where a partition throttled and no key is named

    @property
    def hour(self) -> Window:
        """The hour that the peak is in."""
        start = self.peak_at.replace(minute=0)
        return Window(start=start, end=start + timedelta(hours=1))

    @property
    def peak_per_s(self) -> float:
        """Requests per second in the busiest minute."""
        return sum(task.per_s for task in self.tasks)

    @property
    def mean_per_s(self) -> float:
        """Requests per second over all days."""
        return sum(task.mean_per_s for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the table, of an operation of it, or of one of its indexes."""

    name: str
    statistic: str
    operation: str | None = None
    index: str | None = None

    def query(self, number: int, table: str, period_s: int) -> dict[str, Any]:
        """The metric as GetMetricData is asked for it."""
        dimensions = {"TableName": table, "Operation": self.operation, "GlobalSecondaryIndexName": self.index}
        said = [{"Name": name, "Value": value} for name, value in dimensions.items() if value]
        metric = {"Namespace": NAMESPACE, "MetricName": self.name, "Dimensions": said}
        stat = {"Metric": metric, "Period": period_s, "Stat": self.statistic}
        return {"Id": f"m{number}", "MetricStat": stat}


def measured(
    cloudwatch: Any, table: str, indexes: Sequence[str], *, days: int, now: datetime
) -> MeasuredTraffic | None:
    """What the table was asked for; None where CloudWatch counts no request in all these days.

    Raises `NotTaken` where CloudWatch may not be asked.
    """
    end = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    start = end - timedelta(days=days)
    sent = [
        Metric(name, "SampleCount" if name == "SuccessfulRequestLatency" else "Sum", operation)
        for operation in (*TASKS, *NOT_SENT)
        for name in ("SuccessfulRequestLatency", "ThrottledRequests")
    ]
    used = [
        Metric(f"Consumed{side}CapacityUnits", "Sum", index=index)
        for index in (None, *indexes)
        for side in ("Read", "Write")
    ]
    ask = _Asking(cloudwatch, table)
    hours = ask.of((*sent, *used), start, end, HOUR_S)
    throttles = [metric for metric in sent if metric.name == "ThrottledRequests"]
    worst = _busiest(hours, throttles)
    throttled = worst is not None and _count(hours, throttles, worst) >= FEWEST_THROTTLES
    busiest = worst if throttled else _busiest(hours, sent)
    if busiest is None:
        return None
    seen_days = (end - min(at for metric in sent for at in hours.get(metric, ()))).total_seconds() / DAY_S
    minutes = ask.of(sent, busiest, busiest + timedelta(hours=1), MINUTE_S)
    peak_at = _peak(minutes, sent, throttles if throttled else ())
    rates = minutes if peak_at is not None else hours  # minutes are kept for fifteen days, hours for longer
    moment, period_s = (peak_at, MINUTE_S) if peak_at is not None else (busiest, HOUR_S)
    return MeasuredTraffic(
        days=seen_days,
        peak_at=moment,
        tasks=tuple(_tasks(hours, rates, moment, period_s, seen_days, indexes)),
        units_per_write=_units_per_write(hours, busiest),
        throttled=throttled,
        metrics_asked=ask.asked,
        notes=tuple(_notes(hours, days)),
    )


@dataclass(slots=True)
class _Asking:
    """GetMetricData for one table, page by page."""

    cloudwatch: Any
    table: str
    asked: int = 0

    def of(
        self, metrics: Sequence[Metric], start: datetime, end: datetime, period_s: int
    ) -> dict[Metric, Points]:
        """The values of each metric by the beginning of their period; one without any is not there."""
        found: dict[Metric, dict[datetime, float]] = {}
        for first in range(0, len(metrics), MOST_QUERIES):
            some = metrics[first : first + MOST_QUERIES]
            queries = [one.query(number, self.table, period_s) for number, one in enumerate(some)]
            for page in self._answered(queries, start, end):
                for result in page["MetricDataResults"]:
                    moments = (at.astimezone(UTC) for at in result["Timestamps"])
                    points = dict(zip(moments, result["Values"], strict=True))
                    if points:
                        found.setdefault(some[int(result["Id"][1:])], {}).update(points)
        return {metric: points for metric, points in found.items()}

    def _answered(self, queries: list[dict[str, Any]], start: datetime, end: datetime) -> Iterator[Any]:
        try:
            yield from bounded_pages("GetMetricData", self._pages(queries, start, end))
        except ClientError as error:
            said = error.response["Error"]
            raise NotTaken(
                f"CloudWatch: {said['Code']}: {said['Message']}. --from-metrics needs {PERMISSION}"
            ) from error
        except BotoCoreError as error:
            raise NotTaken(f"CloudWatch: {error}") from error

    def _pages(self, queries: list[dict[str, Any]], start: datetime, end: datetime) -> Iterator[Any]:
        asked: dict[str, Any] = {"MetricDataQueries": queries, "StartTime": start, "EndTime": end}
        while True:
            self.asked += len(queries)
            page = self.cloudwatch.get_metric_data(**asked)
            yield page
            if not page.get("NextToken"):
                return
            asked["NextToken"] = page["NextToken"]


def incident(evidence: Evidence) -> MeasuredTraffic | None:
    """The demand of a table in its busiest throttled period, by evidence; None without metrics.

    Rates are those of a table at scale 1.
    """
    found = {
        Metric(one.metric, one.statistic, one.operation, one.index): dict(one.points)
        for one in evidence.series
        if one.dimension is None and one.statistic in ("Sum", "SampleCount")
    }
    events = {throttle_events(side) for side in Direction}
    throttles = [metric for metric in found if metric.name in events]
    accepted = [metric for metric in found if metric.name == LATENCY and found[metric]]
    sent = [metric for metric in found if metric.operation in (*TASKS, *NOT_SENT)]
    units = [Metric(name, "Sum") for name in (*map(consumed, Direction), *events)]
    moment = _peak(found, sent if accepted else units, throttles)
    if moment is None:
        return None
    periods = [one.period_s for one in evidence.series if one.metric in map(consumed, Direction)]
    period_s = min(periods, default=MINUTE_S)
    days = (evidence.window.end - evidence.window.start).total_seconds() / DAY_S
    indexes = [index.name for index in evidence.table.indexes]
    scaled_s = period_s * evidence.scale
    tasks = tuple(_tasks(found, found, moment, scaled_s, days * evidence.scale, indexes)) if accepted else ()
    return MeasuredTraffic(
        days=days,
        peak_at=moment,
        tasks=tasks or tuple(_by_units(found, moment, scaled_s, days * evidence.scale)),
        units_per_write=_units_per_write(found, moment),
        throttled=bool(_count(found, throttles, moment)),
        metrics_asked=0,
        notes=() if tasks else ("no operation is counted, so each request is taken for one unit",),
        period_s=period_s,
    )


def _by_units(
    found: Mapping[Metric, Points], moment: datetime, period_s: float, days: float
) -> Iterator[TaskRate]:
    """Single writes and reads of one unit: as many as were consumed, and throttled."""
    for side, operation in ((Direction.WRITE, "PutItem"), (Direction.READ, "GetItem")):
        counted = [Metric(consumed(side), "Sum"), Metric(throttle_events(side), "Sum")]
        mean = sum(sum(found.get(metric, {}).values()) for metric in counted) / (days * DAY_S)
        if mean:
            yield TaskRate(operation, _count(found, counted, moment) / period_s, mean)


def _peak(
    found: Mapping[Metric, Points], sent: Sequence[Metric], throttles: Sequence[Metric]
) -> datetime | None:
    """The busiest of the periods that throttled, else of all; None without any."""
    throttled = {at for metric in throttles for at, count in found.get(metric, {}).items() if count}
    return max(throttled, key=lambda at: (_count(found, sent, at), at), default=_busiest(found, sent))


def _busiest(found: Mapping[Metric, Points], sent: Sequence[Metric]) -> datetime | None:
    """The period with most of these requests; the latest of several, None without any."""
    moments = {at for metric in sent for at, count in found.get(metric, {}).items() if count}
    return max(moments, key=lambda at: (_count(found, sent, at), at), default=None)


def _count(found: Mapping[Metric, Points], sent: Sequence[Metric], at: datetime) -> float:
    return sum(found.get(metric, {}).get(at, 0.0) for metric in sent)


def _tasks(
    hours: Mapping[Metric, Points],
    rates: Mapping[Metric, Points],
    moment: datetime,
    period_s: float,
    days: float,
    indexes: Sequence[str],
) -> Iterator[TaskRate]:
    """Each operation that was sent; queries are the table's and the indexes' by the units that these read."""
    shares = _read_shares(hours, indexes)
    for operation in TASKS:
        peak = sum(points.get(moment, 0.0) for points in _sent(rates, operation)) / period_s
        mean = sum(sum(points.values()) for points in _sent(hours, operation)) / (days * DAY_S)
        if not mean:
            continue
        if operation != "Query":
            yield TaskRate(operation, peak, mean)
            continue
        for index, share in shares.items():
            yield TaskRate(operation, peak * share, mean * share, index)


def _sent(found: Mapping[Metric, Points], operation: str) -> list[Points]:
    return [points for metric, points in found.items() if metric.operation == operation]


def _read_shares(hours: Mapping[Metric, Points], indexes: Sequence[str]) -> dict[str | None, float]:
    """What part of the queries the table and each index have, by the units that they read.

    Of the table's units those of its gets are taken away, as if each were the least that a get costs. The
    table has all where none is counted.
    """
    units = {
        index: sum(hours.get(Metric("ConsumedReadCapacityUnits", "Sum", index=index), {}).values())
        for index in (None, *indexes)
    }
    gets = sum(sum(points.values()) for points in _sent(hours, "GetItem"))
    if any(units[index] for index in indexes):
        units[None] = max(0.0, units[None] - gets * EVENTUAL_READ_FACTOR)
    total = sum(units.values())
    return {index: part / total for index, part in units.items() if part} if total else {None: 1.0}


def _units_per_write(hours: Mapping[Metric, Points], at: datetime) -> float | None:
    """Write units of the table for each single write that was accepted in one hour.

    None where batches or transactions write, too.
    """
    counted = {
        operation: hours.get(Metric("SuccessfulRequestLatency", "SampleCount", operation), {}).get(at, 0.0)
        for operation in TASKS
    }
    single = counted["PutItem"] + counted["UpdateItem"] + counted["DeleteItem"]
    units = hours.get(Metric("ConsumedWriteCapacityUnits", "Sum"), {}).get(at, 0.0)
    if not single or not units or counted["BatchWriteItem"] or counted["TransactWriteItems"]:
        return None
    return units / single


def _notes(hours: Mapping[Metric, Points], days: int) -> Iterator[str]:
    """What was sent and no task sends, and what nobody counted."""
    for operation in NOT_SENT:
        count = sum(sum(points.values()) for points in _sent(hours, operation))
        if count:
            yield f"{count:,.0f} requests of {operation} within {days} days: no task of a scenario sends them"
    for name, what in (("ConsumedWriteCapacityUnits", "writes"), ("ConsumedReadCapacityUnits", "reads")):
        if Metric(name, "Sum") not in hours:
            yield f"CloudWatch has no {name} of these days, so how many units {what} take is not known"
