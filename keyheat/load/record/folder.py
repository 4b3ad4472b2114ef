"""What a load's record leaves in its run directory."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from keyheat.load.record.latency import write_log
from keyheat.load.record.record import Record
from keyheat.load.record.sketch import KeyHeat, hottest
from keyheat.load.record.verdict import Verdict
from keyheat.runfiles import time_of
from keyheat.runs.folder import TOP_KEYS, HotKeys, KeyLine, RunFiles, RunFolder, totals_of
from keyheat.scenario.keys import digest_of
from keyheat.words import WRITES_FIRST, Direction


def end_run(
    folder: RunFolder, record: Record, verdict: Verdict, *, status: str, start_s: float, end_s: float
) -> None:
    """Write every file of a load that is over. Raises `FileProblem`."""
    files = RunFiles(
        seconds=record.seconds.table(),
        throttles=record.throttles.table(),
        keys=keys_of(record),
        write_latencies=lambda file: write_log(file, record.latencies, start_s=start_s, end_s=end_s),
    )
    more: dict[str, Any] = {
        "status": status,
        "ended_at": time_of(end_s),
        "generator": asdict(verdict),
        "totals": totals_of(files.seconds, files.throttles, record.errors_by_kind),
        "counted": dict(sorted(record.counted.items())),
    }
    folder.end(files, more)


def keys_of(record: Record) -> tuple[HotKeys, ...]:
    """The hottest keys of the run and of each window."""
    return tuple(_hot(direction, record.heat[direction]) for direction in WRITES_FIRST)


def _hot(direction: Direction, heat: KeyHeat) -> HotKeys:
    named: Callable[[str], str] = digest_of if heat.show_keys else str
    windows: dict[int, Iterable[tuple[str, list[float]]]] = {
        start: hottest(keys, TOP_KEYS) for start, keys in heat.windows.items()
    }
    overall, by_throttles = (
        [
            KeyLine(named(k.name), k.name if heat.show_keys else None, k.units, k.consumed, k.throttles)
            for k in top
        ]
        for top in (heat.sketch.top(TOP_KEYS), heat.sketch.top_throttled(TOP_KEYS))
    )
    return HotKeys(
        direction=direction,
        total_units=heat.sketch.total_units,
        overall=overall,
        by_throttles=by_throttles,
        window_s=heat.window_s,
        windows={
            start: [KeyLine(named(name), None, use[0], use[2], int(use[1])) for name, use in top]
            for start, top in windows.items()
        },
    )
