"""Write a run directory: the manifest first and last, all other files at the end."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final

from keyheat import runfiles
from keyheat.runs.manifest import Keys, KeyUse, KeyWindow
from keyheat.words import WRITES_FIRST, Direction

if TYPE_CHECKING:
    import pyarrow as pa

TOP_KEYS: Final = 20
COUNTS: Final = ("attempts", "accepted", "throttled", "errors")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """Content of the files of a run, except its manifest."""

    seconds: "pa.Table"
    throttles: "pa.Table"
    keys: Keys
    write_latencies: Callable[[IO[bytes]], object]
    partitions: "pa.Table | None" = None  # None: unknown, or written already


@dataclass(slots=True)
class RunFolder:
    """One run's directory. `manifest` is the content of `run.json`."""

    path: Path
    manifest: dict[str, Any]

    def begin(self) -> None:
        self.note({"status": "running", "ended_at": None})

    def forget(self) -> None:
        """Delete the manifest of a run that never began."""
        self._file(runfiles.RUN).unlink(missing_ok=True)

    def end(self, files: RunFiles, more: Mapping[str, Any]) -> None:
        """Write every file, and the manifest, updated with `more`, last. Raises `FileProblem`."""
        from keyheat.runs.parquet import write_table  # here: an install without extras lacks pyarrow

        write_table(self._file(runfiles.SECONDS), runfiles.SECONDS, files.seconds)
        write_table(self._file(runfiles.THROTTLES), runfiles.THROTTLES, files.throttles)
        runfiles.write_atomically(self._file(runfiles.LATENCY), files.write_latencies)
        runfiles.write_json(self._file(runfiles.KEYS), runfiles.KEYS, keys_json(files.keys))
        if files.partitions is not None:
            write_table(self._file(runfiles.PARTITIONS), runfiles.PARTITIONS, files.partitions)
        self.note(more)

    def note(self, more: Mapping[str, Any]) -> None:
        """Update the manifest. Raises `FileProblem`."""
        self.manifest |= more
        runfiles.write_json(self._file(runfiles.RUN), runfiles.RUN, self.manifest)

    def _file(self, format_name: str) -> Path:
        return self.path / runfiles.FILES[format_name]


def versions(*names: str) -> dict[str, str]:
    found = {"python": python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown (run from a checkout)"
    return found


def totals_of(
    seconds: "pa.Table", throttles: "pa.Table", errors_by_kind: Mapping[str, int]
) -> dict[str, Any]:
    """The totals of `run.json`. Rows of an index repeat requests of the table."""
    import pyarrow.compute as pc

    requests = seconds.filter(pc.is_null(seconds["index"]))
    return totals_json(
        {name: pc.sum(requests[name]).as_py() or 0 for name in COUNTS},
        _sums(seconds, "direction", "consumed_units"),
        _sums(throttles, "reason", "count"),
        errors_by_kind,
    )


def totals_json(
    counts: Mapping[str, int],
    units: Mapping[str, float],
    by_reason: Mapping[str | None, int],
    errors_by_kind: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """Format totals: requests to the table, units by direction, throttles by reason."""
    return {
        **{name: counts[name] for name in COUNTS},
        "consumed_units": {side.value: units.get(side, 0.0) for side in WRITES_FIRST},
        "by_reason": dict(sorted((reason or "unstated", count) for reason, count in by_reason.items())),
        "errors_by_kind": dict(errors_by_kind),
    }


def _sums(table: "pa.Table", by: str, column: str) -> dict[Any, Any]:
    summed = table.group_by(by, use_threads=False).aggregate([(column, "sum")])
    return {row[by]: row[f"{column}_sum"] for row in summed.to_pylist()}


Named = Iterable[tuple[str, Sequence[float]]]
"""Keys by name, each with demand, throttles and consumed units."""


def hot_keys(
    direction: Direction,
    *,
    total_units: float,
    overall: Named,
    by_throttles: Named,
    windows: Mapping[int, Named],
    window_s: float,
    digest: Callable[[str], str],
    show: bool,
) -> Keys:
    """The hottest keys of one direction, hottest first: of the run, and of each window.

    `digest` converts a name to a key; `show` keeps the name; `total_units` is the demand of all keys.
    """

    def uses(keys: Named) -> tuple[KeyUse, ...]:
        return tuple(
            KeyUse(
                key=digest(name),
                shown=name if show else None,
                units=units,
                consumed_units=consumed,
                throttles=round(throttles),
                share=min(1.0, units / total_units) if total_units else 0.0,
            )
            for name, (units, throttles, consumed) in keys
        )

    return Keys(
        overall={direction: uses(overall)},
        by_throttles={direction: uses(by_throttles)},
        windows=tuple(
            KeyWindow(
                start=datetime.fromtimestamp(start, UTC),
                seconds=window_s,
                direction=direction,
                top=tuple(
                    KeyUse(key=digest(name), units=units, throttles=round(throttles))
                    for name, (units, throttles, _consumed) in top
                ),
            )
            for start, top in sorted(windows.items())
        ),
    )


def keys_json(keys: Keys) -> dict[str, Any]:
    return {"k": TOP_KEYS, **keys.model_dump(mode="json", exclude_unset=True)}
