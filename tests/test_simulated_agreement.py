"""The simulator agrees with the model asked one by one, and with the endpoint, as docs/simulate.md says."""

from collections import Counter
from math import sqrt

import pytest

from analyzers.simulated import evidence_of
from tablemodel.scenario import load_scenario
from tablemodel.simulator.simulate import simulate
from tests.agreement import SHORT, by_minute, named, tenth_of, totals, verdict
from tests.asked_endpoint import asked_on_endpoint
from tests.one_by_one import asked_one_by_one
from tests.rehearsal import SCENARIOS

AGREEING = 0.03
CHANCE = 2.0  # standard deviations of a count of independent requests
BY_TURNS = {"dynamic-sharding"}  # whose writers draw when it is their turn: another draw, another minute


@pytest.mark.parametrize("name", SHORT)
def test_it_agrees_with_the_model_asked_one_by_one(name: str) -> None:
    """Units within 3 %; throttles too, beyond what chance makes of so few: keys are drawn anew."""
    scenario = tenth_of(name)
    one, other = (
        evidence_of(made)
        for made in (asked_one_by_one(scenario, SCENARIOS), simulate(scenario, folder=SCENARIOS))
    )
    assert named(verdict(one)) == named(verdict(other))
    truth, simulated = by_minute(one), by_minute(other)
    assert truth.keys() == simulated.keys()
    for resource, came in truth.items():
        allowed = 0.1 if name in BY_TURNS else AGREEING
        assert simulated[resource].units == pytest.approx(came.units, rel=allowed), resource
        chance = CHANCE * sqrt(came.throttles)
        assert abs(simulated[resource].throttles - came.throttles) <= allowed * came.throttles + chance, (
            resource
        )


@pytest.mark.parametrize("name", ["product-sku", "read-hot"])
def test_at_full_size_nothing_is_left_to_chance(name: str) -> None:
    scenario = load_scenario(SCENARIOS / f"{name}.toml")
    one, other = asked_one_by_one(scenario, SCENARIOS), simulate(scenario, folder=SCENARIOS)
    truth, simulated = by_minute(evidence_of(one)), by_minute(evidence_of(other))
    for resource, came in truth.items():
        assert simulated[resource].units == pytest.approx(came.units, rel=AGREEING), resource
        assert simulated[resource].throttles == pytest.approx(came.throttles, rel=AGREEING), resource


@pytest.mark.parametrize("name", ["hotkey", "too-small", "country-index"])
def test_it_agrees_with_the_endpoint(name: str) -> None:
    """At a tenth of the size, on three days: what the client saw, and what CloudWatch says of it."""
    on_endpoint: Counter[tuple[str | None, ...]] = Counter()
    simulated: Counter[tuple[str | None, ...]] = Counter()
    for seed in (1, 2, 3):
        scenario = tenth_of(name).model_copy(update={"seed": seed})
        one = asked_on_endpoint(scenario).evidence
        other = evidence_of(simulate(scenario, folder=SCENARIOS))
        assert named(verdict(other)) == named(verdict(one))
        on_endpoint += totals(one)
        simulated += totals(other)
    assert simulated == pytest.approx(on_endpoint, rel=AGREEING)
