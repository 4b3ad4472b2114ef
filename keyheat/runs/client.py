"""The client's files of a run; missing or damaged ones are reported and skipped.

Readers are imported when needed: an install without extras lacks their libraries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from keyheat import runfiles
from keyheat.runfiles import FileProblem
from keyheat.runs.formats import SecondCount, ThrottleCount
from keyheat.runs.manifest import Keys, Manifest, read_keys, read_manifest

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFiles:
    """Files of the run directory besides `evidence.json`; None if missing or damaged."""

    manifest: Manifest | None = None
    keys: Keys | None = None
    p99_ms: float | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the client recorded per second; None if a file is missing or damaged."""

    throttles: tuple[ThrottleCount, ...] | None
    seconds: tuple[SecondCount, ...] | None
    missing: tuple[str, ...]


NO_RECORDS: Final = Records(throttles=None, seconds=None, missing=())


def read_client_files(run_dir: Path) -> ClientFiles:
    """Read manifest, keys and latency of a run directory."""
    from keyheat.runs.latencies import accepted_p99_ms

    missing: list[str] = []
    manifest = _or_none(read_manifest, run_dir, missing)
    return ClientFiles(
        manifest=manifest,
        keys=_or_none(read_keys, run_dir, missing),
        p99_ms=_or_none(accepted_p99_ms, run_dir / runfiles.FILES[runfiles.LATENCY], missing),
        missing=tuple(missing),
    )


def read_records(run_dir: Path) -> Records:
    """Read throttles and seconds of a run directory."""
    from keyheat.runs.parquet import second_counts, throttle_counts

    missing: list[str] = []
    throttles, seconds = (run_dir / runfiles.FILES[name] for name in (runfiles.THROTTLES, runfiles.SECONDS))
    return Records(
        throttles=_or_none(throttle_counts, throttles, missing),
        seconds=_or_none(second_counts, seconds, missing),
        missing=tuple(missing),
    )


def _or_none(read: Callable[[Path], Found], path: Path, missing: list[str]) -> Found | None:
    try:
        return read(path)
    except FileProblem as problem:
        missing.append(str(problem))
        return None
