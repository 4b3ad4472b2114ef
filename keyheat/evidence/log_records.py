"""Split log files into records: entries of one or more lines.

Reads text, JSON lines and CloudWatch Logs exports, also compressed by gzip.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from keyheat.evidence.series import NoZone, parse_time
from keyheat.inputs import NotAccepted, NotRead, encoding_of, lines_of, open_file, parsed_json
from keyheat.runfiles import FileProblem

MOST_BYTES: Final = 4 << 30
"""Of an uncompressed log."""
MOST_UNREADABLE: Final = 0.1  # share of characters that are not of the encoding
MOST_LINES: Final = 50_000_000
MOST_LINE: Final = 1 << 20
MOST_DOCUMENT: Final = 256 << 20
"""Of a log that is one JSON document, which is parsed in memory."""
MOST_RECORD_LINES: Final = 500
TOGETHER: Final = timedelta(seconds=1)
"""Longest gap between lines of one record if a collector stamps each line."""
GZIP: Final = b"\x1f\x8b"

_TIME: Final = (
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}"
)
# A level, a container's name or a logfmt key may precede the time.
_HEAD: Final = re.compile(
    r"(?:[\w.-]{1,60} +\| )?(?:level=\w{1,10} )?(?:\[?[A-Za-z]{1,10}\]?[\s:|]+)?"
    rf"[\[(\"']?(?:\w{{1,10}}=[\"']?)?(?P<time>{_TIME})[\])\"']?[ \t,:|]?"
)
_TIME_KEYS: Final = ("timestamp", "@timestamp", "time", "ts", "@t", "asctime", "datetime", "date", "t")
_CONTINUED: Final = (" ", "\t", "}", "]", ")", "at ", "Caused by:")
_DOCUMENT: Final = re.compile(r"\s*[{\[]\s*(?:[\[{\"]|$)")


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log entry; `stated` is its time as written, None without one."""

    text: str
    stated: object = None
    zone: tzinfo | None = None

    def second(self) -> datetime | None:
        """The time of the entry; None without one. Raises `ValueError` for a time without a zone."""
        try:
            return parse_time(self.stated, self.zone).replace(microsecond=0)
        except NoZone as error:
            zones = "give one, such as --zone UTC or --zone Europe/Berlin"
            raise ValueError(f"its times have no zone; {zones}") from error
        except ValueError:
            return None


def log_records(path: Path, zone: tzinfo | None) -> Iterator[LogRecord]:
    """Read the records of a log in order; `zone` applies to times without one. Raises `FileProblem`."""
    try:
        with open_file(path) as file:
            packed = file.peek(2).startswith(GZIP)
            yield from _records(io.BufferedReader(gzip.GzipFile(fileobj=file)) if packed else file, zone)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FileProblem(f"{path} is compressed by gzip, and damaged or cut off ({error})") from error
    except (NotAccepted, csv.Error) as error:
        raise FileProblem(f"{path} is {error}") from error
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error


def _records(file: "io.BufferedReader[Any]", zone: tzinfo | None) -> Iterator[LogRecord]:
    head = file.peek(MOST_LINE)
    encoding = encoding_of(head)
    text = head.decode(encoding, "replace")
    if text.count("\ufffd") > MOST_UNREADABLE * len(text):
        raise NotAccepted("not a log: it is not text")
    first = next((line for line in text.splitlines() if line.strip()), "")
    if _is_document(first):
        body = file.read(MOST_DOCUMENT + 1)
        if len(body) > MOST_DOCUMENT:
            raise NotRead(f"it has more than {MOST_DOCUMENT:,} bytes of JSON; export a shorter time")
        yield from _parse_export(parsed_json(body), zone)
        return
    lines = _lines(file, encoding)
    if "@message" in first and "@timestamp" in first and not first.startswith("{"):
        yield from map(_insight_record, csv.DictReader(lines))
        return
    grouped = _Grouped(zone)
    for line in lines:
        if line.startswith("{") and line.rstrip().endswith("}"):
            yield from grouped.take(line, _first_time(_fields(line)) if is_marked(line) else None)
        elif (time := _HEAD.match(line)) is not None:
            text = line[time.end() :]
            yield from grouped.take(text, time["time"], _continues(text))
        else:
            yield from grouped.take(line, None, grouped.timed or _continues(line))
    yield from grouped.rest()


