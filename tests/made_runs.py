"""Run directories in a few numbers, written as a run leaves them, without any load."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from keyheat import runfiles
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.report import ReportRun, evidence_alone
from keyheat.analysis.setup import Setup
from keyheat.analysis.summary import RunSummary
from keyheat.runfiles import FILES
from keyheat.runs.plausibility import read_evidence

FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def summary(
    scenario: str = "hotkey",
    *,
    hours: float = 0,
    constraint: str = "partition",
    machine: str | None = "aaaa",
    target: str = "local",
    valid: bool = True,
    accepted: float = 1_000.0,
    share: float = 0.3,
    p99_ms: float | None = 9.0,
) -> RunSummary:
    """A run that began so many hours after the first."""
    limited = constraint != "none"
    measures = {"accepted_units_per_s.write": accepted, "throttle_share": share}
    return RunSummary.model_validate(
        {
            "run_id": f"{scenario}-{hours}",
            "scenario": scenario,
            "question": f"Does {scenario} throttle?",
            "started_at": FIRST + timedelta(hours=hours),
            "duration_s": 60.0,
            "seed": 1,
            "status": "finished",
            "setup": Setup(target=target, machine=machine, scenario={"name": scenario}),
            "valid": valid,
            "constraint": constraint,
            "resource": "table" if limited else None,
            "direction": "write" if limited else None,
            "grade": "reason" if limited else "none",
            "confidence": 0.98,
            "labels": ("table write partition",) if constraint == "partition" else (),
            "attempts": 1_000,
            "throttled": round(1_000 * share),
            "measures": measures | ({} if p99_ms is None else {"p99_ms": p99_ms}),
        }
    )


def written(folder: Path, made: RunSummary, *, report: bool = True) -> Path:
    """A run directory that was analyzed; its diagnosis is there and says nothing."""
    started(folder, made.scenario, status="finished", at=made.started_at)
    (folder / FILES[runfiles.DIAGNOSIS]).write_text("{}")
    _json(folder, runfiles.SUMMARY, made.model_dump(mode="json"))
    if report:
        (folder / "report.html").write_text("<!doctype html><title>a report</title>")
    return folder


def started(folder: Path, scenario: str, *, status: str = "running", at: datetime = FIRST) -> Path:
    """A run directory that holds its manifest alone."""
    content: dict[str, Any] = {
        "run_id": folder.name,
        "status": status,
        "target": "local",
        "scenario": {"name": scenario, "question": f"Does {scenario} throttle?"},
        "started_at": at.isoformat(),
        "ended_at": None if status == "running" else (at + timedelta(seconds=60)).isoformat(),
        "table": {"name": f"table-of-{scenario}"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    _json(folder, runfiles.RUN, content)
    return folder


def _json(folder: Path, name: str, content: dict[str, Any]) -> None:
    """As `write_json` writes it, without waiting for the disk."""
    (folder / FILES[name]).write_bytes(orjson.dumps({"format": name, **content}))


def load_evidence(path: Path) -> ReportRun:
    """An evidence file, wherever it came from, with its diagnosis."""
    evidence = read_evidence(path)
    return evidence_alone(evidence, diagnosed(evidence))
