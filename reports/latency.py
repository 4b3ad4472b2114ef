"""`latency.hdr` read: how long requests took, by operation and outcome.

The file is an HdrHistogram log (https://github.com/HdrHistogram/HdrHistogram): a format line, then one line
per histogram, `Tag=PutItem.accepted,start,length,max,payload`, with values in microseconds.
"""

import binascii
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram

from tablemodel.runfiles import LATENCY, FileProblem

TABLE_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
POINTS_PER_NINE = 20
LINE = re.compile(r"Tag=(?P<tag>[^,]+),[\d.]+,[\d.]+,[\d.]+,(?P<payload>\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Service time of one operation with one outcome (`accepted`, `throttled`, ...), in milliseconds."""

    operation: str
    outcome: str
    count: int
    mean_ms: float
    max_ms: float
    curve: tuple[tuple[float, float], ...]  # (percentile, milliseconds)
    table: tuple[float, ...]  # milliseconds at TABLE_PERCENTILES


def read_latency(path: Path) -> tuple[Latency, ...]:
    """Every histogram of the file, those of one tag added up. Raises `FileProblem`."""
    merged: dict[str, HdrHistogram] = {}
    for tag, payload in _lines(path):
        histogram = _decoded(path, payload)
        if tag in merged:
            merged[tag].add(histogram)
        else:
            merged[tag] = histogram
    return tuple(_latency(tag, merged[tag]) for tag in sorted(merged) if merged[tag].get_total_count())


def percentile_grid(count: int) -> list[float]:
    """Percentiles worth drawing for `count` values: evenly spaced nines, no further than one value."""
    nines = math.log10(max(count, 10))
    steps = math.floor(nines * POINTS_PER_NINE)
    return [0.0] + [100 * (1 - 10 ** (-step / POINTS_PER_NINE)) for step in range(1, steps + 1)]


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileProblem(f"{path} is missing") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FileProblem(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not text'}") from error
    first, _, rest = text.partition("\n")
    if first.strip() != f"#[{LATENCY}]":
        raise FileProblem(f"{path} starts with {first[:40]!r}; this version reads '#[{LATENCY}]'")
    for line in rest.splitlines():
        if line.startswith(("#", '"')) or not line.strip():
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise FileProblem(f"{path} has a line that is not a histogram: {line[:40]!r}")
        yield match["tag"], match["payload"]


def _decoded(path: Path, payload: str) -> HdrHistogram:
    try:
        return HdrHistogram.decode(payload)
    except (
        ValueError, zlib.error, binascii.Error,
        HdrCookieException, HdrLengthException, HdrHistogramSettingsException,
    ) as error:  # fmt: skip
        raise FileProblem(f"{path} has a damaged histogram ({error}); make it again or restore it") from error


def _latency(tag: str, histogram: HdrHistogram) -> Latency:
    operation, _, outcome = tag.partition(".")
    grid = percentile_grid(histogram.get_total_count())
    at = histogram.get_percentile_to_value_dict([*grid, *TABLE_PERCENTILES])
    return Latency(
        operation=operation,
        outcome=outcome or "all",
        count=histogram.get_total_count(),
        mean_ms=histogram.get_mean_value() / 1000,
        max_ms=histogram.get_max_value() / 1000,
        curve=(*((percentile, at[percentile] / 1000) for percentile in grid), _slowest(histogram)),
        table=tuple(at[percentile] / 1000 for percentile in TABLE_PERCENTILES),
    )


def _slowest(histogram: HdrHistogram) -> tuple[float, float]:
    """The end of the curve: the one slowest request."""
    return 100 * (1 - 1 / max(histogram.get_total_count(), 10)), histogram.get_max_value() / 1000
