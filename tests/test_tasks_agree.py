"""What the simulator sends is what the tasks of a load test send: both fill a table with the same."""

from pathlib import Path

import pytest

from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.simulator.simulate import simulate
from tests.agreement import tenth_of
from tests.rehearsal import SCENARIOS
from tests.tasks_on_endpoint import done_on_endpoint, simulated_totals

AGREEING = 0.03
SENT = ("hotkey", "country-index", "unique-key")
"""A partition that throttles, an index that holds back the table, conditions that fail."""
OWN = Path(__file__).parents[1] / "examples" / "own-loadtest" / "orders.toml"


def agreed(scenario: Scenario, folder: Path, *, seconds: float) -> None:
    load = scenario.load.model_copy(update={"duration_s": seconds})
    short = scenario.model_copy(update={"load": load})
    sent = done_on_endpoint(short.locustfile(folder), short, folder)
    simulated = simulated_totals(simulate(short, folder=folder))
    assert simulated == pytest.approx(sent, rel=AGREEING)


@pytest.mark.parametrize("name", SENT)
def test_a_load_test_sends_what_a_rehearsal_has_learnt(name: str) -> None:
    agreed(tenth_of(name), SCENARIOS, seconds=20)


@pytest.mark.opens
def test_so_does_one_of_somebody_elses() -> None:
    """Two tasks with weights, a sparse index by an attribute of its own, a query of it."""
    scenario = load_scenario(OWN)
    load = scenario.load.model_copy(update={"requests_per_s": scenario.load.requests_per_s / 2})
    local = scenario.local.model_copy(update={"scale": 0.5})
    agreed(scenario.model_copy(update={"load": load, "local": local}), OWN.parent, seconds=12)
