"""Transactions on a hot item meet; those on other items do not, and nothing is throttled."""

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import TRANSACTION_S
from keyheat.simulator.folder import manifest_of
from keyheat.simulator.simulate import simulate
from tests.make import a_shipped


@pytest.mark.slow
def test_a_hot_total_is_contention_and_no_throttle() -> None:
    done = simulate(
        a_shipped("aggregate-transaction", f"local.transaction_s={TRANSACTION_S}", "load.duration_s=20")
    )
    evidence = evidence_of(done)
    others, hot = 300, 700
    counted = done.counted
    per_s = (counted["transactions.requests"] - counted["transactions.conflicts"]) / 20
    assert per_s == pytest.approx(others + hot / (1 + hot * TRANSACTION_S), rel=0.05)
    conflicts = done.counted["transactions.conflicts"]
    assert conflicts == evidence.total("TransactionConflict") == done.client.conflicts
    assert manifest_of(done)["totals"]["errors_by_kind"] == {"TransactionConflict": conflicts}
    assert sum(done.client.throttled.values()) == 0
    diagnosis = diagnosed(evidence)
    assert (diagnosis.verdict.constraint, diagnosis.labels) == ("none", ())
    (found,) = diagnosis.findings
    assert found.label == "contention"
