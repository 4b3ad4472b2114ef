"""Transactions on a hot item meet; those on other items do not."""

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import TRANSACTION_S
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import lasting
from keyheat.shipped import shipped
from keyheat.simulator.folder import manifest_of
from keyheat.simulator.simulate import simulate


def scenario(transaction_s: float | None) -> Scenario:
    found = load_scenario(shipped("configs") / "scenarios" / "aggregate-transaction.toml")
    local = found.local.model_copy(update={"transaction_s": transaction_s})
    return found.model_copy(update={"local": local})


def test_a_hot_total_is_contention_and_no_throttle() -> None:
    done = simulate(scenario(TRANSACTION_S))
    evidence = evidence_of(done)
    others, hot = 300, 700
    counted = done.counted
    per_s = (counted["transactions.requests"] - counted["transactions.conflicts"]) / 50
    assert per_s == pytest.approx(others + hot / (1 + hot * TRANSACTION_S), rel=0.05)
    conflicts = done.counted["transactions.conflicts"]
    assert conflicts == evidence.total("TransactionConflict") == done.client.conflicts
    assert manifest_of(done)["totals"]["errors_by_kind"] == {"TransactionConflict": conflicts}
    assert sum(done.client.throttled.values()) == 0
    diagnosis = diagnosed(evidence)
    assert (diagnosis.verdict.constraint, diagnosis.labels) == ("none", ())
    (found,) = diagnosis.findings
    assert found.label == "contention"


@pytest.mark.slow
def test_transactions_meet_only_where_they_are_told_to() -> None:
    apart, meeting = (lasting(scenario(transaction_s), 5) for transaction_s in (None, TRANSACTION_S))
    assert "transactions.conflicts" not in simulate(apart).counted
    assert simulate(meeting).counted == simulate(meeting).counted
