"""Latencies of a run: the histograms of `latency.hdr`, in microseconds."""

import re
import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from hdrh.codec import (
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
    PayloadHeader,
    ext_header_size,
)
from hdrh.histogram import HdrHistogram

from keyheat import runfiles
from keyheat.runfiles import US_PER_MS, FileProblem

LINE = re.compile(r"Tag=(?P<tag>[^,]+),[\d.]+,[\d.]+,[\d.]+,(?P<payload>\S+)")
MOST_BYTES = 64 << 20
MOST_LINES = 1_000
MOST_HISTOGRAM_BYTES = 1 << 20
MOST_DIGITS, MOST_US = 3, 3_600_000_000  # an hour
_NOT_WHOLE = (
    IndexError, ValueError, TypeError, zlib.error,
    HdrCookieException, HdrLengthException, HdrHistogramSettingsException,
)  # fmt: skip


def read_latencies(path: Path) -> Mapping[str, HdrHistogram]:
    """Read the histograms by tag, summed over intervals. Raises `FileProblem`."""
    histograms: dict[str, HdrHistogram] = {}
    for number, tag, payload in _lines(path):
        try:
            histogram = decoded(payload)
        except ValueError as error:
            raise FileProblem(
                f"{path} line {number} holds a damaged histogram ({error}); make it again or restore it"
            ) from error
        if tag in histograms:
            histograms[tag].add(histogram)
        else:
            histograms[tag] = histogram
    return histograms


def accepted_latencies(path: Path) -> HdrHistogram | None:
    """Service times of all accepted attempts in microseconds; None without any. Raises `FileProblem`."""
    accepted = [histogram for tag, histogram in read_latencies(path).items() if tag.endswith(".accepted")]
    if not accepted:
        return None
    total, *others = accepted
    for other in others:
        total.add(other)
    return total if total.get_total_count() else None


def accepted_p99_ms(path: Path) -> float | None:
    """The p99 of all accepted attempts in milliseconds; None without any. Raises `FileProblem`."""
    total = accepted_latencies(path)
    return None if total is None else float(total.get_value_at_percentile(99)) / US_PER_MS


def mean_ms(histogram: HdrHistogram) -> float:
    """Mean of a histogram of microseconds in milliseconds; skips empty buckets for speed."""
    counts = np.array(histogram.counts)
    total = 0.0
    for index in np.flatnonzero(counts).tolist():
        lowest = histogram.get_value_from_index(index)
        width = histogram.get_highest_equivalent_value(lowest) - lowest + 1
        total += float(counts[index]) * (lowest + width // 2)
    return total / max(1, int(histogram.get_total_count())) / US_PER_MS


def _lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Number, tag and payload of each histogram's line."""
    first, _, rest = runfiles.read_text(path, MOST_BYTES).partition("\n")
    if first.strip() != f"#[{runfiles.LATENCY}]":
        raise FileProblem(f"{path} starts with {first[:40]!r}; this version reads '#[{runfiles.LATENCY}]'")
    for number, line in enumerate(rest.splitlines(), start=2):
        if number > MOST_LINES:
            raise FileProblem(f"{path} has more than {MOST_LINES:,} lines; no more are read")
        if line.startswith(("#", '"')) or not line.strip():
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise FileProblem(f"{path} line {number} is not a histogram: {line[:40]!r}")
        yield number, match["tag"], match["payload"]


def decoded(payload: str | bytes) -> HdrHistogram:
    """Unpack an untrusted histogram. Raises `ValueError` if it is damaged or too large."""
    try:
        _check_header(payload)
        return HdrHistogram.decode(payload)
    except _NOT_WHOLE as error:
        raise ValueError(str(error)) from error


def _check_header(payload: str | bytes) -> None:
    """Raise `ValueError` for a histogram that needs more memory than those of a run."""
    unpacker = zlib.decompressobj()
    header = unpacker.decompress(b64decode(payload)[ext_header_size:], MOST_HISTOGRAM_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {MOST_HISTOGRAM_BYTES:,} bytes")
    fields = PayloadHeader.from_buffer_copy(header)
    if fields.significant_figures > MOST_DIGITS or not 0 < fields.highest_trackable_value <= MOST_US:
        raise ValueError(f"a run has {MOST_DIGITS} digits and {MOST_US:,} microseconds at most")
