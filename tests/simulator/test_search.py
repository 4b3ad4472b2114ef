"""What-if searches: the smallest number that is enough, by whatever simulates; and on the simulator."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from keyheat.model.resources import Cause
from keyheat.plan.charges import monthly
from keyheat.plan.prices import MONTH_S, load_prices
from keyheat.scenario.scenario import FORMAT, Scenario, load_scenario, scenario_from_dict
from keyheat.simulator.outcome import Left, SimulationOutcome, outcome_of
from keyheat.simulator.search import Measure, WhatIfSearch, smallest_capacity, smallest_shards
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import asks_for_shards, traffic_of
from keyheat.words import Direction

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
WRITE, READ = Direction.WRITE, Direction.READ


def scenario(**changes: Any) -> Scenario:
    return scenario_from_dict(
        {
            "format": FORMAT,
            "name": "asked",
            "question": "How many are enough?",
            "loadtest": "hotkey",
            "table": {"name": "orders", "sort_key": "sk", "provisioned": {"read": 100, "write": 4_000}},
            "keys": {"kind": "hot_key", "share": 0.9},
            **changes,
        },
        "test",
    )


def outcome(share: float, seed: int) -> SimulationOutcome:
    refused = round(share * 10_000)
    left = (Left(index=None, direction=WRITE, cause=Cause.KEY_RANGE, events=refused),) if refused else ()
    return SimulationOutcome(
        seed=seed,
        seconds=60,
        loaded_s=60,
        attempts={WRITE: 10_000, READ: 0},
        throttled={WRITE: refused, READ: 0},
        accepted_per_s={(None, WRITE): 100.0, (None, READ): 0.0},
        left=left,
    )


def shards_hold(numbers: Callable[[int], bool], *, other_seed: Mapping[int, bool] | None = None) -> Measure:
    """A simulator on which a number of shards is enough or not, for the first seed and for the second."""

    def measure(candidate: Scenario, seed: int) -> SimulationOutcome:
        shards = candidate.keys.shards
        held = numbers(shards) if seed == candidate.seed else (other_seed or {}).get(shards, numbers(shards))
        return outcome(0.0 if held else 0.5, seed)

    return measure


def answer(search: WhatIfSearch) -> int | None:
    return None if search.answer is None else search.answer.value


@pytest.mark.parametrize("enough", [1, 2, 3, 7, 16, 63, 99, 100])
def test_the_smallest_is_found_where_more_is_never_worse(enough: int) -> None:
    found = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards >= enough))
    assert answer(found) == enough
    assert len(found.candidates) < 16
    assert [one.value for one in found.candidates] == sorted({one.value for one in found.candidates})


def test_a_lucky_number_is_not_the_answer() -> None:
    """With 2 shards each has a partition to itself; with 3, two of them meet."""
    found = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards == 2 or shards >= 5))
    assert answer(found) == 5
    assert {one.value: one.enough for one in found.candidates}[2]


def test_a_smaller_neighbour_undercuts() -> None:
    """Halving between 4 and 8 meets 6, which fails, and would end at 7."""
    found = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards in (5, 7, 8, 9, 10)))
    assert answer(found) == 7
    wide = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards in (6, 7) or shards >= 8))
    assert answer(wide) == 6


def test_a_second_seed_has_a_say() -> None:
    measure = shards_hold(lambda shards: shards >= 3, other_seed={3: False})
    found = smallest_shards(scenario(), measure=measure)
    assert answer(found) == 4
    assert [len(one.outcomes) for one in found.candidates if one.value in (1, 3)] == [1, 2]


def test_where_no_number_is_enough_the_largest_was_tried() -> None:
    found = smallest_shards(scenario(), most=100, measure=shards_hold(lambda _shards: False))
    assert answer(found) is None
    assert found.candidates[-1].value == 100


def test_capacity_is_found_within_a_hundredth() -> None:
    def measure(candidate: Scenario, seed: int) -> SimulationOutcome:
        assert candidate.table.provisioned is not None
        return outcome(0.0 if (candidate.table.provisioned.write or 0) >= 1_234 else 0.2, seed)

    found = smallest_capacity(scenario(), WRITE, measure=measure)
    assert 1_234 <= (answer(found) or 0) <= 1_234 * 1.011


INDEX = {"name": "by-day", "partition_key": "day", "provisioned": {"read": 5, "write": 100}}
ON_DEMAND = {"name": "orders", "billing_mode": "PAY_PER_REQUEST"}


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has no global index 'by-week'; it has none @ \$.table.indexes"):
        smallest_capacity(scenario(), WRITE, index="by-week")
    with pytest.raises(ValueError, match="is on demand"):
        smallest_capacity(scenario(table=ON_DEMAND), WRITE)
    with pytest.raises(ValueError, match="adds shards by itself"):
        smallest_shards(load_scenario(SCENARIOS / "dynamic-sharding.toml"))
    with pytest.raises(ValueError, match="replays a trace"):
        smallest_shards(load_scenario(SCENARIOS / "replay.toml"))


def test_a_capacity_candidate_keeps_all_but_the_one_capacity() -> None:
    table = {
        "name": "orders",
        "provisioned": {"read": 100, "write": 400},
        "indexes": [INDEX],
        "auto_scaling": {"write": {"min": 5, "max": 4_000}},
    }
    changing = scenario(table=table, timeline=[{"at_s": 5, "provisioned": {"read": 50}}])
    seen: list[Scenario] = []
    writes: list[int | None] = []

    def measure(candidate: Scenario, seed: int) -> SimulationOutcome:
        seen.append(candidate)
        return outcome(0.0, seed)

    smallest_capacity(changing, WRITE, index="by-day", measure=measure)
    for candidate in seen:
        assert candidate.table.provisioned == changing.table.provisioned
        assert candidate.table.indexes[0].provisioned is not None
        assert candidate.table.indexes[0].provisioned.read == 5
        writes.append(candidate.table.indexes[0].provisioned.write)
        assert candidate.timeline == ()
        assert not candidate.table.scaled
    assert {1, 100} <= set(writes)


def test_what_a_candidate_costs_a_month() -> None:
    found = smallest_shards(scenario(), measure=shards_hold(lambda shards: shards >= 2))
    assert found.answer is not None
    prices = load_prices()
    costs = monthly(found.answer, prices)
    assert costs.provisioned_dollars == pytest.approx(730 * (4_000 * 0.00065 + 100 * 0.00013))
    assert costs.on_demand_dollars == pytest.approx(100 * MONTH_S * 0.625 / 1e6)
    assert (costs.queries_per_read, costs.units_per_read) == (2, 1.0)


# On the simulator itself


@pytest.mark.slow
def test_a_hot_key_needs_what_the_formula_says_and_the_partitions_allow() -> None:
    """1,800 writes/s on one key: ceil(1,800 / 1,000) = 2, on four partitions; the share is 0.9 of 2,000."""
    hot = load_scenario(SCENARIOS / "hotkey.toml")
    found = smallest_shards(hot)
    assert found.answer is not None
    assert 2 <= found.answer.value <= 6
    assert found.answer.share <= 0.001
    one = found.candidates[0]
    assert (one.value, one.enough) == (1, False)
    assert one.outcomes[0].left[0].cause is Cause.KEY_RANGE
    assert outcome_of(simulate(hot, counts_only=True)).share() == pytest.approx(one.share, abs=0.03)


class Simulations:
    """Who counts what a search simulates."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def trying(self, value: int) -> None:
        self.value = value

    def simulated(self, part: float) -> None:
        if part == 1.0:
            self.done.append(self.value)


