"""Requests that failed for another reason than a throttle: said beside the verdict, and too many end it."""

from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import Thresholds
from keyheat.runs.client import ClientFiles
from keyheat.runs.manifest import Manifest

ATTEMPTS = 100_000


@pytest.mark.parametrize(
    ("errors", "valid", "said"),
    [
        (0, True, False),  # nothing failed: nothing to say
        (999, True, False),  # just under one in a hundred
        (1_000, True, True),
        (49_999, True, True),
        (50_000, False, True),  # half of the run never met the table
    ],
)
def test_failed_requests_are_said_and_too_many_make_the_run_invalid(
    errors: int, valid: bool, said: bool, demo: Any, numbers: Thresholds
) -> None:
    _run, evidence = demo("hotkey")
    manifest = Manifest.model_validate(
        {
            "started_at": evidence.window.start.isoformat(),
            "ended_at": evidence.window.end.isoformat(),
            "table": {"name": "orders"},
            "totals": {"attempts": ATTEMPTS, "errors": errors, "throttled": 10_000},
        }
    )
    client = ClientFiles(manifest=manifest)
    verdict = diagnose(evidence, client=client, thresholds=numbers, scenario=None).verdict
    assert verdict.constraint == "partition"
    assert verdict.valid is valid
    assert any("for another reason than a throttle" in line for line in verdict.because) is said


def test_writes_that_met_on_an_item_are_no_failures(demo: Any, numbers: Thresholds) -> None:
    """They met the table: contention is a finding, and makes no run invalid."""
    _run, evidence = demo("hotkey")
    totals = {
        "attempts": ATTEMPTS, "errors": ATTEMPTS - 10_000, "throttled": 10_000,
        "errors_by_kind": {"TransactionConflict": ATTEMPTS - 10_000},
    }  # fmt: skip
    manifest = Manifest.model_validate(
        {
            "started_at": evidence.window.start.isoformat(),
            "ended_at": evidence.window.end.isoformat(),
            "table": {"name": "orders"},
            "totals": totals,
        }
    )
    client = ClientFiles(manifest=manifest)
    verdict = diagnose(evidence, client=client, thresholds=numbers, scenario=None).verdict
    assert verdict.valid
    assert not any("failed for another reason" in line for line in verdict.because)
