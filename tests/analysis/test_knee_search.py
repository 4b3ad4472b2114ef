"""The search for a knee: what is tried next, how often, and what is said where tries disagree."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyheat.analysis.knee import Knee, KneeStep, Range, State, search

WITHIN = Range(start=100, least=1, most=10_000, precision=0.05)


def step(demand: float, state: State, again: int = 0, resource: str = "table") -> KneeStep:
    found = KneeStep(
        demand_per_s=demand, seed=1 + again, state=state, attempts_per_s=demand, throttled_per_s=0.0,
        write_units_per_s=demand, read_units_per_s=0.0,
    )  # fmt: skip
    return replace(found, constraint="partition", resource=resource) if state == "limited" else found


def table_with_knee_at(knee: float, above: State = "limited") -> Callable[[float, int], KneeStep]:
    return lambda demand, again: step(demand, "carried" if demand <= knee else above, again)


@example(knee=1.0, precision=0.010903138687509709, start=127.65726905709491)  # rounding keeps the two apart
@given(knee=st.floats(1.0, 9_999.0), precision=st.floats(0.01, 0.5), start=st.floats(1.0, 10_000.0))
def test_every_knee_is_found_within_the_precision_and_the_bound(
    knee: float, precision: float, start: float
) -> None:
    within = Range(start=start, least=1.0, most=10_000.0, precision=precision)
    found = search(table_with_knee_at(knee), within)
    assert len(found.steps) <= within.most_steps
    assert found.carried is not None
    assert found.limited is not None
    assert found.confirmed
    assert found.carried.demand_per_s <= knee < found.limited.demand_per_s
    four_digits = 1.001
    assert found.limited.demand_per_s / found.carried.demand_per_s <= (1 + precision) * four_digits


def demands(found: Knee) -> list[float]:
    return [one.demand_per_s for one in found.steps]


def test_demand_is_doubled_then_halved_between_then_both_ends_are_said_again() -> None:
    found = search(table_with_knee_at(300), replace(WITHIN, precision=0.2))
    assert demands(found) == [100, 200, 400, 282.8, 336.3, 336.3, 282.8]
    assert [one.seed for one in found.steps] == [1, 1, 1, 1, 1, 2, 2]
    assert found.state == "limited"


def test_a_start_that_is_not_carried_is_halved_down_to_the_least() -> None:
    assert demands(search(table_with_knee_at(30), replace(WITHIN, precision=1.0))) == [100, 50, 25, 50, 25]
    nowhere = search(table_with_knee_at(0), replace(WITHIN, least=40))
    assert demands(nowhere) == [100, 50, 40, 40]
    assert (nowhere.carried, nowhere.state) == (None, "limited")


def test_nothing_throttles_up_to_the_end_of_the_range() -> None:
    found = search(table_with_knee_at(1e9), WITHIN)
    assert demands(found)[-2:] == [10_000, 10_000]
    assert (found.limited, found.state, found.confirmed) == (None, "carried", True)


@pytest.mark.parametrize("state", ["generator", "undecided"])
def test_an_end_that_is_not_the_tables_is_named_as_such(state: State) -> None:
    found = search(table_with_knee_at(700, above=state), WITHIN)
    assert found.state == state
    assert found.carried is not None
    assert 650 < found.carried.demand_per_s <= 700


def test_a_limit_below_the_generators_is_still_found() -> None:
    def measure(demand: float, again: int) -> KneeStep:
        return step(
            demand, "carried" if demand <= 500 else "limited" if demand <= 700 else "generator", again
        )

    found = search(measure, WITHIN)
    assert found.state == "limited"


def test_tries_that_disagree_widen_the_answer() -> None:
    def wavering(demand: float, again: int) -> KneeStep:
        return step(demand, "limited" if demand > 500 or (again and demand > 480) else "carried", again)

    found = search(wavering, replace(WITHIN, precision=0.02))
    assert not found.confirmed
    assert found.carried is not None
    assert found.limited is not None
    assert found.carried.demand_per_s < 490
    assert found.limited.demand_per_s > 500


def test_another_limit_the_second_time_does_not_confirm() -> None:
    def measure(demand: float, again: int) -> KneeStep:
        return step(demand, "limited" if demand > 500 else "carried", again, f"index-{again}")

    assert not search(measure, WITHIN).confirmed
