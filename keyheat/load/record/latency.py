"""Latencies in microseconds, as HDR histograms: three significant digits from 1 us to an hour, mergeable.

Locust's own histogram rounds to a millisecond below 100 ms and is too coarse for DynamoDB.
"""

from collections import Counter
from datetime import UTC, datetime
from typing import IO

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from keyheat.runfiles import LATENCY

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
        """Record one duration."""
        self._waiting[us] += 1

    def fold(self) -> None:
        """Move what was added into the histogram; call it every second or so, to bound memory."""
        waiting, self._waiting = self._waiting, Counter()
        for us, count in waiting.items():
            self._histogram.record_value(min(max(us, 1), LARGEST_US), count)

    def merge(self, other: "Latency") -> None:
        """Add all that another one holds."""
        other.fold()
        self._histogram.add(other._histogram)

    def counts(self) -> Counts:
        """A copy of what each bucket holds."""
        self.fold()
        return np.array(self._histogram.counts, dtype=np.int64)

    @property
    def count(self) -> int:
        self.fold()
        return int(self._histogram.get_total_count())

    def percentile_us(self, percent: float) -> int:
        """The duration that `percent` of all did not exceed; 0 where there is none."""
        self.fold()
        return int(self._histogram.get_value_at_percentile(percent))

    def encoded(self) -> bytes:
        """The compressed form of the HDR histogram log (base64)."""
        self.fold()
        encoded: bytes = self._histogram.encode()
        return encoded

    @classmethod
    def decoded(cls, encoded: bytes) -> "Latency":
        """What `encoded` made."""
        latency = cls()
        latency._histogram.decode_and_add(encoded)
        return latency

    @property
    def max_us(self) -> int:
        self.fold()
        return int(self._histogram.get_max_value())


_BUCKETS = HdrHistogram(1, LARGEST_US, DIGITS)


def no_counts() -> Counts:
    """The buckets of an empty histogram."""
    return np.zeros(_BUCKETS.counts_len, dtype=np.int64)


def percentile_of(counts: Counts, percent: float) -> int:
    """The duration that `percent` of all did not exceed; 0 where there is none."""
    total = int(counts.sum())
    if not total:
        return 0
    wanted = max(1, int(percent / 100 * total + 0.5))
    place = int(np.searchsorted(np.cumsum(counts), wanted))
    return int(_BUCKETS.get_highest_equivalent_value(_BUCKETS.get_value_from_index(place)))


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
