"""Evidence as a person asks for it: of a run or any table, from CloudWatch or what the AWS CLI printed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TypeVar

from keyheat.evidence import collection
from keyheat.evidence.cloudwatch import Clock, Progress
from keyheat.evidence.logged import ThrottleLog, read_logs
from keyheat.evidence.metric_files import MetricFiles, MetricReader
from keyheat.evidence.table import facts_then, with_indexes
from keyheat.numbers import some
from keyheat.runfiles import FileProblem, parsed_json
from keyheat.runs.client import NO_RECORDS, Records
from keyheat.runs.formats import Evidence, TableFacts, Window
from keyheat.runs.manifest import read_manifest
from keyheat.runs.plausibility import KEPT, sound
from keyheat.shipped import RUN_FILES, require
from keyheat.validation import table_in

SOON = timedelta(minutes=1)  # a window may end with the minute that is going on

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRequest:
    """What is asked for: a run directory, or a table with a window.

    `metrics` are files of metrics, and `described` what the AWS CLI printed, for somebody without access;
    `region`, `profile` and `endpoint_url` say where to ask otherwise. `logs` are what an application logged;
    with `metrics` or `logs` their own time is the window, where no other is said.
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
    named: tuple[tuple[str, str], ...] = ()  # file and the label of the series that it holds
    logs: tuple[Path, ...] = ()
    zone: tzinfo | None = None  # of times in files that have none
    described: Path | None = None
    show_keys: bool = False


def evidence_for(asked: EvidenceRequest, *, clock: Clock, progress: Progress) -> Evidence:
    """The evidence. Raises `ValueError` where it cannot be had as asked (`UnknownEndpoint` where a file alone
    says whom to ask), and `FileProblem`.
    """
    _check_together(asked)
    if asked.folder is not None:
        require("report", RUN_FILES)
        if asked.metrics:
            pages = _metrics(asked, read_manifest(asked.folder).table).pages
            return collection.collect_from_cli(asked.folder, pages, now_s=clock())
        return collection.collect(
            asked.folder, endpoint_url=asked.endpoint_url, clock=clock, progress=progress,
            show_keys=asked.show_keys,
        )  # fmt: skip
    log = read_logs(asked.logs, asked.zone) if asked.logs else None
    name = asked.table or logged_table(log)
    known = with_indexes(TableFacts(name=name, replicas=asked.replicas), asked.indexes)
    if asked.metrics:
        return sound(_of_files(asked, known, log, datetime.fromtimestamp(clock(), UTC)))
    now = datetime.fromtimestamp(clock(), UTC)
    window, ends_now = _window(asked, log.around(now) if log else None, now)
    found = collection.collect_table(
        known, window, region=asked.region, profile=asked.profile, endpoint_url=asked.endpoint_url,
        clock=clock, progress=progress, show_keys=asked.show_keys, wait=not ends_now,
        records=_records(log, known, asked.region, window),
    )  # fmt: skip
    return sound(found)


def logged_table(log: ThrottleLog | None) -> str:
    """The one table that logs name. Raises `ValueError` where there is none, or several."""
    tables = log.tables if log else {}
    if len(tables) == 1:
        return next(iter(tables))
    if log is not None and not log.counts:
        raise ValueError(f"no throttle in {some(log.records, 'record')} of the logs")
    if log is None:
        raise ValueError("say which: --run DIR, --table T --last 3h, or --table T --start A --end B")
    named = ", ".join(f"{name} ({count:,})" for name, count in tables.items())
    if named:
        raise ValueError(f"the logs have throttles of several tables: {named}; say which table")
    raise ValueError(f"{some(log.unnamed, 'throttle')} in the logs, and no ARN says of which table; name it")


def _records(log: ThrottleLog | None, table: TableFacts, region: str | None, window: Window) -> Records:
    return log.records_of(table.name, region, window) if log else NO_RECORDS


def _of_files(asked: EvidenceRequest, known: TableFacts, log: ThrottleLog | None, now: datetime) -> Evidence:
    """Evidence from files alone: nobody is asked."""
    lately = Window(start=now - SOON, end=now)
    described, _changed = _described(asked, known, lately)
    files = _metrics(asked, with_indexes(known, (index.name for index in described.indexes)))
    window, _now = _window(asked, files.window or (log.window if log else None), now)
    table, missing = _described(asked, known, window)
    found = collection.from_cli_output(
        files.pages, table=table, window=window, records=_records(log, known, asked.region, window)
    )
    return found.model_copy(update={"missing": (*missing, *files.notes, *found.missing)})


def _metrics(asked: EvidenceRequest, table: TableFacts) -> MetricFiles:
    return MetricReader(table=table, zone=asked.zone, named=dict(asked.named)).read(asked.metrics)


