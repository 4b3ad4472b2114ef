"""The simulator agrees with the model asked one by one, and with the endpoint, as docs/trust.md says."""

from collections import Counter
from functools import partial
from math import sqrt
from statistics import mean

import pytest

from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import DEFAULT
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.simulate import simulate
from tests.agreement import SHORT, by_minute, few_requests, named, totals, verdict
from tests.asked_endpoint import asked_on_endpoint
from tests.make import SCENARIOS, a_scenario
from tests.one_by_one import asked_one_by_one

pytestmark = pytest.mark.slow

AGREEING = 0.03
CHANCE = 2.0  # standard deviations of a count of independent requests
at_night = partial(pytest.param, marks=pytest.mark.nightly)
BY_DAY = {
    "hotkey",
    "too-small",
    "unique-key",
    "scale-down",
    "operations",
    "leaderboard",
}
"""A key range, a small table, an index, conditions, a change of capacity, batches."""
WIDER = {
    "aggregate-transaction": 0.05,  # two items of one transaction on one partition are taken as independent
}


@pytest.mark.parametrize("name", [name if name in BY_DAY else at_night(name) for name in SHORT])
def test_it_agrees_with_the_model_asked_one_by_one(name: str) -> None:
    """Units within 3 %; throttles too, beyond what chance makes of so few: keys are drawn anew."""
    scenario = few_requests(name)
    one, other = (
        evidence_of(made)
        for made in (asked_one_by_one(scenario, SCENARIOS), simulate(scenario, folder=SCENARIOS))
    )
    truth, simulated = by_minute(one), by_minute(other)
    most = max(came.throttles for found in (truth, simulated) for came in found.values())
    assert most <= CHANCE or named(verdict(one)) == named(verdict(other))
    assert truth.keys() == simulated.keys()
    for resource, came in truth.items():
        allowed = WIDER.get(name, AGREEING)
        assert simulated[resource].units == pytest.approx(came.units, rel=allowed), resource
        chance = CHANCE * sqrt(max(1, came.throttles))  # one item too many at once is refused on some days
        assert abs(simulated[resource].throttles - came.throttles) <= allowed * came.throttles + chance, (
            resource
        )


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["hotkey", "too-small", "country-index"])
def test_it_agrees_with_the_endpoint(name: str) -> None:
    """On three days: what the client saw, and what CloudWatch says of it."""
    on_endpoint: Counter[tuple[str | None, ...]] = Counter()
    simulated: Counter[tuple[str | None, ...]] = Counter()
    for seed in (1, 2, 3):
        scenario = few_requests(name).model_copy(update={"seed": seed})
        one = asked_on_endpoint(scenario)
        other = evidence_of(simulate(scenario, folder=SCENARIOS))
        assert named(verdict(other)) == named(verdict(one))
        on_endpoint += totals(one)
        simulated += totals(other)
    assert simulated == pytest.approx(on_endpoint, rel=AGREEING)


SMALL = [("put", 5), ("put", 20), ("put", 80), ("get", 5), ("get", 40)]
LOADS = {"steady": (2, 20), "within its burst": (10, 15), "beyond it": (40, 20)}
"""Times the capacity that is asked for, and for how many seconds."""
UNITS = {"put": 1.0, "get": 0.5}
MOST_UNITS_PER_S = 800.0  # fewer than one partition serves


def small(operation: str, capacity: float, load: str) -> Scenario:
    """A table of so many units per second, with evenly spread keys."""
    times, duration_s = LOADS[load]
    return a_scenario(
        table={"name": "small", "sort_key": "sk", "provisioned": {"read": capacity, "write": capacity}},
        keys={"kind": "uniform", "keys": 10_000},
        load={
            "users": 50,
            "requests_per_s": min(times * capacity, MOST_UNITS_PER_S) / UNITS[operation],
            "duration_s": duration_s,
            "item_bytes": 1_000,
        },
        tasks=[{"operation": operation}],
    )


@pytest.mark.parametrize("load", ["steady", at_night("within its burst"), "beyond it"])
@pytest.mark.parametrize(("operation", "capacity"), [("put", 5), *(at_night(*one) for one in SMALL[1:])])
def test_small_tables_admit_the_same_under_both_clocks(operation: str, capacity: float, load: str) -> None:
    """Nodes hand out their capacity in chunks: a load that stayed with one of them would soon be refused."""
    scenario = small(operation, capacity, load)
    one = evidence_of(asked_one_by_one(scenario, SCENARIOS))
    other = evidence_of(simulate(scenario, folder=SCENARIOS))
    assert named(verdict(other)) == named(verdict(one))
    truth, simulated = by_minute(one), by_minute(other)
    assert truth.keys() == simulated.keys()
    waiting = capacity / UNITS[operation] * mean(DEFAULT.node_grant_s)  # for the next chunk, when it ends
    for resource, came in truth.items():
        assert simulated[resource].units == pytest.approx(came.units, rel=AGREEING), resource
        assert simulated[resource].throttles == pytest.approx(came.throttles, rel=AGREEING, abs=waiting)
