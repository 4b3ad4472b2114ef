"""What is counted: by the second, by throttled attempt, and by latency in HDR histograms.

Every throttled attempt, one row each, in columns: a million of them take about 50 MB.
Words that repeat (reasons, operations, index names) are kept once and rows hold their number; of a partition
key only 64 bits of its SHA-256 are kept.

Latencies in microseconds, as HDR histograms: three significant digits from 1 us to an hour, mergeable.
Locust's own histogram rounds to a millisecond below 100 ms and is too coarse for DynamoDB.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from operator import add
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from keyheat.load.record.attempt import Attempt
from keyheat.runfiles import LATENCY
from keyheat.runs.latencies import decoded
from keyheat.runs.parquet import SECONDS_SCHEMA, THROTTLES_SCHEMA
from keyheat.words import Direction, Resource

ATTEMPTS, ACCEPTED, THROTTLED, ERRORS, CONSUMED, UNMET = range(6)


class SecondRow(NamedTuple):
    """What one row of `seconds.parquet` is about. An index has no operation, the table always has one."""

    second: int
    resource: str | None  # an index; None: the table itself
    direction: str
    operation: str | None


Totals = dict[tuple[str | None, str, str | None], list[float]]
"""Counts by index (None: the table), direction, and operation (None: an index has none)."""


@dataclass(slots=True)
class Seconds:
    """Counts per second. A request counts in the second in which it was sent."""

    rows: dict[SecondRow, list[float]] = field(default_factory=dict)
    _of: dict[int, list[SecondRow]] = field(default_factory=dict)  # by second, to be found without a walk

    def __post_init__(self) -> None:
        for row in self.rows:
            self._of.setdefault(row.second, []).append(row)

    def counts(self, second: int, resource: str | None, direction: str, operation: str | None) -> list[float]:
        """The counts of one row, by the numbers above. Add to them."""
        row = SecondRow(second, resource, direction, operation)
        counts = self.rows.get(row)
        if counts is None:
            counts = self.rows[row] = [0, 0, 0, 0, 0.0, 0]
            self._of.setdefault(second, []).append(row)
        return counts

    def merge(self, other: "Seconds") -> None:
        for row, theirs in other.rows.items():
            mine = self.counts(*row)
            for column, count in enumerate(theirs):
                mine[column] += count

    def totals(self, seconds: Iterable[int] | None = None, into: Totals | None = None) -> Totals:
        """Add up the counts of some seconds, or of all, to what `into` has already."""
        totals: Totals = {} if into is None else into
        for second in self._of if seconds is None else seconds:
            for row in self._of.get(second, ()):
                before, counts = totals.get(row[1:]), self.rows[row]
                totals[row[1:]] = list(counts) if before is None else list(map(add, before, counts))
        return totals

    def last(self) -> int:
        """The last second in which something was sent; 0 where nothing was."""
        return max(self._of, default=0)

    def of_requests(self, seconds: Iterable[int] | None = None) -> list[float]:
        """The counts of all requests; those of indexes are a part of them."""
        return of_requests(self.totals(seconds))

    def to_wire(self) -> list[Any]:
        return [[*row, *counts] for row, counts in self.rows.items()]

    @classmethod
    def from_wire(cls, wire: list[Any]) -> "Seconds":
        return cls({SecondRow(*line[:4]): list(line[4:]) for line in wire})

    def table(self) -> pa.Table:
        """The rows as they stand in `seconds.parquet`, in order."""
        ordered = sorted(self.rows, key=lambda row: (row.second, *(word or "" for word in row[1:])))
        columns = list(zip(*((*row, *self.rows[row]) for row in ordered), strict=True))
        fields = zip(SECONDS_SCHEMA, columns or [()] * len(SECONDS_SCHEMA), strict=True)
        return pa.table([pa.array(column, field.type) for field, column in fields], schema=SECONDS_SCHEMA)


def of_requests(totals: Totals) -> list[float]:
    """The counts of all requests: those that an index answered are the table's as well."""
    of_table = [counts for (index, *_), counts in totals.items() if index is None]
    return [sum(column) for column in zip([0, 0, 0, 0, 0.0, 0], *of_table, strict=True)]