def _window(asked: EvidenceRequest, of_files: Window | None, now: datetime) -> tuple[Window, bool]:
    """The window that is asked for, else that of the files; and whether it goes on."""
    if of_files is not None and not (asked.start or asked.end or asked.last):
        return window_of(of_files.start, of_files.end, now, asked_now=not asked.metrics), False
    if not (asked.start or asked.last):
        raise ValueError("say when: --last 3h, or --start A --end B")
    start, end, ends_now = _times(asked, now)
    return window_of(start, end, now, asked_now=not asked.metrics), ends_now


def _times(asked: EvidenceRequest, now: datetime) -> tuple[datetime, datetime, bool]:
    """Start and end of the window, and whether it goes on: then it ends with the last full minute."""
    minute = now.replace(second=0, microsecond=0)
    start = asked.start or minute - (asked.last or timedelta())
    return (start, minute, True) if asked.end is None else (start, asked.end, False)


def window_of(start: datetime, end: datetime, now: datetime, *, asked_now: bool = True) -> Window:
    """The window, if CloudWatch can have it. Raises `ValueError` with what would be accepted.

    `asked_now`: what the AWS CLI printed may be older than what CloudWatch still keeps.
    """
    if end <= start:
        raise ValueError(f"--end {end:%FT%TZ} is not after --start {start:%FT%TZ}: it is exclusive")
    if end > now + SOON:
        latest = now.replace(second=0, microsecond=0)
        raise ValueError(
            f"--end {end:%FT%TZ} is in the future; the latest that can be had is {latest:%FT%TZ}"
        )
    if end - start > KEPT:
        raise ValueError(f"a window has {KEPT.days} days at most, for CloudWatch keeps no more")
    check_start(start, now, asked_now=asked_now)
    return Window(start=start, end=end)


def check_start(start: datetime, now: datetime, *, asked_now: bool = True) -> None:
    """Raises `ValueError` where CloudWatch has nothing of that time, or nothing any more."""
    if start >= now:
        raise ValueError(f"--start {start:%FT%TZ} is in the future; it is {now:%FT%TZ} now")
    if asked_now and now - start > KEPT:
        raise ValueError(
            f"--start {start:%FT%TZ} is too long ago: CloudWatch keeps {KEPT.days} days, back to "
            f"{now - KEPT:%FT%TZ}"
        )


def _check_together(asked: EvidenceRequest) -> None:
    """Options that do not go together, all of them at once. Raises `ValueError`."""
    given = {
        "--table": asked.table, "--index": asked.indexes, "--replica": asked.replicas,
        "--start": asked.start, "--end": asked.end, "--last": asked.last, "--region": asked.region,
        "--profile": asked.profile, "--describe-json": asked.described, "--log": asked.logs,
    }  # fmt: skip
    names = [name for name, value in given.items() if value]
    if asked.folder is not None and names:
        raise ValueError(f"--run names the table and the time: leave out {', '.join(names)}")
    if asked.last and (asked.start or asked.end):
        raise ValueError("--last is the time up to now: leave out --start and --end")
    where = {"--region": asked.region, "--profile": asked.profile, "--endpoint-url": asked.endpoint_url}
    live = [name for name, value in where.items() if value]
    if asked.metrics and (asked.last or (asked.start is None) != (asked.end is None)):
        raise ValueError("--metrics have a time of their own: say both --start and --end, or neither")
    if asked.metrics and live:
        raise ValueError(f"--metrics asks nobody: leave out {', '.join(live)}")
    if asked.described and not asked.metrics:
        raise ValueError("--describe-json goes with --metrics; otherwise the table itself is asked")


def _described(asked: EvidenceRequest, known: TableFacts, window: Window) -> tuple[TableFacts, list[str]]:
    if asked.described is None:
        return known, ["facts about the table: --describe-json would tell its mode, capacity and indexes"]
    return described_by(asked.described, known, window)


def described_by(path: Path, known: TableFacts, window: Window) -> tuple[TableFacts, list[str]]:
    """The table as `aws dynamodb describe-table` printed it, and what it does not say of the window.

    Raises `ValueError`.
    """
    content = _as_input(parsed_json, path)
    table = table_in(content)
    if not isinstance(table, dict) or not isinstance(table.get("TableName"), str):
        raise ValueError(f"{path}: `aws dynamodb describe-table` did not print this")
    if table["TableName"] != known.name:
        name = table["TableName"][:255]
        raise ValueError(f"{path} describes {name!r}, where --table is {known.name!r}")
    try:
        return facts_then(table, window, known)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError) as error:
        said = repr(error)[:500]
        raise ValueError(f"{path} is no whole description of a table: {said}") from error


def _as_input(read: Callable[[Path], Read], path: Path) -> Read:
    """A file that somebody gave on the command line: where it is bad, that is a wrong use."""
    try:
        return read(path)
    except FileProblem as problem:
        raise ValueError(f"{problem}; the AWS CLI prints JSON with --output json") from problem
