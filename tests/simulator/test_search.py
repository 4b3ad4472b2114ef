"""The search for the edge between what holds and what does not; and on the simulator."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import Cause
from keyheat.plan.bill import monthly
from keyheat.plan.prices import MONTH_S, load_prices
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.search import LimitHit, Range, SimulationOutcome, State, Step, Tries
from keyheat.simulator.whatif import (
    DEMAND_S,
    LOAD_STEP,
    Search,
    capacity_question,
    load_question,
    searched,
    simulated_search,
    smallest_shards,
    step_of,
    throttled_directions,
)
from keyheat.words import Direction, label_of
from tests.make import a_scenario, a_shipped

WRITE, READ = Direction.WRITE, Direction.READ


def scenario(**changes: Any) -> Scenario:
    table = {"name": "orders", "sort_key": "sk", "provisioned": {"read": 100, "write": 4_000}}
    return a_scenario(**{"table": table, "keys": {"kind": "hot_key", "share": 0.9}} | changes)


def outcome(share: float, seed: int) -> SimulationOutcome:
    refused = round(share * 10_000)
    limit = LimitHit(index=None, direction=WRITE, cause=Cause.KEY_RANGE, events=refused)
    return SimulationOutcome(
        seed=seed,
        seconds=60,
        loaded_s=60,
        attempts={WRITE: 10_000, READ: 0},
        throttled={WRITE: refused, READ: 0},
        accepted_per_s={(None, WRITE): 100.0, (None, READ): 0.0},
        limits=(limit,) if refused else (),
    )


def shards_hold(
    numbers: Callable[[int], bool], *, other_seed: Mapping[int, bool] | None = None
) -> Callable[[Scenario, int], SimulationOutcome]:
    """A simulator on which a number of shards is enough or not, for the first seed and for the second."""

    def measure(candidate: Scenario, seed: int) -> SimulationOutcome:
        shards = candidate.keys.shards
        held = numbers(shards) if seed == candidate.seed else (other_seed or {}).get(shards, numbers(shards))
        return outcome(0.0 if held else 0.5, seed)

    return measure


def answer(search: Search) -> float | None:
    return None if search.answer is None else search.answer.value


def values(search: Search) -> list[float]:
    return [step.value for step in search.steps]


@pytest.mark.parametrize("enough", [1, 2, 3, 7, 16, 63, 99, 100])
def test_the_smallest_is_found_where_more_is_never_worse(enough: int) -> None:
    found = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards >= enough))
    assert answer(found) == enough
    assert found.confirmed
    assert len(found.in_order) < 16
    assert found.failing is None if enough == 1 else found.failing.value == enough - 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("holds", "smallest"),
    [
        (lambda shards: shards == 2 or shards >= 5, 5),  # with 3, two of them meet
        (lambda shards: shards in (5, 7, 8, 9, 10), 7),
        (lambda shards: shards in (6, 7) or shards >= 8, 6),
        (lambda shards: shards == 1 or shards >= 5, 1),  # an undivided key has nothing that meets
    ],
    ids=["a lucky number", "halving meets one that fails", "a smaller neighbour", "no shards needed"],
)
def test_a_number_is_held_against_its_neighbours(holds: Callable[[int], bool], smallest: int) -> None:
    assert answer(smallest_shards(scenario(), measure=shards_hold(holds))) == smallest


def test_a_second_seed_has_a_say() -> None:
    measure = shards_hold(lambda shards: shards >= 3, other_seed={3: False})
    found = smallest_shards(scenario(), measure=measure)
    assert answer(found) == 4
    assert [step.value for step in found.steps].count(1) == 1
    assert {step.value: step.holds for step in found.in_order} == {
        1: False,
        2: False,
        3: False,
        4: True,
        5: True,
    }


def test_where_no_number_is_enough_the_largest_was_tried() -> None:
    found = smallest_shards(scenario(), most=100, measure=shards_hold(lambda _shards: False))
    assert answer(found) is None
    assert found.in_order[-1].value == 100


WITHIN = Range(start=100, least=1, most=10_000, precision=0.05, larger_holds=False)


def load_of(state_of: Callable[[float, int], State], within: Range = WITHIN, most: float = inf) -> Search:
    """A search of demand whose every try comes to a state."""
    question = replace(load_question(scenario()), within=within)

    def measure(value: float, again: int) -> Step:
        state = state_of(value, again)
        step = step_of(
            question, value, question.scenario, outcome(0.0 if state == "carried" else 0.5, 1 + again)
        )
        return replace(step, state=state)

    return searched(question, measure, most_steps=most)


def knee_at(knee: float, above: State = "limited") -> Callable[[float, int], State]:
    return lambda demand, _again: "carried" if demand <= knee else above


@example(knee=1.0, precision=0.010903138687509709, start=127.65726905709491)  # rounding keeps the two apart
@given(knee=st.floats(1.0, 9_999.0), precision=st.floats(0.01, 0.5), start=st.floats(1.0, 10_000.0))
def test_every_knee_is_found_within_the_precision(knee: float, precision: float, start: float) -> None:
    within = replace(WITHIN, start=start, precision=precision)
    found = load_of(knee_at(knee), within, within.most_steps)
    assert len(found.steps) <= within.most_steps
    assert found.confirmed
    assert found.answer.value <= knee < found.failing.value
    four_digits = 1.001
    assert found.failing.value / found.answer.value <= (1 + precision) * four_digits


def test_demand_is_doubled_then_halved_between_then_the_answer_is_tried_again() -> None:
    found = load_of(knee_at(300), replace(WITHIN, precision=0.2))
    assert values(found) == [100, 200, 400, 282.8, 336.3, 282.8]
    assert [step.outcome.seed for step in found.steps] == [1, 1, 1, 1, 1, 2]
    bounded = load_of(knee_at(300), WITHIN, most=6)
    assert (values(bounded), bounded.confirmed) == (values(found), True), (
        "one step is kept for the second seed"
    )


def test_a_start_that_is_not_carried_is_halved_down_to_the_least() -> None:
    assert values(load_of(knee_at(30), replace(WITHIN, precision=1.0))) == [100, 50, 25, 25]
    nowhere = load_of(knee_at(0), replace(WITHIN, least=40))
    assert values(nowhere) == [100, 50, 40]
    assert (nowhere.answer, nowhere.failing and nowhere.failing.value) == (None, 40)


def test_all_of_a_range_may_be_carried() -> None:
    found = load_of(knee_at(1e9), replace(WITHIN, most=1_000))
    assert (answer(found), found.failing) == (1_000, None)


@pytest.mark.parametrize("state", ["generator", "undecided"])
def test_an_undecided_step_ends_the_search(state: State) -> None:
    found = load_of(knee_at(700, above=state))
    assert found.failing.state == state
    assert 650 < (answer(found) or 0) <= 700
    shards = Tries(
        measure=lambda value, _again: replace(found.failing, value=value),  # type: ignore[type-var]
        within=Range(start=1, least=1, most=16),
    )
    assert shards.edge() == (None, 1)


def test_an_answer_that_fails_the_second_time_gives_way_to_the_next() -> None:
    def wavering(demand: float, again: int) -> State:
        return "limited" if demand > 500 or (again and demand > 480) else "carried"

    found = load_of(wavering, replace(WITHIN, precision=0.02))
    assert found.confirmed
    assert 460 < (answer(found) or 0) <= 480
    bounded = load_of(wavering, WITHIN, most=WITHIN.most_steps - 2)
    assert len(bounded.steps) <= WITHIN.most_steps - 2


INDEX = {"name": "by-day", "partition_key": "day", "provisioned": {"read": 5, "write": 100}}


def test_a_capacity_candidate_keeps_all_but_the_one_capacity() -> None:
    table = {
        "name": "orders",
        "provisioned": {"read": 100, "write": 400},
        "indexes": [INDEX],
        "auto_scaling": {"write": {"min": 5, "max": 4_000}},
    }
    changing = scenario(table=table, timeline=[{"at_s": 5, "provisioned": {"read": 50}}])
    question = capacity_question(changing, WRITE, index="by-day")
    assert (question.present, question.within.start) == (100, 100)
    candidate = question.candidate(77)
    assert candidate.table.provisioned == changing.table.provisioned
    assert (candidate.table.indexes[0].provisioned.read, candidate.table.indexes[0].provisioned.write) == (
        5,
        77,
    )
    assert candidate.timeline == ()
    assert not candidate.table.scaled


def test_what_a_candidate_costs_a_month() -> None:
    found = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards >= 2))
    assert found.answer is not None
    prices = load_prices()
    costs = monthly(found.answer, prices)
    assert costs.provisioned_dollars == pytest.approx(730 * (4_000 * 0.00065 + 100 * 0.00013))
    assert costs.on_demand_dollars == pytest.approx(100 * MONTH_S * 0.625 / 1e6)
    assert (costs.queries_per_read, costs.units_per_read) == (2, 1.0)


# On the simulator itself


def steady(write: int, **changes: Any) -> Scenario:
    return scenario(
        loadtest="hotkey",
        table={"name": "orders", "provisioned": {"read": 5, "write": write}},
        keys={"kind": "uniform", "keys": 10_000},
        load={"requests_per_s": 700, "duration_s": 60, "users": 20, **changes},
    )


@pytest.mark.slow
def test_burst_counts_only_where_it_is_asked_for() -> None:
    """300 s of burst and 60 s of load share 42,000 units: 117 a second are enough for so long."""
    found = simulated_search(capacity_question(steady(40), WRITE, burst=True))
    assert answer(found) == pytest.approx(42_000 / 360, rel=0.05)


def test_the_capacity_that_is_short_is_that_of_the_direction_that_throttles() -> None:
    tasks = [{"operation": "put", "per_s": 50}, {"operation": "get", "per_s": 50}]

    def sides(read: int, write: int) -> list[Direction]:
        table = {"name": "orders", "provisioned": {"read": read, "write": write}}
        load = {"duration_s": 5, "item_bytes": 900}
        asked = scenario(table=table, tasks=tasks, load=load, keys={"kind": "uniform"}, loadtest="operations")
        return throttled_directions(capacity_question(asked, WRITE))

    assert sides(5, 500) == [READ]
    assert sides(5, 5) == [WRITE, READ]
    assert sides(500, 500) == [WRITE]


ITEM_OF_1_KB = "load.item_bytes=1000"
TO_ON_DEMAND = ('table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=")
ARITHMETIC: list[tuple[str, tuple[str, ...], tuple[str, str, str], float]] = [
    ("hotkey", (ITEM_OF_1_KB,), ("partition", "table", "write"), 1_000 / (0.9 + 0.1 / 4)),
    ("too-small", (ITEM_OF_1_KB,), ("table", "table", "write"), 40),
    ("country-index", ("load.item_bytes=2000",), ("partition", "by-country", "write"),
     1_000 / (0.98 * 2 * (0.8 + 0.2 / 4))),
    ("too-small", (*TO_ON_DEMAND, "table.max_on_demand={write=1000}", ITEM_OF_1_KB),
     ("max_on_demand", "table", "write"), 1_000),
    ("too-small", (*TO_ON_DEMAND, "table.warm={write=100_000}", ITEM_OF_1_KB), ("account", "table", "write"),
     40_000),
    ("hotkey", ("local.scale=0.1", ITEM_OF_1_KB), ("partition", "table", "write"), 100 / (0.9 + 0.1 / 4)),
    ("read-hot", ("load.item_bytes=32000",), ("partition", "table", "read"), 4_500 / 4 / (0.9 + 0.1 / 4)),
    ("operations", (), ("table", "table", "write"), 8_000 / (1_351 / 400)),  # WCU of a request of the mix
]  # fmt: skip
"""Scenario, settings, whose limit it is, and where it is by arithmetic, in requests/s."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "limit", "arithmetic"),
    ARITHMETIC,
    ids=[f"{c[0]}-{c[2][0]}-{c[3]:.0f}" for c in ARITHMETIC],
)
def test_a_simulated_knee_is_where_arithmetic_puts_it(
    name: str, settings: tuple[str, ...], limit: tuple[str, str, str], arithmetic: float
) -> None:
    asked = load_question(a_shipped(name, *settings), start=arithmetic, most=arithmetic * 4)
    found = simulated_search(replace(asked, within=replace(asked.within, least=arithmetic / 4)))
    assert found.answer is not None
    left = found.failing.throttled_by()
    assert (left.cause.constraint, label_of(left.index), left.direction) == limit
    assert answer(found) == pytest.approx(arithmetic, rel=0.08)


def test_a_demand_outlasts_what_a_partition_gives_in_an_instant_and_ends_before_it_splits() -> None:
    assert 2 * DEFAULT.partition_depth_s / LOAD_STEP <= DEMAND_S < DEFAULT.split_heat_s[0]
