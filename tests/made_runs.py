"""Summaries of runs, hour after hour, and evidence as a report takes it, without any load."""

from datetime import timedelta
from pathlib import Path

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.report import ReportRun, evidence_alone
from keyheat.analysis.summary import RunSummary
from keyheat.runs.plausibility import read_evidence
from tests.make import SETUP, START, a_summary

CALM = {"resource": None, "direction": None, "grade": "none", "labels": ()}


def summary(
    scenario: str = "hotkey",
    *,
    hours: float = 0,
    constraint: str = "partition",
    target: str = "local",
    valid: bool = True,
    accepted: float = 1_000.0,
    share: float = 0.3,
    p99_ms: float | None = 9.0,
) -> RunSummary:
    """A run that began so many hours after the first."""
    return a_summary(
        run_id=f"{scenario}-{hours}",
        scenario=scenario,
        question=f"Does {scenario} throttle?",
        started_at=START + timedelta(hours=hours),
        setup=SETUP.model_copy(update={"target": target, "scenario": {"name": scenario}}),
        valid=valid,
        constraint=constraint,
        attempts=1_000,
        throttled=round(1_000 * share),
        measures={"accepted_units_per_s.write": accepted, "throttle_share": share, "p99_ms": p99_ms},
        **(CALM if constraint == "none" else {}),
    )


def load_evidence(path: Path) -> ReportRun:
    """An evidence file, wherever it came from, with its diagnosis."""
    evidence = read_evidence(path)
    return evidence_alone(evidence, diagnosed(evidence))
