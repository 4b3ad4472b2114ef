"""A trace: what an application sent, row by row, read from a file in the order of time.

A CSV or Parquet file with the columns `time` (seconds from the start, or ISO dates), `operation`, `key`,
`size_bytes` and, for a table with one, `sort_key`. It is read in small batches: its length costs no memory.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import TextIOWrapper
from itertools import chain, repeat
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from keyheat.inputs import check_words, encoding_of, lines_of, open_file, open_parquet
from keyheat.model.limits import MAX_ITEM_BYTES

COLUMNS = ("time", "operation", "key", "size_bytes")
SORT_KEY = "sort_key"
OPERATIONS = {
    "put": "PutItem", "get": "GetItem", "update": "UpdateItem", "delete": "DeleteItem", "query": "Query",
}  # fmt: skip
NAMES = {**OPERATIONS, **{name: name for name in OPERATIONS.values()}}
LONGEST_KEY_BYTES, LONGEST_SORT_KEY_BYTES = 2_048, 1_024
WRITES = ("PutItem", "UpdateItem")
DATE = "2026-11-20T12:00Z"
LATEST_START_S = 7 * 86_400.0
PARQUET_ROWS = 1_000
MOST_LINE_BYTES = 1 << 16
MOST_SHOWN = 20


class TraceRow(NamedTuple):
    """One request of a trace."""

    at_s: float  # from the start of the trace
    operation: str  # in DynamoDB's words
    key: str
    sort_key: str | None
    size_bytes: int | None  # of the item; None: the trace does not say


class TraceError(ValueError):
    """A trace that cannot be replayed; one line for each reason."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


Least = Callable[[str, str | None], int]
"""How many bytes an item with these keys has at least."""


def no_least(_key: str, _sort_key: str | None) -> int:
    """Accept items of any size."""
    return 0


@dataclass(slots=True)
class Parser:
    """Reads rows one after the other, and keeps what is wrong with them, each with its number."""

    has_sort_key: bool
    least: Least
    errors: list[str] = field(default_factory=list)
    wrong: int = 0
    _start_s: float | None = None  # the epoch second of the first row, where times are dates; 0 else
    _last_s: float = 0.0

    def row(self, number: int, values: Mapping[str, Any]) -> TraceRow | None:
        """One row, or None where it is wrong."""
        problems: list[str] = []

        def read(check: Callable[..., Any], *given: Any) -> Any:
            try:
                return check(*given)
            except ValueError as error:
                problems.append(str(error))

        at_s, operation = read(self._time, values["time"]), read(_operation, values["operation"])
        key = read(_text, values["key"], "key", LONGEST_KEY_BYTES)
        sort_key = read(self._sort_key, values.get(SORT_KEY))
        size = read(_size, values["size_bytes"], operation)
        if not problems and operation in WRITES and size < (needed := self.least(key, sort_key)):
            problems.append(f"size_bytes '{size}' has no room for the item's own keys, which need {needed}")
        if not problems:
            return TraceRow(at_s, operation, key, sort_key, size)
        self.wrong += 1
        if len(self.errors) < MOST_SHOWN:
            self.errors += [f"row {number}: {problem}" for problem in problems]
        return None

    def _time(self, value: Any) -> float:
        at_s, dated = _seconds(value)
        if at_s is None:
            raise ValueError(f"time {value!r} is neither a number of seconds from 0 on nor an ISO date")
        if self._start_s is None:
            if not dated and at_s > LATEST_START_S:
                raise ValueError(f"time {value!r}: a number is seconds from the start, a date is {DATE}")
            self._start_s = at_s if dated else 0.0
        if dated != (self._start_s != 0.0):
            raise ValueError(f"time {value!r}: some times are dates and others numbers")
        at_s -= self._start_s
        if at_s < self._last_s:
            raise ValueError(f"time {value!r} is before that of an earlier row")
        self._last_s = at_s
        return at_s

    def _sort_key(self, value: Any) -> str | None:
        if value is None or value == "":
            return None
        if not self.has_sort_key:
            raise ValueError("it has a sort_key, and the table has none")
        return _text(value, SORT_KEY, LONGEST_SORT_KEY_BYTES)


def _operation(value: Any) -> str:
    if (operation := NAMES.get(str(value).strip())) is None:
        raise ValueError(f"operation {value!r} is not one of {', '.join(OPERATIONS)}")
    return operation


