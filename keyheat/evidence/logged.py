"""Throttles that an application logged as exceptions of an AWS SDK, in any format.

Keeps only the second, operation, table, index and DynamoDB's reason of a record.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from keyheat.evidence.log_records import LogRecord, is_marked, log_records
from keyheat.numbers import some
from keyheat.runfiles import MOST_ROWS, FileProblem
from keyheat.runs import metrics
from keyheat.runs.client import Records
from keyheat.runs.formats import NO_DIRECTION, ThrottleCount, Window
from keyheat.words import Direction

_ARN: Final = re.compile(
    r"arn:aws[\w-]{0,20}:dynamodb:(?P<region>[a-z0-9-]{0,30}):[0-9*]{0,12}:table/(?P<table>[\w.-]{1,255})"
    r"(?:/index/(?P<index>[\w.-]{1,255}))?"
)
# A reason is next to its resource: {'reason': 'R', 'resource': 'A'}, ThrottlingReason(Reason=R)
_REASON: Final = re.compile(
    r"\b(?P<reason>(?:Table|Index)(?P<direction>Read|Write)[A-Z][A-Za-z]{2,50}Exceeded)\b"
)
_BESIDE: Final = 600  # characters around a reason to search for its resource
_CODE: Final = re.compile(
    r"\b(?:ProvisionedThroughputExceeded(?:Exception)?|ThrottlingException|ThrottlingError|RequestLimitExceeded)\b"
)
# Other services use the same exception names: Kinesis, Lambda, DynamoDB's control plane.
_DYNAMODB: Final = re.compile(
    r"level of configured provisioned throughput|Throughput exceeds the (?:current|maximum)|"
    r"operation error DynamoDB:|Service: (?:Amazon)?DynamoDb|dynamodb[\w.]*\.model|DynamoDBv2|"
    r"com\.amazonaws\.dynamodb\.v20120810#",
    re.IGNORECASE,
)
_OPERATION: Final = re.compile(
    r"when calling the (\w{4,40}) operation|operation error DynamoDB: (\w{4,40})|"
    r"DynamoDb(?:Async)?Client\.(?:lambda\$)?(\w{4,40}?)(?:Async)?[($]|\b([A-Z]\w{3,40})Command\b|"
    r"\boperation(?:_?name)?[\\\"']{0,2}\s?[:=]\s?[\\\"']{0,2}(\w{4,40})",
    re.IGNORECASE,
)
_TABLE: Final = re.compile(
    r"\btable(?:_?name)?[\\\"']{0,2}\s?[:=]\s?[\\\"']{0,2}([\w.-]{3,255})", re.IGNORECASE
)  # a field of the application: it may be another name of the table, so that only an equal one counts
_REQUEST_ID: Final = re.compile(r"\b[A-Z0-9]{52}\b")  # DynamoDB's; Lambda and others use UUIDs
TIMELESS: Final = "without a time"
CONTEXT: Final = timedelta(minutes=15)
_OPERATIONS: Final = {name.lower(): name for name in metrics.OPERATIONS}


@dataclass(frozen=True, slots=True)
class LoggedThrottle:
    """A logged exception; fields that the record does not state are None."""

    second: datetime | None
    operation: str | None
    direction: Direction | None
    reason: str | None = None
    region: str | None = None
    table: str | None = None
    index: str | None = None
    table_field: str | None = None  # where there is no ARN


@dataclass(slots=True)
class ThrottleLog:
    """Throttles in logs, counted, and the number of other records."""

    records: int = 0
    repeated: int = 0  # records of an exception seen before, by its request id
    several: int = 0  # exceptions with more than one reason
    counts: Counter[LoggedThrottle] = field(default_factory=Counter)
    _seen: dict[str, LoggedThrottle] = field(default_factory=dict)

    def add(self, record: LogRecord) -> None:
        """Count a record. Raises `ValueError` for a throttle whose time has no zone."""
        self.records += 1
        throttle = parse_throttle(record)
        if throttle is None:
            return
        self.several += len({match["reason"] for match in _REASON.finditer(record.text)}) > 1
        if (request_id := _REQUEST_ID.search(record.text)) is not None:
            if (earlier := self._seen.get(request_id[0])) is not None:
                self.repeated += 1
                if earlier.reason is not None or throttle.reason is None:
                    return
                self.counts[earlier] -= 1  # this record tells more about the same exception
            self._seen[request_id[0]] = throttle
        self.counts[throttle] += 1
        if max(len(self.counts), len(self._seen)) > MOST_ROWS:
            raise ValueError(f"more than {MOST_ROWS:,} different throttles; cut out fewer hours")

    @property
    def tables(self) -> dict[str, int]:
        """Throttles per named table, most first."""
        named: Counter[str] = Counter()
        for throttle, count in self.counts.items():
            if throttle.table is not None:
                named[throttle.table] += count
        return dict(named.most_common())

    @property
    def unnamed(self) -> int:
        """Throttles without a table name."""
        return self.counts.total() - sum(self.tables.values())

    def region_of(self, table: str) -> str | None:
        """The Region of a table by its ARNs; None if they have none, or several."""
        regions = {throttle.region for throttle in self.counts if throttle.table == table}
        return next(iter(regions)) or None if len(regions) == 1 else None

    @property
    def window(self) -> Window | None:
        """The minutes from the first to the last throttle; None without throttles."""
        seconds = [throttle.second for throttle in self.counts if throttle.second is not None]
        if not seconds:
            return None
        first, last = (at.replace(second=0) for at in (min(seconds), max(seconds)))
        return Window(start=first, end=last + timedelta(minutes=1))

    def around(self, now: datetime) -> Window | None:
        """The window with a quarter of an hour before and after, but not beyond now.

        Raises `ValueError` for times in the future.
        """
        window = self.window
        if window is None:
            return None
        latest = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        if window.end > latest:
            raise ValueError(f"the log ends in the future, at {window.end:%F %R} UTC; set --zone")
        return Window(start=window.start - CONTEXT, end=min(window.end + CONTEXT, latest))

    def records_of(self, table: str, region: str | None, window: Window) -> Records:
        """The throttles of a table in a window, and what was left out.

        A throttle without a table counts for this table if the logs name no other. Raises `ValueError` if the
        logs name other tables only, or no throttle has a time.
        """
        if self.tables and table not in self.tables:
            raise ValueError(f"the log names no table {table}, but {', '.join(sorted(self.tables))}")
        alone = self.tables.keys() <= {table}
        left_out, rows, unnamed = Counter[str](), Counter[tuple[Any, ...]](), 0
        for throttle, count in (+self.counts).items():
            if (why := _left_out(throttle, table, region, window, alone=alone)) is not None:
                left_out[why] += count
                continue
            unnamed += count if throttle.table is None and throttle.table_field != table else 0
            rows[throttle.second, throttle.index, throttle.direction, throttle.reason] += count
        if left_out[TIMELESS] and not rows:
            number = some(left_out[TIMELESS], "throttle")
            raise ValueError(f"the log has {number} of {table} without a time; export it with timestamps")
        throttles = tuple(
            ThrottleCount(second=second, index=index, direction=direction, reason=reason, count=count)
            for (second, index, direction, reason), count in sorted(
                rows.items(), key=lambda row: [str(cell) for cell in row[0]]
            )
        )
        lines = list(self._lines(rows.total(), left_out))
        if unnamed:
            lines.append(f"log: {some(unnamed, 'throttle')} without an ARN; assumed to be of table {table}")
        return Records(throttles=throttles, seconds=None, missing=tuple(lines))

    def _lines(self, number: int, left_out: Counter[str]) -> Iterator[str]:
        """Messages about records that do not count."""
        if rest := self.records - self.counts.total() - self.repeated:
            yield f"log: {rest:,} of {some(self.records, 'record')} are not throttles"
        for why, count in left_out.most_common():
            yield f"log: {some(count, 'throttle')} left out: {why}"
        if self.repeated:
            yield f"log: {some(self.repeated, 'record')} left out: a repeated exception, by its request id"
        if self.several:
            yield f"log: {some(self.several, 'exception')} with several reasons; each counts by its first"
        if number:
            yield "log: retries that succeeded are unknown; an application logs only an SDK's last attempt"


def _left_out(
    throttle: LoggedThrottle, table: str, region: str | None, window: Window, *, alone: bool
) -> str | None:
    """Why a throttle does not count for the table; None if it does."""
    if throttle.table is None and not alone:
        return "without a table, and the logs have several"
    if throttle.table not in (None, table):
        return f"of table {throttle.table}"
    if region is not None and throttle.region not in (None, "", region):
        return f"of {throttle.region}, not {region}"
    if throttle.second is None:
        return TIMELESS
    if not window.start <= throttle.second < window.end:
        return f"outside {window.start:%F %R} to {window.end:%F %R} UTC"
    return NO_DIRECTION if throttle.direction is None else None


def read_logs(paths: Sequence[Path], zone: tzinfo | None = None) -> ThrottleLog:
    """Read throttles from logs; `zone` applies to times without one. Raises `ValueError`, naming the file."""
    log = ThrottleLog()
    for path in paths:
        before = log.records
        try:
            for record in log_records(path, zone):
                log.add(record)
        except FileProblem as problem:
            raise ValueError(str(problem)) from problem
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if log.records == before:
            raise ValueError(f"{path} is empty: it has no record")
    return log


def parse_throttle(record: LogRecord) -> LoggedThrottle | None:
    """Parse the DynamoDB throttle in a record; None if it has none. Raises `ValueError`."""
    text = record.text
    if not is_marked(text):
        return None
    names = (next(filter(None, match.groups())).lower() for match in _OPERATION.finditer(text))
    operation = next((_OPERATIONS[name] for name in names if name in _OPERATIONS), None)
    if (match := _REASON.search(text)) is not None:
        direction, arn = Direction(match["direction"].lower()), _resource(text, match)
        return LoggedThrottle(record.second(), operation, direction, match["reason"], **_names(arn))
    if not _CODE.search(text) or not (_DYNAMODB.search(text) or operation):
        return None
    if operation is None and "allowed throughput" in text:  # from the control plane
        return None
    arn = _ARN.search(text)
    table_field = _TABLE.search(text) if arn is None else None
    return LoggedThrottle(
        record.second(), operation, metrics.direction_of(operation, None), **_names(arn),
        table_field=table_field[1] if table_field else None,
    )  # fmt: skip


def _resource(text: str, reason: re.Match[str]) -> re.Match[str] | None:
    """The ARN in the brackets of a reason, after or before it; else the only ARN."""
    behind = re.split(r"[})]", text[reason.end() : reason.end() + _BESIDE], maxsplit=1)[0]
    before = re.split(r"[{(]", text[max(0, reason.start() - _BESIDE) : reason.start()])[-1]
    if match := _ARN.search(behind) or _ARN.search(before):
        return match
    every = {match[0]: match for match in _ARN.finditer(text)}
    return next(iter(every.values())) if len(every) == 1 else None


def _names(resource: re.Match[str] | None) -> dict[str, str | None]:
    """Region, table and index of an ARN."""
    return resource.groupdict() if resource else {}
