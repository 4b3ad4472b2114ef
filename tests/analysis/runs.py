"""Run directories as a load leaves them, written from synthetic runs, and collected without waiting."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from keyheat import runfiles
from keyheat.evidence import collection
from keyheat.runs import parquet


def write_run(folder: Path, run: Any, **changes: Any) -> None:
    totals = {
        "attempts": sum(s.attempts for s in run.seconds),
        "throttled": sum(s.throttled for s in run.seconds),
    }
    manifest = {
        "run_id": "r", "status": "finished", "target": "local", "seed": 1, "scale": 1.0,
        "started_at": run.start, "ended_at": run.end, "totals": totals, "versions": {},
        "table": {"name": run.described["TableName"]},
        "generator": {"bound": False, "checks": ["quick enough"]},
    }  # fmt: skip
    runfiles.write_json(folder / "run.json", runfiles.RUN, {**manifest, **changes})
    runfiles.write_json(folder / "keys.json", runfiles.KEYS, run.keys.model_dump(mode="json"))
    seconds = [
        {
            "second": s.second, "index": s.index, "direction": s.direction, "operation": "PutItem",
            "errors": 0, "unmet": s.unmet,
            "attempts": s.attempts, "accepted": s.attempts - s.throttled, "throttled": s.throttled,
            "consumed_units": s.consumed,
        }
        for s in run.seconds
    ]  # fmt: skip
    table = pa.Table.from_pylist(seconds, schema=parquet.SECONDS_SCHEMA)
    parquet.write_table(folder / "seconds.parquet", runfiles.SECONDS, table)
    rows = [
        {
            "at": row.second + timedelta(microseconds=n * 10), "index": row.index, "direction": row.direction,
            "reason": row.reason, "operation": "PutItem", "key": "sha256:0", "units": 1.0, "late_us": 0,
            "service_us": 500, "count": 1,
        }
        for row in run.throttles
        for n in range(row.count)
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows, schema=parquet.THROTTLES_SCHEMA)
    parquet.write_table(folder / "throttles.parquet", runfiles.THROTTLES, table)


def collect(run_dir: Path, aws: Any, told: list[tuple[str, float]] | None = None) -> Any:
    def progress(what: str, left_s: float) -> None:
        (told if told is not None else []).append((what, left_s))

    return collection.collect(
        run_dir, client_factory=aws.factory, clock=aws.clock, sleep=aws.clock.sleep, progress=progress
    )