def _size(value: Any, operation: str | None) -> int | None:
    if value is None or value == "":
        if operation in WRITES:
            raise ValueError(f"{operation} needs size_bytes")
        return None
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not number.is_integer():
        raise ValueError(f"size_bytes {value!r} is not a whole number")
    if not 0 <= number <= MAX_ITEM_BYTES:
        raise ValueError(f"size_bytes {value!r} is not between 0 and {MAX_ITEM_BYTES:,}")
    return int(number)


def read_trace(path: Path, *, has_sort_key: bool, least: Least = no_least) -> Iterator[TraceRow]:
    """The rows of a trace that `check_trace` found right. Raises `TraceError`."""
    parser = Parser(has_sort_key, least)
    for number, values in enumerate(_values(path), start=1):
        row = parser.row(number, values)
        if row is None:
            raise TraceError(parser.errors)
        yield row


def check_trace(path: Path, *, has_sort_key: bool, least: Least = no_least) -> list[str]:
    """Everything that is wrong with a trace, the first of its wrong rows by number; empty: it is right."""
    parser, rows = Parser(has_sort_key, least), 0
    try:
        for rows, values in enumerate(_values(path), start=1):
            parser.row(rows, values)
    except TraceError as error:
        return [*parser.errors, *error.errors]
    if rows == 0:
        return ["the trace has no rows"]
    more = [f"{parser.wrong:,} of {rows:,} rows are wrong"] if parser.wrong > 1 else []
    return parser.errors + more


class TraceKeys:
    """Draws one key of the trace after the other, and begins again at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        passes = (read_trace(path, has_sort_key=True) for _ in repeat(None))
        self._rows = chain.from_iterable(passes)

    def draw(self, rng: Random, at_s: float) -> str:
        return next(self._rows).key


def _values(path: Path) -> Iterator[dict[str, Any]]:
    """The rows as the file has them. Raises `TraceError` where it is no such file."""
    readers = {".csv": _of_csv, ".parquet": _of_parquet}
    if path.suffix not in readers:
        raise TraceError(["a trace is a .csv or a .parquet file"])
    try:
        yield from readers[path.suffix](path)
    except OSError as error:
        raise TraceError([f"{path}: {error.strerror or str(error).splitlines()[0]}"]) from error


def _of_csv(path: Path) -> Iterator[dict[str, Any]]:
    with open_file(path) as file:
        encoding = encoding_of(file.peek(2))
        text = TextIOWrapper(file, encoding=encoding, newline="")
        lines = csv.reader(lines_of(text, MOST_LINE_BYTES))
        try:
            names = next(lines, None)
            if names is None:
                raise TraceError(["Empty CSV file"])
            places = {name: names.index(name) for name in _columns(names)}
            for cells in lines:
                if len(cells) == len(names):
                    yield {name: cells[column] for name, column in places.items()}
                elif cells:  # an empty line is no row
                    raise TraceError(
                        [f"line {lines.line_num}: Expected {len(names)} columns, got {len(cells)}"]
                    )
        except UnicodeDecodeError as error:
            raise TraceError(
                [f"after line {lines.line_num}: not {encoding.removesuffix('-sig').upper()}: {error.reason}"]
            ) from error
        except csv.Error as error:
            raise TraceError([f"line {lines.line_num}: {error}"]) from error


def _of_parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa  # here, since a CSV file needs none

    try:
        with open_file(path) as opened, open_parquet(opened) as file:
            for batch in file.iter_batches(PARQUET_ROWS, columns=_columns(file.schema_arrow.names)):
                check_words([batch], PARQUET_ROWS * MOST_LINE_BYTES)
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeDecodeError) as error:
        lines = str(error).splitlines() or ["it cannot be read"]
        raise TraceError([f"{path}: {lines[0]}"]) from error


def _columns(there: list[str]) -> list[str]:
    missing = [name for name in COLUMNS if name not in there]
    if missing:
        raise TraceError([f"column {name} is missing" for name in missing])
    return [name for name in (*COLUMNS, SORT_KEY) if name in there]


def _seconds(value: Any) -> tuple[float | None, bool]:
    """A time in seconds, and whether it was a date (then from the epoch)."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp(), True
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (float(value) if isfinite(value) and value >= 0 else None), False
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        try:
            return _seconds(datetime.fromisoformat(text))
        except ValueError:
            return None, True
    return (number if isfinite(number) and number >= 0 else None), False


def _text(value: Any, name: str, most_bytes: int) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is missing" if value in (None, "") else f"{name} {value!r} is not text")
    if len(value.encode()) > most_bytes:
        raise ValueError(f"{name} is longer than {most_bytes:,} bytes")
    return value
