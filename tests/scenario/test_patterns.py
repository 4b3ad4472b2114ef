"""Keys, sizes and shapes draw what they promise, from a seed; totals and means are known beforehand."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.model.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from keyheat.model.units import read_units, write_units
from keyheat.scenario import shape
from keyheat.scenario.keys import (
    NUMBERS_PER_WORKER,
    DateKey,
    Sequential,
    Zipf,
    calculated_suffix,
    random_suffix,
    shard_keys,
)
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.sizes import ChoiceSize, ItemSize, LognormalSize, UniformSize, unit_cost
from tests.make import a_scenario


@pytest.mark.parametrize("exponent", [0.01, 0.5, 0.99, 1.0, 1 + 1e-9, 1.2, 3.0, 8.0])
@pytest.mark.parametrize("keys", [1, 2, 7, 1_000])
def test_zipf_draws_each_rank_as_often_as_the_law_says(exponent: float, keys: int) -> None:
    pattern, count, rng = Zipf(exponent, keys), 8_000, Random(3)
    drawn = Counter(pattern.draw(rng, 0.0) for _ in range(count))
    weights = np.arange(1, keys + 1, dtype=float) ** -exponent
    weights /= weights.sum()
    assert {int(key.removeprefix("key-")) for key in drawn} <= set(range(keys))
    common = [rank for rank in range(keys) if weights[rank] * count >= 5]
    squares = sum(
        (drawn[f"key-{rank}"] - weights[rank] * count) ** 2 / (weights[rank] * count) for rank in common
    )
    assert squares < len(common) + 6 * len(common) ** 0.5 + 10
    assert pattern.share(1) == pytest.approx(weights[0], rel=1e-9)
    assert pattern.share(keys) == pytest.approx(weights[-1], rel=1e-9)


def test_a_sequence_gives_each_number_once_and_two_processes_have_none_in_common() -> None:
    pattern = Sequential("order")
    assert [pattern.draw(Random(1), 0.0) for _ in range(7)] == [f"order-{n}" for n in range(1, 8)]
    first, second = (Sequential.of_worker(worker).draw(Random(1), 0.0) for worker in (0, 1))
    assert (first, second) == ("key-1", f"key-{NUMBERS_PER_WORKER + 1}")


@pytest.mark.parametrize(
    ("pattern", "at_s", "key"),
    [
        (DateKey(day_s=20.0), 19.999, "2026-01-01"),
        (DateKey(day_s=20.0), 20, "2026-01-02"),
        (DateKey(day_s=20.0), 20 * 31, "2026-02-01"),
        (DateKey(day_s=20.0, rounded_to="hour", prefix="device"), 20 * 25, "device-2026-01-02T01"),
        (DateKey(day_s=20.0, rounded_to="minute", prefix="device"), 20 * 61, "device-2026-01-01T01:01"),
    ],
)
def test_the_date_rolls_over(pattern: DateKey, at_s: float, key: str) -> None:
    assert pattern.draw(Random(1), at_s) == key


@given(
    key=st.text(max_size=10),
    shards=st.integers(1, 50),
    attribute=st.text(max_size=10),
    seed=st.integers(0, 2**32),
)
def test_a_suffixed_key_is_one_of_the_shard_keys(key: str, shards: int, attribute: str, seed: int) -> None:
    every = shard_keys(key, shards)
    assert len(set(every)) == shards
    assert random_suffix(key, shards, Random(seed)) in every
    assert calculated_suffix(key, attribute, shards) in every
    assert calculated_suffix(key, attribute, shards) == calculated_suffix(key, attribute, shards)


SIZES: list[ItemSize] = [
    UniformSize(1_000, 1_000),
    UniformSize(1_025, 1_025),
    UniformSize(900, 1_100),
    LognormalSize(800, 1.0, 100, 20_000),
    LognormalSize(150, 2.0, 120, 400 * 1024),
    ChoiceSize((200, 2_000, 9_000), (8, 1, 1)),
]
DRAWS = 60_000


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_the_means_and_the_part_above_a_size_are_those_of_what_is_drawn(size: ItemSize) -> None:
    rng = Random(1)
    drawn = [size.draw(rng) for _ in range(DRAWS)]
    assert size.least <= min(drawn)
    assert max(drawn) <= size.most
    assert sum(drawn) / DRAWS == pytest.approx(size.mean_bytes, rel=0.02)
    units = sum(write_units(0, one) for one in drawn) / DRAWS
    assert unit_cost(size, WRITE_UNIT_BYTES).units == pytest.approx(units, rel=0.02)
    reads = sum(read_units(one, consistent=True) for one in drawn) / DRAWS
    assert unit_cost(size, READ_UNIT_BYTES).units == pytest.approx(reads, rel=0.02)
    for mark in (99, 100, 1_000, 1_024, 8_999, 9_000):
        above = sum(one > mark for one in drawn) / DRAWS
        assert size.above(mark) == pytest.approx(above, abs=0.015)


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
