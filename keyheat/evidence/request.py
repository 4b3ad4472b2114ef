"""Evidence requests: a run or table, answered from CloudWatch or from files."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from keyheat.evidence import collection
from keyheat.evidence.clients import boto3_clients, is_local
from keyheat.evidence.cloudwatch import CLOUD_PACE, LOCAL_PACE, Clock, MetricSource, Progress
from keyheat.evidence.logged import ThrottleLog, read_logs
from keyheat.evidence.metric_files import MetricReader
from keyheat.evidence.series import MetricAnswer
from keyheat.evidence.table import facts_during, with_indexes
from keyheat.numbers import some
from keyheat.runfiles import FileProblem, parsed_json
from keyheat.runs.client import NO_RECORDS
from keyheat.runs.formats import Evidence, Window
from keyheat.runs.manifest import read_manifest
from keyheat.runs.plausibility import KEPT, sound
from keyheat.runs.table_facts import TableFacts, region_of_arn
from keyheat.shipped import RUN_FILES, require
from keyheat.validation import table_in

SOON = timedelta(minutes=1)  # a window may end with the current minute


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRequest:
    """The subject of a request: a run directory, or a table with a window.

    `metrics` are metric files, and `described` AWS CLI output, for use without access; `region`, `profile`
    and `endpoint_url` select another target. `logs` are an application's logs; with `metrics` or `logs`,
    their own time is the default window.
    """

    folder: Path | None = None
    table: str | None = None
    indexes: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    last: timedelta | None = None  # the time up to now, in place of start and end
    region: str | None = None
    profile: str | None = None
    endpoint_url: str | None = None
    metrics: tuple[Path, ...] = ()
    named: tuple[tuple[str, str], ...] = ()  # file name and series label
    logs: tuple[Path, ...] = ()
    zone: tzinfo | None = None  # of times in files that have none
    described: Path | None = None
    show_keys: bool = False


def evidence_for(request: EvidenceRequest, *, clock: Clock, progress: Progress) -> Evidence:
    """Fetch the requested evidence.

    Raises `ValueError` for a request that cannot be met (`UnknownEndpoint` if only a file names the
    endpoint), and `FileProblem`.
    """
    check_options(request)
    if request.folder is not None:
        require("report", RUN_FILES)
        if request.metrics:
            answer = _metrics(request, read_manifest(request.folder).table)
            return collection.collect_from_files(request.folder, answer, now_s=clock())
        return collection.collect(
            request.folder, endpoint_url=request.endpoint_url, clock=clock, progress=progress,
            show_keys=request.show_keys,
        )  # fmt: skip
    log = read_logs(request.logs, request.zone) if request.logs else None
    name = request.table or logged_table(log)
    facts = with_indexes(TableFacts(name=name, replicas=request.replicas), request.indexes)
    now = datetime.fromtimestamp(clock(), UTC)
    if request.metrics:
        return sound(_of_files(request, facts, log, now))
    window = _window(request, log.around(now) if log else None, now)
    local = is_local(request.endpoint_url)
    source = MetricSource(
        client_factory=boto3_clients(
            region=request.region, profile=request.profile, endpoint_url=request.endpoint_url, local=local
        ),
        local=local, pace=LOCAL_PACE if local else CLOUD_PACE, clock=clock, progress=progress,
        show_keys=request.show_keys,
    )  # fmt: skip
    evidence = collection.collect_table(
        source, facts, window,
        wait=bool(request.end) or (log is not None and not request.start and not request.last),
        records=log.records_of(name, request.region, window) if log else NO_RECORDS,
    )  # fmt: skip
    return sound(evidence)


def logged_table(log: ThrottleLog | None) -> str:
    """The only table in the logs. Raises `ValueError` for none or several."""
    tables = log.tables if log else {}
    if len(tables) == 1:
        return next(iter(tables))
    if log is not None and not log.counts:
        read = some(log.records, "record")
        raise ValueError(f"no throttle in {read} of the logs; are they an application's exceptions?")
    if log is None:
        raise ValueError(
            "name a run or table: --run DIR, --table T --last 3h, or --table T --start A --end B"
        )
    named = ", ".join(f"{name} ({count:,})" for name, count in tables.items())
    if named:
        raise ValueError(f"the logs have throttles of several tables: {named}; name the table")
    raise ValueError(f"{some(log.unnamed, 'throttle')} in the logs without an ARN; name the table")


def _of_files(
    request: EvidenceRequest, facts: TableFacts, log: ThrottleLog | None, now: datetime
) -> Evidence:
    """Build evidence from files alone, without any call."""
    described = _described(request, facts, Window(start=now - SOON, end=now))[0]
    files = _metrics(request, with_indexes(facts, (index.name for index in described.indexes)))
    window, there = _window(request, files.window or (log.window if log else None), now), files.window
    if there is not None and (there.end <= window.start or window.end <= there.start):
        raise ValueError(
            f"no point of the metrics is within {window.start:%FT%RZ} to {window.end:%FT%RZ}: they are of "
            f"{there.start:%FT%RZ} to {there.end:%FT%RZ}"
        )
    table, missing = _described(request, facts, window)
    region = request.region or table.region or region_of_arn(table.arn or "")
    if log is not None and table.arn is None:
        table = table.model_copy(update={"region": region or log.region_of(table.name)})
    records = log.records_of(table.name, region, window) if log else NO_RECORDS
    evidence = collection.from_answer(files, table=table, window=window, records=records)
    return evidence.model_copy(update={"missing": (*missing, *evidence.missing)})


def _metrics(request: EvidenceRequest, table: TableFacts) -> MetricAnswer:
    return MetricReader(table=table, zone=request.zone, named=dict(request.named)).read(request.metrics)


def _window(request: EvidenceRequest, of_files: Window | None, now: datetime) -> Window:
    """The requested window, else that of the files; an open one ends with the last full minute."""
    start, end = request.start, request.end or now.replace(second=0, microsecond=0)
    if not (request.start or request.end or request.last) and of_files is not None:
        start, end = of_files.start, of_files.end
    elif request.metrics and start is None:
        raise ValueError("the metrics have no points: give the time they are of with --start A --end B")
    elif request.last and start is None:
        start = end - request.last
    if start is None:
        raise ValueError("give the time: --last 3h, or --start A --end B")
    return window_of(start, end, now, asked_now=not request.metrics)


def window_of(start: datetime, end: datetime, now: datetime, *, asked_now: bool = True) -> Window:
    """Check a window against CloudWatch's retention. Raises `ValueError` with what is accepted.

    `asked_now`: False for AWS CLI output, which may be older than the retention.
    """
    if end <= start:
        raise ValueError(f"--end {end:%FT%TZ} is not after --start {start:%FT%TZ}; the end is exclusive")
    if end > now + SOON:
        latest = now.replace(second=0, microsecond=0)
        raise ValueError(f"--end {end:%FT%TZ} is in the future; the latest accepted is {latest:%FT%TZ}")
    if end - start > KEPT:
        raise ValueError(f"a window has {KEPT.days} days at most, CloudWatch's retention")
    check_start(start, now, asked_now=asked_now)
    return Window(start=start, end=end)


def check_start(start: datetime, now: datetime, *, asked_now: bool = True) -> None:
    """Raise `ValueError` if CloudWatch has no data of that time, or no longer."""
    if start >= now:
        raise ValueError(f"--start {start:%FT%TZ} is in the future; it is {now:%FT%TZ} now")
    if asked_now and now - start > KEPT:
        raise ValueError(
            f"--start {start:%FT%TZ} is too long ago: CloudWatch keeps {KEPT.days} days, back to "
            f"{now - KEPT:%FT%TZ}"
        )


def check_options(request: EvidenceRequest) -> None:
    """Check that the options go together; report all at once. Raises `ValueError`."""
    given = {
        "--table": request.table, "--index": request.indexes, "--replica": request.replicas,
        "--start": request.start, "--end": request.end, "--last": request.last, "--region": request.region,
        "--profile": request.profile, "--describe-json": request.described, "--log": request.logs,
    }  # fmt: skip
    names = [name for name, value in given.items() if value]
    where = {"--region": request.region, "--profile": request.profile, "--endpoint-url": request.endpoint_url}
    live = [name for name, value in where.items() if value]
    mistakes = []
    if request.folder is not None and names:
        mistakes.append(f"--run names the table and the time: leave out {', '.join(names)}")
    if request.last and (request.start or request.end):
        mistakes.append("--last is the time up to now: leave out --start and --end")
    if request.metrics and (request.last or (request.start is None) != (request.end is None)):
        mistakes.append("--metrics have their own time: give both --start and --end, or neither")
    if request.metrics and live:
        mistakes.append(f"--metrics makes no calls: leave out {', '.join(live)}")
    if request.described and not request.metrics:
        mistakes.append("--describe-json goes with --metrics; otherwise Keyheat calls DescribeTable")
    if mistakes:
        raise ValueError("\n  ".join(mistakes))


def _described(request: EvidenceRequest, facts: TableFacts, window: Window) -> tuple[TableFacts, list[str]]:
    if request.described is None:
        return facts, ["facts about the table: add --describe-json for its mode, capacity and indexes"]
    return facts_from_file(request.described, facts, window)


def facts_from_file(path: Path, facts: TableFacts, window: Window) -> tuple[TableFacts, list[str]]:
    """Parse `aws dynamodb describe-table` output, and list what it does not tell about the window.

    Raises `ValueError`.
    """
    try:
        table = table_in(parsed_json(path))
    except FileProblem as problem:
        raise ValueError(f"{problem}; the AWS CLI prints JSON with --output json") from problem
    if not isinstance(table, dict) or not isinstance(name := table.get("TableName"), str):
        raise ValueError(f"{path}: this is not output of `aws dynamodb describe-table`")
    if name != facts.name:
        raise ValueError(
            f"{path} describes {name[:255]!r}, not {facts.name!r}: name the same table, or leave out the file"
        )
    try:
        return facts_during(table, window, facts)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError) as error:
        raise ValueError(f"{path} is not a complete table description: {repr(error)[:500]}") from error
