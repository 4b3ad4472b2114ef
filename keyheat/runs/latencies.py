"""How long the requests of a run took: the histograms of `latency.hdr`, in microseconds."""

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram

from keyheat import runfiles
from keyheat.runfiles import US_PER_MS, FileProblem

LINE = re.compile(r"Tag=(?P<tag>[^,]+),[\d.]+,[\d.]+,[\d.]+,(?P<payload>\S+)")
_NOT_WHOLE = (
    IndexError, ValueError, TypeError, zlib.error,
    HdrCookieException, HdrLengthException, HdrHistogramSettingsException,
)  # fmt: skip


def read_latencies(path: Path) -> Mapping[str, HdrHistogram]:
    """The histograms of a run by tag, intervals of one tag added up. Raises `FileProblem`."""
    found: dict[str, HdrHistogram] = {}
    for number, tag, payload in _lines(path):
        histogram = _decoded(path, number, payload)
        if tag in found:
            found[tag].add(histogram)
        else:
            found[tag] = histogram
    return found


def accepted_latencies(path: Path) -> HdrHistogram | None:
    """The service times of all accepted attempts together, microseconds; None where none was accepted.

    Raises `FileProblem`.
    """
    accepted = [histogram for tag, histogram in read_latencies(path).items() if tag.endswith(".accepted")]
    if not accepted:
        return None
    total, *others = accepted
    for other in others:
        total.add(other)
    return total if total.get_total_count() else None


def accepted_p99_ms(path: Path) -> float | None:
    """The 99th percentile over every accepted attempt, milliseconds; None where none was accepted.

    Raises `FileProblem`.
    """
    total = accepted_latencies(path)
    return None if total is None else float(total.get_value_at_percentile(99)) / US_PER_MS


def mean_ms(histogram: HdrHistogram) -> float:
    """The mean of a histogram of microseconds, milliseconds: its own, without a look at empty buckets."""
    counts = np.array(histogram.counts)
    total = 0.0
    for index in np.flatnonzero(counts).tolist():
        lowest = histogram.get_value_from_index(index)
        width = histogram.get_highest_equivalent_value(lowest) - lowest + 1
        total += float(counts[index]) * (lowest + width // 2)
    return total / max(1, int(histogram.get_total_count())) / US_PER_MS


def _lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """The number, tag and payload of each histogram's line."""
    first, _, rest = runfiles.read_text(path).partition("\n")
    if first.strip() != f"#[{runfiles.LATENCY}]":
        raise FileProblem(f"{path} starts with {first[:40]!r}; this version reads '#[{runfiles.LATENCY}]'")
    for number, line in enumerate(rest.splitlines(), start=2):
        if line.startswith(("#", '"')) or not line.strip():
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise FileProblem(f"{path} line {number} is not a histogram: {line[:40]!r}")
        yield number, match["tag"], match["payload"]


def _decoded(path: Path, number: int, payload: str) -> HdrHistogram:
    try:
        return HdrHistogram.decode(payload)
    except _NOT_WHOLE as error:
        raise FileProblem(
            f"{path} line {number} holds a damaged histogram ({error}); make it again or restore it"
        ) from error
