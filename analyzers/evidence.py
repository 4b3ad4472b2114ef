"""Evidence about a run or a table: what CloudWatch and DescribeTable answer, and what the client saw.

The one module that talks to AWS for the analyzer. GetMetricData reference:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from analyzers import metrics, waiting
from analyzers.answers import Points, add_result, from_cli_output, series_of
from analyzers.client import NO_RECORDS, Records, read_records
from analyzers.facts import account_facts, table_facts
from analyzers.formats import AccountFacts, Evidence, TableFacts, Window
from analyzers.manifest import Manifest, read_manifest
from analyzers.metrics import SeriesKey
from analyzers.waiting import Clock, Pace, Progress, Sleep
from tablemodel import limits

QUERIES_PER_CALL: Final = 500
CARRIED_S: Final = (
    2 * limits.SETTING_PERIOD_S
)  # how far before the window a five-minute setting is looked for
MINUTE: Final = timedelta(minutes=1)

__all__ = ["boto3_clients", "collect", "collect_table", "from_cli_output", "run_window"]

ClientFactory = Callable[[str], Any]
"""Makes a boto3 client of the named service: `dynamodb` or `cloudwatch`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What CloudWatch answered to all the queries, and what went wrong on the way."""

    points: Points
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of a table; `reached` is whether the service answered at all, be it with a refusal."""

    table: TableFacts
    account: AccountFacts | None
    missing: tuple[str, ...] = ()
    reached: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where evidence comes from and how to wait for it: clients, clock, sleep and progress."""

    client_factory: ClientFactory
    pace: Pace
    clock: Clock = time.time
    sleep: Sleep = time.sleep
    progress: Progress = field(default=waiting.silent)


def boto3_clients(
    *, region: str | None = None, endpoint_url: str | None = None, local: bool = False
) -> ClientFactory:
    """Plain boto3 clients. The local endpoint takes any credentials, so it gets some that are nobody's."""
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"} if local else {}
    config = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 4, "mode": "standard"})
    if local and not region:
        region = "us-east-1"
    return lambda service: boto3.client(
        service, region_name=region, endpoint_url=endpoint_url, config=config, **keys
    )


def collect(
    run_dir: Path,
    *,
    client_factory: ClientFactory | None = None,
    clock: Clock = time.time,
    sleep: Sleep = time.sleep,
    progress: Progress = waiting.silent,
) -> Evidence:
    """Evidence of a run, once the minutes of its window are published (or the wait for them is over).

    A missing or damaged file of the run is left out and said so in `missing`; only the manifest is needed,
    because it names the table and the time. Raises `FileProblem` where the manifest cannot be read.
    """
    run = read_manifest(run_dir)
    factory = client_factory or boto3_clients(
        region=run.region, endpoint_url=run.endpoint_url, local=run.local
    )
    pace = waiting.LOCAL if run.local else waiting.CLOUD
    source = Source(client_factory=factory, pace=pace, clock=clock, sleep=sleep, progress=progress)
    return _gather(
        source, run.table, run_window(run, clock()), read_records(run_dir), _unfinished(run), run.scale
    )


def collect_from_cli(run_dir: Path, content: object, *, now_s: float) -> Evidence:
    """Evidence of a run from what the AWS CLI printed for its queries. Raises `FileProblem`, `ValueError`."""
    run = read_manifest(run_dir)
    found = from_cli_output(
        content, table=run.table, window=run_window(run, now_s), records=read_records(run_dir)
    )
    return found.model_copy(update={"scale": run.scale, "missing": (*_unfinished(run), *found.missing)})


def collect_table(
    table: str,
    start: datetime,
    end: datetime,
    *,
    client_factory: ClientFactory | None = None,
    clock: Clock = time.time,
    sleep: Sleep = time.sleep,
    progress: Progress = waiting.silent,
) -> Evidence:
    """Evidence of any table over any window, from AWS alone."""
    factory = client_factory or boto3_clients()
    source = Source(client_factory=factory, pace=waiting.CLOUD, clock=clock, sleep=sleep, progress=progress)
    return _gather(source, TableFacts(name=table), Window(start=start, end=end), NO_RECORDS, (), 1.0)


def run_window(run: Manifest, now_s: float) -> Window:
    """From the minute in which the run started to the end of the minute in which it ended (killed: now)."""
    ended = run.ended_at or max(datetime.fromtimestamp(now_s, UTC), run.started_at)
    start = run.started_at.replace(second=0, microsecond=0)
    whole = ended.replace(second=0, microsecond=0)
    end = whole if whole == ended and whole > start else whole + MINUTE
    return Window(start=start, end=max(end, start + MINUTE))


