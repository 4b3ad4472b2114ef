"""The budget of an open loop: what is started is what was asked for, whatever an arrival comes to cost."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.schedule import DROPPED_AFTER_S, Schedule, even, exponential
from keyheat.scenario import shape
from keyheat.scenario.shape import LoadShape

MINUTE_S = 60.0
RAMP = shape.ramp(0.0, 200.0, duration_s=MINUTE_S)
STEADY = shape.constant(100.0, duration_s=MINUTE_S)


def starts(schedule: Schedule, cost: Callable[[], float] = even) -> list[float]:
    """When arrivals of a minute start, where there is always a user, and what each costs is known at once."""
    schedule.begin(0.0)
    times: list[float] = []
    while schedule.due_s < MINUTE_S:
        times.append(schedule.due_s)
        paid, real = schedule.take(), cost()
        schedule.settle(real - paid)
        schedule.learn(real)
    return times


@pytest.mark.parametrize("made", [STEADY, RAMP, shape.sine(10.0, 190.0, period_s=30, duration_s=MINUTE_S)])
def test_even_arrivals_follow_the_shape(made: LoadShape) -> None:
    times = starts(Schedule(made, even))
    assert len(times) == pytest.approx(made.total(MINUTE_S), abs=1)
    for number, at_s in enumerate(times, start=1):
        assert made.total(at_s) == pytest.approx(number, abs=1e-6)


def test_random_arrivals_are_a_poisson_process_of_the_shapes_rate() -> None:
    times = starts(Schedule(RAMP, exponential(Random(7))))
    gaps = [RAMP.total(b) - RAMP.total(a) for a, b in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(1.0, rel=0.05)
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(1.0, rel=0.15)
    assert sum(gap > 1 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)  # 1 / e


@pytest.mark.slow
@given(
    seed=st.integers(0, 1_000),
    costs=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    random=st.booleans(),
)
def test_units_spent_are_units_asked_for_whatever_the_sizes(
    seed: int, costs: list[int], random: bool
) -> None:
    drawn, rng = Random(seed), Random(seed + 1)
    spent = 0.0

    def cost() -> float:
        nonlocal spent
        spent += (now := drawn.choice(costs))
        return now

    made = shape.constant(200.0, duration_s=MINUTE_S)
    times = starts(Schedule(made, exponential(rng) if random else even), cost)
    chance = 4 * (sum(costs) / len(costs)) * len(times) ** 0.5 if random else 3 * max(costs)
    assert spent == pytest.approx(made.total(MINUTE_S), abs=chance)
    assert times == sorted(times)


@pytest.mark.parametrize("seed", range(20))
def test_a_minute_of_random_arrivals_has_what_was_asked_for(seed: int) -> None:
    steady = shape.constant(100.0, duration_s=MINUTE_S)
    assert len(starts(Schedule(steady, exponential(Random(seed))))) == pytest.approx(6_000, rel=0.01)


def test_processes_share_the_arrivals_evenly() -> None:
    parts = [starts(Schedule(STEADY, even, part, 3)) for part in range(3)]
    whole = sorted(at_s for times in parts for at_s in times)
    assert whole == pytest.approx(starts(Schedule(STEADY, even)), abs=1e-9)
    assert {len(times) for times in parts} <= {1_999, 2_000}


def test_what_costs_more_delays_the_next_at_once_and_what_costs_less_never_reaches_into_the_past() -> None:
    schedule = Schedule(STEADY, even)
    schedule.begin(0.0)
    schedule.take()
    due_s = schedule.due_s
    schedule.settle(9.0)
    assert schedule.due_s == pytest.approx(due_s + 0.09)
    schedule.settle(-9.0)
    assert schedule.due_s == pytest.approx(due_s + 0.09)
    before_s = schedule.due_s
    for _ in range(18):
        schedule.take()
    assert schedule.due_s == pytest.approx(before_s + 0.09)  # half of each gap was paid already


def test_arrivals_that_waited_too_long_are_dropped_and_counted() -> None:
    schedule = Schedule(STEADY, even)
    schedule.begin(0.0)
    assert schedule.drop(DROPPED_AFTER_S) == 0
    assert schedule.drop(10.0) == (10.0 - DROPPED_AFTER_S) * 100 - 1
    assert schedule.due_s == pytest.approx(10.0 - DROPPED_AFTER_S)
    assert schedule.drop(10.0) == 0


def test_after_the_last_that_is_asked_for_nothing_is_due() -> None:
    schedule = Schedule(shape.steps([(10.0, 1.0), (0.0, 1.0)]), even)
    schedule.begin(0.0)
    for _ in range(10):
        schedule.take()
    assert schedule.due_s == float("inf")


def test_a_process_whose_part_is_not_among_them_has_no_share() -> None:
    assert not Schedule(STEADY, even, 2, 2).has_share
