"""A run for analysis: requests, throttles and measurements as pandas frames."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from keyheat import runfiles
from keyheat.runfiles import FILES, FileProblem
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.runs.manifest import Manifest, read_keys, read_manifest

if TYPE_CHECKING:  # loads in half a second; most verbs need no frame
    import pandas as pd

Content = TypeVar("Content")


@dataclass(frozen=True)
class Run:
    """A run, or a table over a window: its evidence, and its directory.

    Frames are read on first use; `keyheat.runs.parquet.FRAMES` describes them. Times are the service's, as
    CloudWatch's are. A damaged file raises `FileProblem`.
    """

    evidence: Evidence
    directory: Path | None = None
    diagnosis: Diagnosis | None = None
    client: ClientFiles | None = None
    """Files of the load generator; None for another client."""

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest; None if there is no `run.json`."""
        return self._read(runfiles.RUN, lambda path: read_manifest(path.parent))

    @cached_property
    def seconds(self) -> "pd.DataFrame":
        """Requests and responses, second by second."""
        from keyheat.runs import frames

        rows = self._rows(runfiles.SECONDS)
        return frames.seconds_of(self.evidence.seconds or ()) if rows is None else rows

    @cached_property
    def throttles(self) -> "pd.DataFrame":
        from keyheat.runs import frames

        rows = self._rows(runfiles.THROTTLES)
        return frames.throttles_of(self.evidence) if rows is None else rows

    @cached_property
    def minutes(self) -> "pd.DataFrame":
        """CloudWatch's points."""
        from keyheat.runs import frames

        return frames.minutes_of(self.evidence)

    @cached_property
    def latency(self) -> "pd.DataFrame":
        """Durations of requests."""
        from keyheat.runs import frames
        from keyheat.runs.latencies import read_latencies

        return frames.latency_of(self._read(runfiles.LATENCY, read_latencies) or {})

    @cached_property
    def keys(self) -> "pd.DataFrame":
        """The hottest partition keys."""
        from keyheat.runs import frames
        from keyheat.runs.manifest import Keys

        keys = self._read(runfiles.KEYS, lambda path: read_keys(path.parent))
        return frames.keys_of(keys or Keys())

    @cached_property
    def labels(self) -> "pd.DataFrame":
        """The limits that were reached, with time and basis."""
        from keyheat.runs import frames

        return frames.frame("labels", []) if self.diagnosis is None else frames.labels_of(self.diagnosis)

    def _rows(self, format_name: str) -> "pd.DataFrame | None":
        return self._read(format_name, lambda path: _rows(path, format_name))

    def _read(self, format_name: str, read: Callable[[Path], Content]) -> Content | None:
        """Read a file of the directory; None if it is missing. Raises `FileProblem`."""
        path = self.directory / FILES[format_name] if self.directory else None
        return read(path) if path is not None and path.exists() else None


def read_seconds(folder: Path) -> "pd.DataFrame":
    """Read the frame of seconds of a run directory. Raises `FileProblem`."""
    return _rows(folder / FILES[runfiles.SECONDS], runfiles.SECONDS)


def read_counted_throttles(folder: Path) -> "pd.DataFrame":
    """Read the frame of throttles, with equal ones of a second in one row.

    Counting a million rows is faster than converting them. Raises `FileProblem`.
    """
    from keyheat.runs import frames
    from keyheat.runs.parquet import read_table, throttles_counted

    rows = read_table(folder / FILES[runfiles.THROTTLES], runfiles.THROTTLES)
    counted = throttles_counted(rows)
    return frames.of_rows("throttles", counted.rename_columns({"second": "at"}))


def read_partitions(folder: Path) -> "pd.DataFrame":
    """Read the rows of `partitions.parquet` by resource. Raises `FileProblem`."""
    from keyheat.runs import frames
    from keyheat.runs.parquet import read_table

    return frames.of_partitions(read_table(folder / FILES[runfiles.PARTITIONS], runfiles.PARTITIONS))


def _rows(path: Path, format_name: str) -> "pd.DataFrame":
    from keyheat.runs import frames
    from keyheat.runs.parquet import read_table

    return frames.of_rows(path.stem, read_table(path, format_name))


def place_of(path: Path) -> tuple[Path | None, Path | None]:
    """The run directory and evidence file of a path. Raises `FileProblem` for anything else."""
    if path.is_file():
        return None, path
    evidence, manifest = (path / FILES[name] for name in (runfiles.EVIDENCE, runfiles.RUN))
    if evidence.exists() or manifest.exists():
        return path, evidence if evidence.exists() else None
    if not path.exists():
        raise FileProblem(f"there is no {path}: name a run directory, or an evidence.json")
    raise FileProblem(
        f"{path} is not a run directory: it has neither run.json nor evidence.json"
        f"{runfiles.runs_below(path)}; `keyheat simulate SCENARIO` makes one"
    )
