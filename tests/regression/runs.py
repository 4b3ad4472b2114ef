"""Made-up summaries of runs, for tests of what counts as a change."""

from datetime import UTC, datetime
from typing import Any

from keyheat.analysis.summary import RunSummary, Setup

SETUP = Setup(
    target="local",
    region="us-east-1",
    machine="0123456789abcdef",
    machine_says="2 cores, 24 GiB",
    table={"billing_mode": "PROVISIONED", "provisioned.write": 4_000.0},
    scenario="fedcba9876543210",
    versions={"keyheat": "0.1.0", "python": "3.11.7", "locust": "2.47.0"},
)
SIMULATED = SETUP.model_copy(update={"target": "simulated", "machine": None, "machine_says": None})
PARTITION = "table write partition"
MEASURES = {
    "units_per_operation.write": 1.0,
    "write_amplification": 1.0,
    "accepted_units_per_s.write": 1_000.0,
    "throttle_share": 0.2,
    "first_throttle_s": 5.0,
}


def a_summary(seed: int | None = 1, *, setup: Setup = SETUP, **more: Any) -> RunSummary:
    """One run whose `measures` are taken for others where given; a number of None takes one away."""
    numbers = MEASURES | more.pop("measures", {})
    known: dict[str, Any] = {
        "run_id": f"run-{seed}",
        "scenario": "hotkey",
        "started_at": datetime(2026, 11, 22, tzinfo=UTC),
        "duration_s": 50.0,
        "seed": seed,
        "status": "finished",
        "setup": setup,
        "valid": True,
        "constraint": "partition",
        "resource": "table",
        "grade": "reason",
        "confidence": 0.98,
        "labels": (PARTITION,),
        "attempts": 10_000,
        "throttled": 2_000,
        "measures": {name: value for name, value in numbers.items() if value is not None},
    }
    return RunSummary(**known | more)


def with_measure(name: str, values: list[float | None], **more: Any) -> list[RunSummary]:
    """A run for each value of one measure, seed by seed."""
    return [a_summary(seed, measures={name: value}, **more) for seed, value in enumerate(values, 1)]