@pytest.mark.slow
def test_every_number_is_simulated_once_with_each_seed() -> None:
    """That of one shard says besides whose keys are to be divided."""
    watch = Simulations()
    found = smallest_shards(scenario(load={"requests_per_s": 2_000, "duration_s": 8}), watch=watch)
    assert found.candidates[0].value == 1
    assert sorted(watch.done) == [one.value for one in found.candidates for _seed in one.outcomes]


def steady(write: int, **changes: Any) -> Scenario:
    return scenario(
        loadtest="hotkey",
        table={"name": "orders", "provisioned": {"read": 5, "write": write}},
        keys={"kind": "uniform", "keys": 10_000},
        load={"requests_per_s": 700, "duration_s": 60, "users": 20, **changes},
    )


@pytest.mark.slow
@pytest.mark.parametrize(("item_bytes", "needed"), [(1_000, 700), (2_500, 2_100)])
def test_a_constant_demand_needs_itself(item_bytes: int, needed: int) -> None:
    found = smallest_capacity(steady(40, item_bytes=item_bytes), WRITE)
    assert answer(found) == pytest.approx(needed, rel=0.05)
    assert found.candidates[0].outcomes[0].left[0].cause is Cause.PROVISIONED


@pytest.mark.slow
def test_burst_counts_only_where_it_is_asked_for() -> None:
    """300 s of burst and 60 s of load share 42,000 units: 117 a second are enough for so long."""
    found = smallest_capacity(steady(40), WRITE, burst=True)
    assert answer(found) == pytest.approx(42_000 / 360, rel=0.05)


def test_more_capacity_is_not_enough_for_a_hot_key() -> None:
    found = smallest_capacity(load_scenario(SCENARIOS / "hotkey.toml"), WRITE)
    assert found.answer is None
    assert found.candidates[-1].value == 40_000
    assert found.candidates[-1].outcomes[-1].left[0].cause is Cause.KEY_RANGE


@pytest.mark.slow
def test_an_index_has_a_key_of_its_own() -> None:
    country = load_scenario(SCENARIOS / "country-index.toml")
    alone = smallest_shards(country, most=8)
    divided = smallest_shards(country, index="by-country", most=32)
    assert alone.answer is None
    assert divided.answer is not None
    assert divided.answer.value >= 3  # 2,400 WCU/s of one country


LOADTESTS = sorted(path.stem for path in (SCENARIOS.parents[1] / "loadtests").glob("[!_]*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("loadtest", sorted({*LOADTESTS} - {"replay"}))
def test_which_load_tests_spread_their_keys_by_themselves(loadtest: str) -> None:
    """Those whose first second is spread over more keys where there are more shards."""
    path = SCENARIOS / f"{loadtest.replace('_', '-')}.toml"
    stated = load_scenario(path)
    if stated.dynamic_sharding is not None:
        return
    spread = []
    for shards in (1, 7):
        raw = stated.model_dump(mode="json")
        raw["keys"]["shards"] = shards
        flows = traffic_of(scenario_from_dict(raw, "x"), 1).second(0)
        spread.append(
            [max(flow.keys.shares, default=0.0) for flow in flows]
            + [len(flow.index_writes) for flow in flows]
        )
    assert (spread[0] != spread[1]) is asks_for_shards(stated)