def consumed_in(totals: Totals) -> dict[Resource, float]:
    """The units that the table and each index consumed in each direction."""
    consumed: dict[Resource, float] = {}
    for (index, direction, _operation), counts in totals.items():
        resource = Resource(index, Direction(direction))
        consumed[resource] = consumed.get(resource, 0.0) + counts[CONSUMED]
    return consumed


NUMBERS = {"at": "q", "key": "Q", "units": "d", "late_us": "q", "service_us": "q"}
WORDS = ("index", "direction", "reason", "operation")


class ThrottleRows:
    """Rows of throttled attempts. `add` appends one; `merge` appends another's."""

    __slots__ = ("_number_of", "columns", "words")

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {
            name: array(NUMBERS.get(name, "H")) for name in (*NUMBERS, *WORDS)
        }
        self.words: list[str | None] = []
        self._number_of: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self.columns["at"])

    def add(self, attempt: Attempt, key: int) -> None:
        """Append one row; `key` is the number of the key's digest."""
        columns, number = self.columns, self._number
        columns["at"].append(int(attempt.sent_s * 1e6))
        columns["key"].append(key)
        columns["units"].append(attempt.units)
        columns["late_us"].append(attempt.late_us)
        columns["service_us"].append(attempt.service_us)
        columns["index"].append(number(attempt.refused_by))
        columns["direction"].append(number(attempt.direction))
        columns["reason"].append(number(attempt.reason))
        columns["operation"].append(number(attempt.operation))

    def _number(self, word: str | None) -> int:
        number = self._number_of.get(word)
        if number is None:
            number = self._number_of[word] = len(self.words)
            self.words.append(word)
        return number

    def merge(self, other: "ThrottleRows") -> None:
        numbers = np.array([self._number(word) for word in other.words], dtype=np.uint16)
        for name, column in other.columns.items():
            if name in WORDS:
                renumbered = numbers[np.frombuffer(column, dtype=np.uint16)] if len(column) else numbers[:0]
                self.columns[name].frombytes(renumbered.tobytes())
            else:
                self.columns[name].extend(column)

    def to_wire(self) -> dict[str, Any]:
        return {"words": self.words, **{name: column.tobytes() for name, column in self.columns.items()}}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "ThrottleRows":
        rows = cls()
        for word in wire["words"]:
            rows._number(word)
        for name, column in rows.columns.items():
            column.frombytes(wire[name])
        return rows

    def table(self) -> pa.Table:
        """The rows as they stand in `throttles.parquet`, in the order in which they were sent."""
        order = np.argsort(np.frombuffer(self.columns["at"], dtype=np.int64), kind="stable")
        return pa.table({field.name: self._column(field, order) for field in THROTTLES_SCHEMA})

    def _column(self, field: pa.Field, order: np.ndarray[Any, Any]) -> pa.Array:
        if field.name == "count":
            return pa.repeat(pa.scalar(1, field.type), len(order))
        column = self.columns[field.name]
        values = np.frombuffer(column, dtype=column.typecode)[order]
        if field.name == "key":
            digests, places = np.unique(values, return_inverse=True)
            names = pa.array([f"sha256:{int(digest):016x}" for digest in digests], pa.string())
            return names.take(pa.array(places))
        if field.name in WORDS:
            return pa.array(self.words, pa.string()).take(pa.array(values))
        return pa.array(values).cast(field.type)


LARGEST_US = 3_600_000_000
DIGITS = 3
Counts = npt.NDArray[np.int64]
"""How many durations each bucket of a histogram holds; those of two can be added and subtracted."""


