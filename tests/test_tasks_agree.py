"""What the simulator sends is what the tasks of a load test send: both fill a table with the same."""

from functools import partial
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

import pytest

from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.simulator.simulate import simulate
from tests.agreement import few_requests
from tests.make import SCENARIOS, a_shipped
from tests.tasks_on_endpoint import done_on_endpoint, simulated_totals

AGREEING = 0.03
at_night = partial(pytest.param, marks=pytest.mark.nightly)
BY_CHANCE = {"country-index-sharded": (8, 20.0), "operations": (3, 5.0), "audit-log-calculated": (8, 5.0)}
"""A few dozen reads of unlike price, batches and single items: on how many days, of how many seconds, each is
compared. One reader of an index on 20 prefixes reads every 2.7 s, and its price rises until 3.3 s: in 5 s
it reads next to nothing, and then a large country or a small one, which is no rate."""
AT_A_TENTH = {"read-hot": 8, "aggregate-transaction": 8}
"""Reads that find nothing yet beside those of a hot item, an order and its total on partitions by chance."""
STANDARD_ERRORS = 3.0
OWN = Path(__file__).parents[1] / "examples" / "own-loadtest" / "orders.toml"


def shortened(scenario: Scenario, seconds: float) -> Scenario:
    load = scenario.load.model_copy(update={"duration_s": seconds})
    return scenario.model_copy(update={"load": load})


def agreed(scenario: Scenario, folder: Path, *, seconds: float) -> None:
    short = shortened(scenario, seconds)
    sent = done_on_endpoint(short.locustfile(folder), short, folder)
    simulated = simulated_totals(simulate(short, folder=folder))
    assert simulated == pytest.approx(sent, rel=AGREEING)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hotkey", "unique-key", at_night("country-index")])
def test_a_load_test_sends_what_a_dry_run_shows(name: str) -> None:
    """A partition that throttles, conditions that fail, an index that holds back the table."""
    agreed(few_requests(name), SCENARIOS, seconds=20)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(("name", "days"), BY_CHANCE.items())
def test_where_chance_decides_the_mean_of_some_days_agrees(name: str, days: tuple[int, float]) -> None:
    count, seconds = days
    agreed_in_the_mean(shortened(a_shipped(name), seconds), count)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(("name", "count"), AT_A_TENTH.items())
def test_so_it_does_at_a_few_requests_the_size(name: str, count: int) -> None:
    agreed_in_the_mean(shortened(few_requests(name), 15.0), count)


def agreed_in_the_mean(scenario: Scenario, count: int) -> None:
    """Within 3 %, and what the endpoint's own days vary by."""
    days = [scenario.model_copy(update={"seed": seed}) for seed in range(1, count + 1)]
    sent = [done_on_endpoint(day.locustfile(SCENARIOS), day, SCENARIOS) for day in days]
    simulated = [simulated_totals(simulate(day, folder=SCENARIOS)) for day in days]
    for what in set[tuple[str, ...]]().union(*sent, *simulated):
        each = [day[what] for day in sent]
        chance = STANDARD_ERRORS * stdev(each) / sqrt(count)
        found = mean(day[what] for day in simulated)
        assert abs(found - mean(each)) <= AGREEING * mean(each) + chance, (what, found, each)


@pytest.mark.opens
@pytest.mark.nightly
def test_so_does_one_of_somebody_elses() -> None:
    """Two tasks with weights, a sparse index by an attribute of its own, a query of it."""
    scenario = load_scenario(OWN)
    load = scenario.load.model_copy(update={"requests_per_s": scenario.load.requests_per_s / 2})
    local = scenario.local.model_copy(update={"scale": 0.5})
    agreed(scenario.model_copy(update={"load": load, "local": local}), OWN.parent, seconds=12)
