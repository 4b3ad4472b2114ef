"""Latencies of a run: HDR histograms in microseconds, one per operation and outcome.

The file is an HdrHistogram log after a first line that states its format; a histogram's tag names it, such as
`PutItem.accepted`. Log format: https://github.com/HdrHistogram/HdrHistogram (HistogramLogWriter).
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram

from tablemodel import runfiles
from tablemodel.runfiles import FileProblem

US_PER_MS = 1_000
_NOT_WHOLE = (
    IndexError,
    ValueError,
    TypeError,
    zlib.error,
    HdrCookieException,
    HdrLengthException,
    HdrHistogramSettingsException,
)


def read_latencies(path: Path) -> Mapping[str, HdrHistogram]:
    """The histograms of a run by tag, intervals of one tag added up. Raises `FileProblem`."""
    first, *lines = _lines(path)
    if first.strip() != f"#[{runfiles.LATENCY}]":
        raise FileProblem(f"{path} does not state {runfiles.LATENCY!r} in its first line")
    found: dict[str, HdrHistogram] = {}
    for number, line in enumerate(lines, start=2):
        if line.startswith("Tag="):
            tag, histogram = _interval(path, number, line)
            if tag in found:
                found[tag].add(histogram)
            else:
                found[tag] = histogram
    return found


def accepted_p99_ms(path: Path) -> float | None:
    """The 99th percentile over every accepted attempt, milliseconds; None where none was accepted.

    Raises `FileProblem`.
    """
    accepted = [histogram for tag, histogram in read_latencies(path).items() if tag.endswith(".accepted")]
    if not accepted:
        return None
    total, *others = accepted
    for other in others:
        total.add(other)
    if not total.get_total_count():
        return None
    return float(total.get_value_at_percentile(99)) / US_PER_MS


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines() or [""]
    except FileNotFoundError as error:
        raise FileProblem(f"{path} is missing") from error
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FileProblem(f"{path} is not an HdrHistogram log: {error}") from error


def _interval(path: Path, number: int, line: str) -> tuple[str, HdrHistogram]:
    """`Tag=NAME,start,length,max,payload` -> the name and its histogram."""
    tag, _, rest = line.removeprefix("Tag=").partition(",")
    try:
        return tag, HdrHistogram.decode(rest.split(",")[3])
    except _NOT_WHOLE as error:
        raise FileProblem(f"{path} line {number} holds no whole histogram ({error!r})") from error