class Latency:
    """The distribution of one kind of duration. `add` is cheap; values reach the histogram in `fold`."""

    __slots__ = ("_histogram", "_waiting")

    def __init__(self) -> None:
        self._waiting: Counter[int] = Counter()
        self._histogram = HdrHistogram(1, LARGEST_US, DIGITS)

    def add(self, us: int) -> None:
        self._waiting[us] += 1

    def fold(self) -> None:
        """Move what was added into the histogram; call it every second or so, to bound memory."""
        waiting, self._waiting = self._waiting, Counter()
        for us, count in waiting.items():
            self._histogram.record_value(min(max(us, 1), LARGEST_US), count)

    def merge(self, other: "Latency") -> None:
        other.fold()
        self._histogram.add(other._histogram)

    def counts(self) -> Counts:
        """A copy of what each bucket holds."""
        self.fold()
        return np.array(self._histogram.counts, dtype=np.int64)

    def percentile_us(self, percent: float) -> int:
        """The duration that `percent` of all did not exceed; 0 if there is no duration."""
        self.fold()
        return int(self._histogram.get_value_at_percentile(percent))

    def encoded(self) -> bytes:
        """The compressed form of the HDR histogram log (base64)."""
        self.fold()
        encoded: bytes = self._histogram.encode()
        return encoded

    @classmethod
    def decoded(cls, encoded: bytes) -> "Latency":
        latency = cls()
        latency._histogram.add(decoded(encoded))
        return latency

    @property
    def max_us(self) -> int:
        self.fold()
        return int(self._histogram.get_max_value())


_BUCKETS = HdrHistogram(1, LARGEST_US, DIGITS)


def no_counts() -> Counts:
    return np.zeros(_BUCKETS.counts_len, dtype=np.int64)


@cache
def _values_us() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The least duration of each bucket, and the one in its middle."""
    least = np.array([_BUCKETS.get_value_from_index(index) for index in range(_BUCKETS.counts_len)], float)
    return least, least + (np.append(least[1:], LARGEST_US) - least) / 2


def spans_of(counts: Counts, bounds_us: Sequence[float]) -> tuple[tuple[int, ...], float]:
    """How many durations lie up to each bound and above the one before, and how many beyond the last; and
    what all durations come to, in microseconds. Buckets are taken whole: both are right to a thousandth.
    """
    least, middle = _values_us()
    filled = np.flatnonzero(counts)  # few of some 20,000 buckets
    spans = np.bincount(
        np.searchsorted(bounds_us, least[filled]), weights=counts[filled], minlength=len(bounds_us) + 1
    )
    return tuple(map(int, spans)), float((counts[filled] * middle[filled]).sum())


def percentile_of(counts: Counts, percent: float) -> int:
    """The duration that `percent` of all did not exceed; 0 if there is no duration."""
    total = int(counts.sum())
    if not total:
        return 0
    rank = max(1, int(percent / 100 * total + 0.5))
    index = int(np.searchsorted(np.cumsum(counts), rank))
    return int(_BUCKETS.get_highest_equivalent_value(_BUCKETS.get_value_from_index(index)))


def write_log(file: IO[bytes], latencies: dict[str, Latency], *, start_s: float, end_s: float) -> None:
    """Write an HDR histogram log, version 1.2, one tagged line for each of `latencies`.

    Format: https://github.com/HdrHistogram/HdrHistogram/blob/master/GnuPlotHowTo (HistogramLogWriter)
    """
    started = datetime.fromtimestamp(start_s, UTC).isoformat(" ")
    lines = [
        f"#[{LATENCY}]",
        "#[Histogram log format version 1.2]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch), {started}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for tag, latency in sorted(latencies.items()):
        payload = latency.encoded().decode()
        lines.append(f"Tag={tag},0.000,{end_s - start_s:.3f},{latency.max_us},{payload}")
    file.write("\n".join([*lines, ""]).encode())
