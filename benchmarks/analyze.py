"""A run of one hour with 1,000,000 throttled attempts: from its files to the diagnosis, as a whole process.

python -m benchmarks.analyze

The child process reads `throttles.parquet` and `seconds.parquet`, writes `evidence.json`, labels it, writes
`diagnosis.json`; its time includes the start of Python, its memory is the peak that the kernel saw.
"""

import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from analyzers.client import read_records
from analyzers.diagnosis import analyze_run
from analyzers.formats import Evidence, Series, TableFacts, Window, write_diagnosis, write_evidence
from analyzers.metrics import cause_events, consumed, provisioned, throttle_events
from benchmarks._table import Row, show
from tablemodel import runfiles
from tablemodel.resources import Cause

THROTTLES = 1_000_000
HOUR_S = 3_600
START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TABLE = TableFacts.model_validate(
    {"name": "bench", "billing_mode": "PROVISIONED", "provisioned": {"read": 100, "write": 4_000}}
)


def make_run(folder: Path) -> None:
    """Write the files of an hour in which one key is throttled 278 times a second."""
    end = START + timedelta(seconds=HOUR_S)
    manifest = {
        "run_id": "bench", "status": "finished", "target": "local", "started_at": START, "ended_at": end,
        "table": TABLE.model_dump(mode="json"), "generator": {"bound": False, "checks": []},
        "totals": {"attempts": 4_600_000, "accepted": 3_600_000, "throttled": THROTTLES, "errors": 0},
    }  # fmt: skip
    hottest = [{"key": "sha256:0", "units": 4e6, "throttles": THROTTLES, "share": 0.9}]
    runfiles.write_json(folder / "run.json", runfiles.RUN, manifest)
    runfiles.write_json(folder / "keys.json", runfiles.KEYS, {"overall": {"write": hottest}, "windows": []})
    runfiles.write_table(folder / "throttles.parquet", runfiles.THROTTLES, _throttles())
    runfiles.write_table(folder / "seconds.parquet", runfiles.SECONDS, _seconds())


def _throttles() -> pa.Table:
    rng = np.random.default_rng(1)
    at_us = np.sort(rng.integers(HOUR_S * 1_000_000, size=THROTTLES)) + int(START.timestamp()) * 1_000_000
    keys = pa.array([f"sha256:{number:016x}" for number in range(1_000)])
    columns = {
        "at": pa.array(at_us),
        "index": pa.nulls(THROTTLES, pa.string()),
        "direction": pa.repeat("write", THROTTLES),
        "reason": pa.repeat("TableWriteKeyRangeThroughputExceeded", THROTTLES),
        "operation": pa.repeat("PutItem", THROTTLES),
        "key": keys.take(pa.array(rng.integers(1_000, size=THROTTLES))),
        "units": pa.repeat(1.0, THROTTLES),
        "late_us": pa.array(rng.integers(1_000, size=THROTTLES)),
        "service_us": pa.array(rng.integers(100, 9_000, size=THROTTLES)),
    }
    return pa.table(columns)


def _seconds() -> pa.Table:
    row = {
        "index": None, "direction": "write", "operation": "PutItem", "attempts": 1_278, "accepted": 1_000,
        "throttled": 278, "errors": 0, "consumed_units": 1_000.0,
    }  # fmt: skip
    rows = [{"second": START + timedelta(seconds=second), **row} for second in range(HOUR_S)]
    return pa.Table.from_pylist(rows, schema=runfiles.SECONDS_SCHEMA)


def analyze(folder: Path) -> None:
    """What the child process does: evidence from the files and an hour of minutes, then the diagnosis."""
    records = read_records(folder)
    minutes = [START + timedelta(minutes=minute) for minute in range(60)]
    values = {
        consumed("write"): 60_000.0,
        provisioned("write"): 4_000.0,
        throttle_events("write"): THROTTLES / 60,
        cause_events("write", Cause.KEY_RANGE): THROTTLES / 60,
    }
    series = tuple(
        Series(metric=name, statistic="Sum", period_s=60, points=tuple((at, value) for at in minutes))
        for name, value in values.items()
    )
    evidence = Evidence(
        table=TABLE,
        window=Window(start=START, end=START + timedelta(seconds=HOUR_S)),
        series=series,
        throttles=records.throttles,
        seconds=records.seconds,
    )
    write_evidence(folder / "evidence.json", evidence)
    write_diagnosis(folder / "diagnosis.json", analyze_run(folder))


def measure(folder: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of a child process that analyzes the run."""
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "benchmarks.analyze", str(folder)])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"the analyzer ended with exit code {child.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def rows() -> list[Row]:
    """Measure once."""
    with tempfile.TemporaryDirectory() as name:
        make_run(Path(name))
        took_s, peak_mb = measure(Path(name))
    note = f"{THROTTLES:,} throttle rows over 1 hour"
    return [
        Row(what="collect the client's files and analyze", measured=took_s, unit="s", at_most=15, note=note),
        Row(what="peak memory", measured=peak_mb, unit="MB", at_most=1_024, note="of the whole process"),
    ]


if __name__ == "__main__":
    if len(sys.argv) == 2:
        analyze(Path(sys.argv[1]))
    else:
        raise SystemExit(0 if show("Analyze", rows()) else 1)