def _gather(
    source: Source, table: TableFacts, window: Window, records: Records, missing: Sequence[str], scale: float
) -> Evidence:
    described = _describe(source.client_factory, table)
    answer = (_published if described.reached else _at_once)(source, described.table, window)
    return Evidence(
        table=described.table,
        account=described.account,
        window=window,
        series=series_of(answer.points, window),
        throttles=records.throttles,
        seconds=records.seconds,
        scale=scale,
        missing=(*missing, *described.missing, *answer.problems, *records.missing),
    )


def _describe(factory: ClientFactory, known: TableFacts) -> Described:
    """The table as the run found it, else as it is now, and its quotas."""
    facts, account = known, None
    try:
        client = factory("dynamodb")
        if known.billing_mode is None:
            facts = table_facts(client.describe_table(TableName=known.name)["Table"])
        account = account_facts(client.describe_limits())
    except (BotoCoreError, ClientError) as error:
        missing = (f"facts about the table: {error}",)
        return Described(facts, account, missing, reached=isinstance(error, ClientError))
    return Described(facts, account)


def _at_once(source: Source, table: TableFacts, window: Window) -> Answer:
    """CloudWatch's answer without waiting: where the service cannot be reached, no wait will help."""
    return _ask(source.client_factory, table.name, _keys(table, window, source.clock()), window)


def _published(source: Source, table: TableFacts, window: Window) -> Answer:
    """CloudWatch's answer once the last minute is there and two polls agree, or when the wait is over."""
    end_s = window.end.timestamp()
    give_up_s = end_s + source.pace.limit_s
    keys = _keys(table, window, source.clock())
    _count_down(source, end_s, "the last minute of the run to close")
    previous: Answer | None = None
    while True:
        answer = _ask(source.client_factory, table.name, keys, window)
        complete = _reaches_end(answer.points, window)
        if complete and previous is not None and answer.points == previous.points:
            return answer
        now_s = source.clock()
        if now_s >= give_up_s or (answer.problems and not answer.points):
            return (
                answer
                if complete
                else Answer(answer.points, (*answer.problems, *_late(answer, end_s, now_s)))
            )
        previous = answer
        _count_down(
            source, min(now_s + source.pace.poll_s, give_up_s), "CloudWatch to publish the last minute"
        )


def _count_down(source: Source, until_s: float, what: str) -> None:
    waiting.countdown(until_s, what, clock=source.clock, sleep=source.sleep, progress=source.progress)


def _keys(table: TableFacts, window: Window, now_s: float) -> tuple[SeriesKey, ...]:
    finest_period_s = metrics.kept_period_s(window.start, datetime.fromtimestamp(now_s, UTC))
    return metrics.series_keys([index.name for index in table.indexes], finest_period_s=finest_period_s)


def _reaches_end(points: Points, window: Window) -> bool:
    """Whether the table's consumption, published for idle minutes too, is there for the last minute."""
    return any(
        key.index is None
        and key.metric in (metrics.consumed("read"), metrics.consumed("write"))
        and any(at + timedelta(seconds=key.period_s) >= window.end for at in found)
        for key, found in points.items()
    )


def _late(answer: Answer, end_s: float, now_s: float) -> tuple[str, ...]:
    if answer.problems:
        return ()
    return (f"CloudWatch: the last minute was not published {now_s - end_s:.0f} s after it closed",)


def _ask(factory: ClientFactory, table: str, keys: Sequence[SeriesKey], window: Window) -> Answer:
    """Every series of the window, page by page. Without an answer: no points, and the problem in words."""
    points: Points = {}
    problems: set[str] = set()
    try:
        client = factory("cloudwatch")
        for result in _results(client, metrics.queries(table, keys), window):
            add_result(points, result)
            if result.get("StatusCode", "Complete") not in ("Complete", "PartialData"):
                problems.add(f"CloudWatch: {result['StatusCode']} for {result['Label']}")
    except (BotoCoreError, ClientError) as error:
        problems.add(f"CloudWatch: {error}")
    return Answer(points, tuple(sorted(problems)))


def _results(
    client: Any, queries: Sequence[Mapping[str, Any]], window: Window
) -> Iterator[Mapping[str, Any]]:
    floor_s = (window.start.timestamp() - CARRIED_S) // CARRIED_S * CARRIED_S
    start = datetime.fromtimestamp(floor_s, UTC)
    for first in range(0, len(queries), QUERIES_PER_CALL):
        request = {
            "MetricDataQueries": queries[first : first + QUERIES_PER_CALL],
            "StartTime": start,
            "EndTime": window.end,
            "ScanBy": "TimestampAscending",
        }
        token: dict[str, str] = {}
        while True:
            page = client.get_metric_data(**request, **token)
            yield from page["MetricDataResults"]
            if not page.get("NextToken"):
                break
            token = {"NextToken": page["NextToken"]}


def _unfinished(run: Manifest) -> tuple[str, ...]:
    if run.ended_at is not None:
        return ()
    return (f"the end of the run: run.json says it is {run.status}",)
