"""The client's side of a run: its files read with tolerance, its records added up second by second."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from analyzers.formats import SecondCount, ThrottleCount
from analyzers.latency import accepted_p99_ms
from analyzers.manifest import Keys, Manifest, read_keys, read_manifest
from tablemodel import runfiles
from tablemodel.checked import mistakes
from tablemodel.runfiles import FileProblem

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
    return ClientFiles(
        manifest=_or_none(read_manifest, run_dir, missing),
        keys=_or_none(read_keys, run_dir, missing),
        p99_ms=_or_none(accepted_p99_ms, run_dir / runfiles.FILES[runfiles.LATENCY], missing),
        missing=tuple(missing),
    )


def read_records(run_dir: Path) -> Records:
    """Throttles and seconds of a run directory, with a line for each that is missing or damaged."""
    missing: list[str] = []
    return Records(
        throttles=_or_none(throttle_counts, run_dir / runfiles.FILES[runfiles.THROTTLES], missing),
        seconds=_or_none(second_counts, run_dir / runfiles.FILES[runfiles.SECONDS], missing),
        missing=tuple(missing),
    )


def throttle_counts(path: Path) -> tuple[ThrottleCount, ...]:
    """Throttled attempts per second, resource, direction and reason. Raises `FileProblem`."""
    counted = throttles_counted(runfiles.read_table(path, runfiles.THROTTLES))
    return _checked(path, lambda row: ThrottleCount(**row), counted)


def second_counts(path: Path) -> tuple[SecondCount, ...]:
    """Attempts, throttles and consumed units per second, resource and direction. Raises `FileProblem`."""
    summed = seconds_summed(runfiles.read_table(path, runfiles.SECONDS))
    return _checked(path, lambda row: SecondCount(consumed=row.pop("consumed_units"), **row), summed)


def throttles_counted(rows: pa.Table) -> pa.Table:
    """The rows of `throttles.parquet` as second, index, direction, reason and count, in order."""
    second = pc.floor_temporal(rows["at"], unit="second").cast(pa.timestamp("s", tz="UTC"))
    by = ["second", "index", "direction", "reason"]
    counted = rows.append_column("second", second).group_by(by).aggregate([([], "count_all")])
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
