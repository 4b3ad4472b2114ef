"""The client's side of a run: its files read with tolerance, its latencies, its records second by second."""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram
from pydantic import ValidationError

from keyheat import runfiles
from keyheat.runfiles import FileProblem
from keyheat.runs.formats import SecondCount, ThrottleCount
from keyheat.runs.manifest import Keys, Manifest, read_keys, read_manifest
from keyheat.validation import mistakes

US_PER_MS = 1_000
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


Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFiles:
    """What the run directory says beside `evidence.json`; None where a file is missing or damaged."""

    manifest: Manifest | None = None
    keys: Keys | None = None
    p99_ms: float | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the client saw, second by second; None where a file is missing or damaged."""

    throttles: tuple[ThrottleCount, ...] | None
    seconds: tuple[SecondCount, ...] | None
    missing: tuple[str, ...]


NO_RECORDS: Final = Records(throttles=None, seconds=None, missing=())


def read_client_files(run_dir: Path) -> ClientFiles:
    """Manifest, keys and latency of a run directory, with a line for each that is missing or damaged."""
    missing: list[str] = []
    manifest = _or_none(read_manifest, run_dir, missing)
    ahead_s = manifest.rows_ahead_s if manifest else 0
    return ClientFiles(
        manifest=manifest,
        keys=_or_none(lambda path: read_keys(path, ahead_s), run_dir, missing),
        p99_ms=_or_none(accepted_p99_ms, run_dir / runfiles.FILES[runfiles.LATENCY], missing),
        missing=tuple(missing),
    )


def read_records(run_dir: Path, ahead_s: int = 0) -> Records:
    """Throttles and seconds of a run directory, moved by `ahead_s` seconds into the service's time.

    There is a line for each that is missing or damaged.
    """
    missing: list[str] = []
    throttles, seconds = (run_dir / runfiles.FILES[name] for name in (runfiles.THROTTLES, runfiles.SECONDS))
    return Records(
        throttles=_or_none(lambda path: throttle_counts(path, ahead_s), throttles, missing),
        seconds=_or_none(lambda path: second_counts(path, ahead_s), seconds, missing),
        missing=tuple(missing),
    )


def throttle_counts(path: Path, ahead_s: int = 0) -> tuple[ThrottleCount, ...]:
    """Throttled attempts per second, resource, direction and reason. Raises `FileProblem`."""
    counted = throttles_counted(moved(runfiles.read_table(path, runfiles.THROTTLES), ahead_s))
    return _checked(path, lambda row: ThrottleCount(**row), counted)


def moved(rows: pa.Table, ahead_s: int) -> pa.Table:
    """Rows of the client with their times (`second`, `at`) moved by whole seconds."""
    if not ahead_s:
        return rows
    for place, name in enumerate(rows.column_names):
        if name in ("second", "at"):
            later = pc.add(rows[name], pa.scalar(timedelta(seconds=ahead_s), pa.duration("s")))
            rows = rows.set_column(place, name, later.cast(rows[name].type))
    return rows


def second_counts(path: Path, ahead_s: int = 0) -> tuple[SecondCount, ...]:
    """Attempts, throttles and consumed units per second, resource and direction. Raises `FileProblem`."""
    summed = seconds_summed(moved(runfiles.read_table(path, runfiles.SECONDS), ahead_s))
    return _checked(path, lambda row: SecondCount(consumed=row.pop("consumed_units"), **row), summed)


def throttles_counted(rows: pa.Table) -> pa.Table:
    """The attempts in `throttles.parquet` as second, index, direction, reason and count, in order."""
    second = pc.floor_temporal(rows["at"], unit="second").cast(pa.timestamp("s", tz="UTC"))
    by = ["second", "index", "direction", "reason"]
    counted = rows.append_column("second", second).group_by(by).aggregate([("count", "sum")])
    return _in_order(counted.rename_columns([*by, "count"]), by)


def seconds_summed(rows: pa.Table) -> pa.Table:
    """The rows of `seconds.parquet` as second, index, direction, attempts, throttled and consumed_units."""
    by, amounts = ["second", "index", "direction"], ["attempts", "throttled", "consumed_units"]
    summed = rows.group_by(by).aggregate([(name, "sum") for name in amounts])
    return _in_order(summed.rename_columns([*by, *amounts]), by)


def _in_order(table: pa.Table, by: list[str]) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in by])


def _checked(path: Path, make: Callable[[dict[str, Any]], Found], rows: pa.Table) -> tuple[Found, ...]:
    try:
        return tuple(make(row) for row in rows.to_pylist())
    except ValidationError as error:
        raise FileProblem(f"{path}: {mistakes(error)[0]}") from error


def _or_none(read: Callable[[Path], Found], path: Path, missing: list[str]) -> Found | None:
    try:
        return read(path)
    except FileProblem as problem:
        missing.append(str(problem))
        return None
