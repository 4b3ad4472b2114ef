"""Run directories as a load leaves them, written from synthetic runs, and collected without waiting."""

from pathlib import Path
from typing import Any

from keyheat import runfiles
from keyheat.evidence import collection
from keyheat.simulator import folder as simulated


def write_run(folder: Path, run: Any, **changes: Any) -> None:
    simulated.write_run(run.made, folder)
    totals = {name: sum(getattr(row, name) for row in run.seen.seconds) for name in ("attempts", "throttled")}
    manifest = {
        "run_id": "r", "status": "finished", "target": "local", "seed": 1, "scale": 1.0,
        "started_at": run.start, "ended_at": run.end, "totals": totals, "versions": {},
        "table": {"name": run.described["TableName"]},
        "generator": {"bound": False, "checks": ["quick enough"]},
    }  # fmt: skip
    runfiles.write_json(folder / "run.json", runfiles.RUN, {**manifest, **changes})


def collect(run_dir: Path, aws: Any, told: list[tuple[str, float]] | None = None) -> Any:
    def progress(what: str, left_s: float) -> None:
        (told if told is not None else []).append((what, left_s))

    return collection.collect(
        run_dir, client_factory=aws.factory, clock=aws.clock, sleep=aws.clock.sleep, progress=progress
    )
