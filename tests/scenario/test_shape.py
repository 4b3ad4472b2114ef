"""Shapes of a load: the total is the rate's integral and its inverse the moment; bad ones are refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.scenario import shape
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.shape import LoadShape
from tests.make import a_scenario

SHAPES: dict[str, LoadShape] = {
    "constant": shape.constant(40.0, duration_s=60),
    "ramp up": shape.ramp(0.0, 100.0, duration_s=60),
    "ramp down": shape.ramp(100.0, 0.0, duration_s=60),
    "steps": shape.steps([(10.0, 20.0), (0.0, 10.0), (50.0, 30.0)]),
    "spike": shape.spike(10.0, 500.0, at_s=20, for_s=5, duration_s=60),
    "sine": shape.sine(0.0, 80.0, period_s=25, duration_s=60),
}


@pytest.mark.slow
@pytest.mark.parametrize("made", SHAPES.values(), ids=SHAPES)
@settings(max_examples=25)
@given(t_s=st.floats(0, 60), width_s=st.floats(0.001, 5))
def test_the_total_is_the_integral_of_the_rate(made: LoadShape, t_s: float, width_s: float) -> None:
    parts = 2_000
    each_s = width_s / parts
    summed = sum(made.rate(t_s + (part + 0.5) * each_s) for part in range(parts)) * each_s
    assert made.total(t_s + width_s) - made.total(t_s) == pytest.approx(summed, rel=1e-3, abs=1.0)


@pytest.mark.parametrize("made", SHAPES.values(), ids=SHAPES)
@given(total_share=st.floats(0.001, 0.999))
def test_the_inverse_gives_the_first_moment_of_a_total(made: LoadShape, total_share: float) -> None:
    wanted = total_share * made.total(60)
    t_s = made.at(wanted)
    assert made.total(t_s) == pytest.approx(wanted, rel=1e-9, abs=1e-6)
    assert made.total(t_s - 0.01) < wanted


def test_after_its_end_the_last_rate_holds_and_a_last_rate_of_none_asks_for_no_more() -> None:
    assert SHAPES["constant"].total(70) == pytest.approx(2_800)
    assert SHAPES["constant"].at(2_800) == pytest.approx(70)
    assert SHAPES["ramp down"].total(100) == pytest.approx(3_000)
    assert SHAPES["ramp down"].at(3_001) == float("inf")


def scenario(**load: Any) -> Scenario:
    return a_scenario(load=load)


SINE = {"kind": "sine", "low_per_s": 5, "high_per_s": 15, "period_s": 60}
STEPS = [{"per_s": 10, "for_s": 30}, {"per_s": 50, "for_s": 30}]


@pytest.mark.parametrize(
    ("load", "unit", "rates"),
    [
        ({}, "requests", (1_000, 1_000)),
        ({"shape": {"kind": "ramp", "from_per_s": 0, "to_per_s": 60}}, "requests", (0, 30)),
        ({"shape": {"kind": "steps", "steps": STEPS}}, "requests", (10, 50)),
        ({"shape": {"kind": "spike", "peak_per_s": 9, "at_s": 25, "for_s": 10}}, "requests", (1_000, 9)),
        ({"arrivals": "poisson", "write_units_per_s": 500}, "WCU", (500, 500)),
        ({"arrivals": "constant", "read_units_per_s": 50}, "RCU", (50, 50)),
        ({"arrivals": "constant", "write_units_per_s": 5, "shape": SINE}, "WCU", (5, 15)),
    ],
)
def test_a_shape_is_in_its_targets_unit(load: dict[str, Any], unit: str, rates: tuple[float, float]) -> None:
    made = scenario(**load)
    assert made.load.target_unit == unit
    assert (made.load.rate_shape().rate(0), made.load.rate_shape().rate(30)) == pytest.approx(rates)
    assert scenario_from_dict(made.model_dump(mode="json"), "run.json") == made
