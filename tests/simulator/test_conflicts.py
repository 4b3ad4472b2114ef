"""Transactions on a hot item meet, as many of them as where each is asked; those on other items do not."""

from random import Random

import numpy as np
import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import TRANSACTION_S
from keyheat.model.ongoing import OngoingTransactions
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.shipped import shipped
from keyheat.simulator.conflicts import lost_share
from keyheat.simulator.folder import manifest_of
from keyheat.simulator.simulate import simulate


def scenario(transaction_s: float | None) -> Scenario:
    found = load_scenario(shipped("configs") / "scenarios" / "aggregate-transaction.toml")
    local = found.local.model_copy(update={"transaction_s": transaction_s})
    return found.model_copy(update={"local": local})


@pytest.mark.parametrize("per_s", [1.0, 50.0, 700.0])
def test_as_many_meet_as_where_each_is_asked_one_by_one(per_s: float) -> None:
    rng, ongoing, now_s, met, sent = Random(1), OngoingTransactions(TRANSACTION_S), 0.0, 0, 20_000
    for _ in range(sent):
        now_s += rng.expovariate(per_s)
        if ongoing.meets(b"total", now_s):
            met += 1
        else:
            ongoing.begin([b"total"], now_s)
    (expected,) = lost_share(np.array([per_s]), TRANSACTION_S)
    assert met / sent == pytest.approx(expected, abs=0.01)


def test_a_hot_total_is_contention_and_no_throttle() -> None:
    done = simulate(scenario(TRANSACTION_S))
    evidence = evidence_of(done)
    others, hot = 300, 700
    per_s = done.counted["orders.placed"] / 50
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
    assert "transactions.conflicts" not in simulate(scenario(None)).counted
    assert simulate(scenario(TRANSACTION_S)).counted == simulate(scenario(TRANSACTION_S)).counted
