"""The files that a run leaves: the manifest at its start, and all of them at its end."""

from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

from keyheat import runfiles
from keyheat.load.record.latency import write_log
from keyheat.load.record.record import Record
from keyheat.load.record.seconds import ACCEPTED, ATTEMPTS, ERRORS, THROTTLED
from keyheat.load.record.sketch import HotKey, KeyHeat, hottest
from keyheat.load.record.verdict import Verdict
from keyheat.runfiles import time_of as time_of
from keyheat.scenario.keynames import digest_of
from keyheat.words import WRITES_FIRST

TOP_KEYS = 20


def versions() -> dict[str, str]:
    """The versions of what the result depends on."""
    return {"python": python_version()} | {name: _version(name) for name in ("keyheat", "locust", "botocore")}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown (run from a checkout)"


@dataclass(slots=True)
class RunFolder:
    """One run's directory. `manifest` is what `run.json` says, written at the start and again at the end."""

    path: Path
    manifest: dict[str, Any]

    def begin(self) -> None:
        """Write the manifest of a run that is under way. Raises `FileProblem`."""
        self._write_manifest({"status": "running", "ended_at": None})

    def forget(self) -> None:
        """Take back what `begin` wrote, of a run that never began."""
        self._file(runfiles.RUN).unlink(missing_ok=True)

    def end(self, record: Record, verdict: Verdict, *, status: str, start_s: float, end_s: float) -> None:
        """Write every file, and last the manifest that says so. Raises `FileProblem`."""
        runfiles.write_table(self._file(runfiles.SECONDS), runfiles.SECONDS, record.seconds.table())
        runfiles.write_table(self._file(runfiles.THROTTLES), runfiles.THROTTLES, record.throttles.table())
        runfiles.write_atomically(
            self._file(runfiles.LATENCY),
            lambda file: write_log(file, record.latencies, start_s=start_s, end_s=end_s),
        )
        runfiles.write_json(self._file(runfiles.KEYS), runfiles.KEYS, keys_of(record))
        self._write_manifest(
            {
                "status": status,
                "ended_at": time_of(end_s),
                "generator": asdict(verdict),
                "totals": totals_of(record),
                "counted": dict(sorted(record.counted.items())),
            }
        )

    def _file(self, format_name: str) -> Path:
        return self.path / runfiles.FILES[format_name]

    def _write_manifest(self, more: dict[str, Any]) -> None:
        self.manifest |= more
        runfiles.write_json(self._file(runfiles.RUN), runfiles.RUN, self.manifest)


def totals_of(record: Record) -> dict[str, Any]:
    """The run in numbers."""
    counts = record.seconds.total()
    return {
        "attempts": int(counts[ATTEMPTS]),
        "accepted": int(counts[ACCEPTED]),
        "throttled": int(counts[THROTTLED]),
        "errors": int(counts[ERRORS]),
        "consumed_units": {direction: record.seconds.consumed_units(direction) for direction in WRITES_FIRST},
        "by_reason": record.throttles.by_reason(),
        "errors_by_kind": dict(record.errors_by_kind),
    }


def keys_of(record: Record) -> dict[str, Any]:
    """The content of `keys.json`: the hottest keys of the run and of each window."""
    heats = [(direction, record.heat[direction]) for direction in WRITES_FIRST]
    return {
        "k": TOP_KEYS,
        "overall": {side: _overall(heat, heat.sketch.top(TOP_KEYS)) for side, heat in heats},
        "by_throttles": {side: _overall(heat, heat.sketch.top_throttled(TOP_KEYS)) for side, heat in heats},
        "windows": [
            {
                "start": time_of(start),
                "seconds": heat.window_s,
                "direction": direction,
                "top": [
                    {"key": _digest(name, heat), "units": units, "throttles": int(throttles)}
                    for name, (units, throttles, _consumed) in hottest(named, TOP_KEYS)
                ],
            }
            for direction, heat in heats
            for start, named in sorted(heat.windows.items())
        ],
    }


def _overall(heat: KeyHeat, top: list[HotKey]) -> list[dict[str, Any]]:
    total_units = heat.sketch.total_units
    return [
        {
            "key": _digest(key.name, heat),
            "shown": key.name if heat.show_keys else None,
            "units": key.units,
            "consumed_units": key.consumed,
            "throttles": key.throttles,
            "share": min(1.0, key.units / total_units) if total_units else 0.0,
        }
        for key in top
    ]


def _digest(name: str, heat: KeyHeat) -> str:
    return digest_of(name) if heat.show_keys else name