def _is_document(first: str) -> bool:
    """Tell a JSON document from JSON lines by its first line."""
    if not _DOCUMENT.match(first):
        return False
    try:
        content = json.loads(first)
    except ValueError:
        begun = first.lstrip().startswith(('{"events"', '{"results"', "[{"))
        return begun or first.strip() in ("{", "[")
    return isinstance(content, list) or not {"events", "results"}.isdisjoint(content)


def _lines(file: "io.BufferedReader[Any]", encoding: str) -> Iterator[str]:
    text = io.TextIOWrapper(file, encoding, errors="replace", newline=None)
    size = 0
    try:
        for number, line in enumerate(lines_of(text, MOST_LINE)):
            size += len(line)
            if size > MOST_BYTES or number > MOST_LINES:
                most = f"{MOST_BYTES:,} characters or {MOST_LINES:,} lines"
                raise NotRead(f"it has more than {most}; cut out fewer hours")
            yield line
    finally:
        text.detach()  # the file is its opener's to close


def _parse_export(content: Any, zone: tzinfo | None) -> Iterator[LogRecord]:
    """Events of filter-log-events, get-log-events and get-query-results, or a list of objects."""
    events = content if isinstance(content, list) else content.get("events", content.get("results", ()))
    if not isinstance(events, list):
        raise NotAccepted("JSON without a list of events: this is not output of `aws logs`")
    grouped = _Grouped(zone)
    for event in events:
        if isinstance(event, list):  # of get-query-results: a list of fields
            cells = (cell for cell in event if isinstance(cell, Mapping))
            yield _insight_record({str(cell.get("field")): cell.get("value") for cell in cells})
        elif isinstance(event, Mapping):
            message = event.get("message", event.get("@message"))
            text = message if isinstance(message, str) else json.dumps(event, default=str)
            stream = str(event.get("logStreamName"))
            yield from grouped.take(text, _first_time(event), _continues(text), stream)
    yield from grouped.rest()


def _insight_record(row: Mapping[str, Any]) -> LogRecord:
    """A row of Logs Insights; its times without a zone are UTC."""
    return LogRecord(str(row.get("@message") or ""), row.get("@timestamp"), UTC)


def is_marked(text: str) -> bool:
    """Whether a text may describe a throttle; a quick filter for most lines."""
    return "Exceeded" in text or "Throttling" in text


def _continues(text: str) -> bool:
    return text.startswith(_CONTINUED) or not text.strip()


@dataclass(slots=True)
class _Grouped:
    """Groups lines into records, per stream: a continuation line joins the record before it."""

    zone: tzinfo | None
    timed: bool = False  # the last record has a time, so lines without one join it
    _open: dict[str, tuple[object, list[str]]] = field(default_factory=dict)

    def take(
        self, text: str, stated: object, continues: bool = False, stream: str = ""
    ) -> Iterator[LogRecord]:
        """Add a line; yield the record that it ends, if any. `stated` is the line's time."""
        before = self._open.get(stream)
        if before is not None:
            if continues and len(before[1]) < MOST_RECORD_LINES and self._near(before[0], stated):
                before[1].append(text)
                return
            yield LogRecord("\n".join(before[1]), before[0], self.zone)
            if continues and stated is None:  # a long record goes on
                stated = before[0]
        self._open[stream] = stated, [text]
        self.timed = stated is not None

    def _near(self, before: object, stated: object) -> bool:
        if stated is None or stated == before:
            return True
        try:
            first, second = (parse_time(value, self.zone or UTC) for value in (before, stated))
        except ValueError:
            return False
        return abs(second - first) <= TOGETHER

    def rest(self) -> Iterator[LogRecord]:
        """Records still open at the end."""
        yield from (LogRecord("\n".join(texts), stated, self.zone) for stated, texts in self._open.values())


def _fields(line: str) -> Mapping[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, Mapping) else {}


def _first_time(fields: Mapping[str, Any]) -> object:
    lowered = {str(name).lower(): value for name, value in fields.items()}
    return next((lowered[name] for name in _TIME_KEYS if lowered.get(name) is not None), None)
