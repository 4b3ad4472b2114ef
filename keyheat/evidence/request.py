"""Evidence as a person asks for it: of a run or any table, from CloudWatch or what the AWS CLI printed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from keyheat.evidence import collection
from keyheat.evidence.cloudwatch import Clock, Progress
from keyheat.evidence.series import STATISTICS, statistics_printed
from keyheat.evidence.table import facts_then, with_indexes
from keyheat.runfiles import FileProblem, parsed_json
from keyheat.runs.formats import Evidence, TableFacts, Window
from keyheat.runs.plausibility import KEPT, sound
from keyheat.shipped import RUN_FILES, require
from keyheat.validation import table_in

SOON = timedelta(minutes=1)  # a window may end with the minute that is going on

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRequest:
    """What is asked for: a run directory, or a table with a window.

    `answers` and `described` are what the AWS CLI printed, for somebody without access; `region`, `profile`
    and `endpoint_url` say where to ask otherwise.
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
    answers: tuple[Path, ...] = ()
    described: Path | None = None
    show_keys: bool = False


def evidence_for(asked: EvidenceRequest, *, clock: Clock, progress: Progress) -> Evidence:
    """The evidence. Raises `ValueError` where it cannot be had as asked (`UnknownEndpoint` where a file alone
    says whom to ask), and `FileProblem`.
    """
    _check_together(asked)
    if asked.folder is not None:
        require("report", RUN_FILES)
        if asked.answers:
            return collection.collect_from_cli(asked.folder, _pages(asked), now_s=clock())
        return collection.collect(
            asked.folder, endpoint_url=asked.endpoint_url, clock=clock, progress=progress,
            show_keys=asked.show_keys,
        )  # fmt: skip
    if not (asked.table and (asked.start or asked.last)):
        raise ValueError("say which: --run DIR, --table T --last 3h, or --table T --start A --end B")
    if asked.answers and not (asked.start and asked.end):
        raise ValueError("--cloudwatch-json is of a time that was asked for: say its --start and --end")
    now = datetime.fromtimestamp(clock(), UTC)
    start, end, ends_now = _times(asked, now)
    window = window_of(start, end, now, asked_now=not asked.answers)
    known = with_indexes(TableFacts(name=asked.table, replicas=asked.replicas), asked.indexes)
    if asked.answers:
        table, missing = _described(asked, known, window)
        found = collection.from_cli_output(_pages(asked), table=table, window=window)
        found = found.model_copy(update={"missing": (*missing, *found.missing)})
    else:
        found = collection.collect_table(
            known, window, region=asked.region, profile=asked.profile, endpoint_url=asked.endpoint_url,
            clock=clock, progress=progress, show_keys=asked.show_keys, wait=not ends_now,
        )  # fmt: skip
    return sound(found)


def _times(asked: EvidenceRequest, now: datetime) -> tuple[datetime, datetime, bool]:
    """Start and end of the window, and whether it goes on: then it ends with the last full minute."""
    minute = now.replace(second=0, microsecond=0)
    start = asked.start or minute - (asked.last or timedelta())
    if asked.end is None or asked.end > minute > start:
        return start, minute, True
    return start, asked.end, False


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
        "--profile": asked.profile, "--describe-json": asked.described,
    }  # fmt: skip
    names = [name for name, value in given.items() if value]
    if asked.folder is not None and names:
        raise ValueError(f"--run names the table and the time: leave out {', '.join(names)}")
    if asked.last and (asked.start or asked.end):
        raise ValueError("--last is the time up to now: leave out --start and --end")
    where = {"--region": asked.region, "--profile": asked.profile, "--endpoint-url": asked.endpoint_url}
    live = [name for name, value in where.items() if value]
    if asked.answers and live:
        raise ValueError(f"--cloudwatch-json asks nobody: leave out {', '.join(live)}")
    if asked.described and not asked.answers:
        raise ValueError("--describe-json goes with --cloudwatch-json; otherwise the table itself is asked")


def _pages(asked: EvidenceRequest) -> list[object]:
    pages = {path: _as_input(parsed_json, path) for path in asked.answers}
    for path, page in pages.items():
        if statistics_printed(page):
            raise ValueError(f"{path}: {STATISTICS}")
    return list(pages.values())


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
