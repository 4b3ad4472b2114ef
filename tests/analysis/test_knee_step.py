"""One step: carried or not, and by whose limit; and knees on the simulator against plain arithmetic."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.knee import KneeStep, Range, search
from keyheat.analysis.knee_steps import (
    beyond_provisioned,
    loaded_step,
    seconds_for,
    simulated_step,
    step_of,
    used_by,
)
from keyheat.analysis.run_result import most_provisioned
from keyheat.analysis.thresholds import Thresholds
from keyheat.runs.formats import Diagnosis, IndexFacts, SecondCount, TableFacts, Verdict
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import overridden, with_demand
from keyheat.words import Capacity, Direction

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
ON_DEMAND = ('table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=")
MAXIMUM = "table.max_on_demand={write=1000}"
START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PRECISION = 0.05

# scenario, settings, whose knee it is, and where it is by arithmetic, in requests/s
ITEM_OF_1_KB = "load.item_bytes=1000"
ARITHMETIC: list[tuple[str, tuple[str, ...], tuple[str, str, str], float]] = [
    ("hotkey", (ITEM_OF_1_KB,), ("partition", "table", "write"), 1_000 / (0.9 + 0.1 / 4)),
    ("hotkey", ("load.item_bytes=3000",), ("partition", "table", "write"), 1_000 / (0.9 + 0.1 / 4) / 3),
    ("too-small", (ITEM_OF_1_KB,), ("table", "table", "write"), 40),
    ("user-id", (ITEM_OF_1_KB,), ("table", "table", "write"), 4_000),
    ("country-index", ("load.item_bytes=2000",), ("partition", "by-country", "write"),
     1_000 / (0.98 * 2 * (0.8 + 0.2 / 4))),
    ("too-small", (*ON_DEMAND, MAXIMUM, ITEM_OF_1_KB), ("max_on_demand", "table", "write"), 1_000),
    ("too-small", (*ON_DEMAND, "table.warm={write=100_000}", ITEM_OF_1_KB), ("account", "table", "write"),
     40_000),
    ("hotkey", ("local.scale=0.1", ITEM_OF_1_KB), ("partition", "table", "write"), 100 / (0.9 + 0.1 / 4)),
    ("read-hot", ("load.item_bytes=32000",), ("partition", "table", "read"), 4_500 / 4 / (0.9 + 0.1 / 4)),
]  # fmt: skip


def scenario_of(name: str, settings: tuple[str, ...] = ()) -> Scenario:
    return overridden(load_scenario(SCENARIOS / f"{name}.toml"), settings, name)


@pytest.mark.parametrize(
    ("name", "settings", "limit", "arithmetic"),
    ARITHMETIC,
    ids=[f"{c[0]}-{c[2][0]}-{c[3]:.0f}" for c in ARITHMETIC],
)
def test_a_simulated_knee_is_where_arithmetic_puts_it(
    name: str, settings: tuple[str, ...], limit: tuple[str, str, str], arithmetic: float, numbers: Thresholds
) -> None:
    scenario, lasts_s = scenario_of(name, settings), seconds_for(PRECISION)

    def measure(demand: float, again: int) -> KneeStep:
        return simulated_step(with_demand(scenario, demand, lasts_s), 1 + again, numbers)

    near = Range(start=arithmetic, least=arithmetic / 4, most=arithmetic * 4, precision=PRECISION)
    found = search(measure, near)
    assert found.carried is not None
    assert found.limited is not None
    assert found.limited.limit == limit
    assert found.limited.grade == "reason"
    assert found.carried.demand_per_s == pytest.approx(arithmetic, rel=0.08)
    first, *_others = used_by(
        with_demand(scenario, found.carried.demand_per_s, lasts_s), scale=scenario.local.scale
    )
    assert (first.constraint, first.resource, first.direction) == limit
    assert first.share == pytest.approx(1.0, abs=PRECISION)


def test_a_mix_of_reads_and_writes_is_held_to_its_most_used_limit(numbers: Thresholds) -> None:
    scenario = scenario_of("operations")
    at_400, *_ = used_by(with_demand(scenario, 400, 60))
    found = at_400.share
    over = simulated_step(with_demand(scenario, 400 / found * 1.1, 60), 1, numbers)
    under = simulated_step(with_demand(scenario, 400 / found * 0.95, 60), 1, numbers)
    assert over.limit == (at_400.constraint, at_400.resource, at_400.direction) == ("table", "table", "write")
    assert under.state == "carried"
    assert under.read_units_per_s > 1_000


def test_shards_that_are_divided_on_their_way_have_no_arithmetic() -> None:
    assert used_by(scenario_of("hotkey", ("keys.shards=8",))) == ()
    assert used_by(scenario_of("sharded"))[0].constraint == "partition"


def test_a_step_outlasts_what_a_partition_gives_in_an_instant_and_ends_before_it_splits() -> None:
    assert seconds_for(0.05) == 60
    assert seconds_for(0.02) == 150
    assert seconds_for(0.001) == 230
    assert seconds_for(0.5) == 60


def verdict(constraint: Any, *, valid: bool = True) -> Verdict:
    limited = constraint != "none"
    return Verdict(
        constraint=constraint, resource="table" if limited else None, direction="write" if limited else None,
        grade="reason" if limited else "none", confidence=0.9, valid=valid, because=("Because.",),
    )  # fmt: skip


STATES: list[tuple[str, dict[str, Any], str]] = [
    ("no throttles", {}, "carried"),
    ("a sprinkle of throttles", {"judged": verdict("partition"), "throttled_per_s": 0.5}, "carried"),
    ("throttles", {"judged": verdict("partition"), "throttled_per_s": 50}, "limited"),
    ("without a reason", {"judged": verdict("undetermined", valid=False), "throttled_per_s": 50}, "limited"),
    ("too many errors", {"judged": verdict("none", valid=False)}, "undecided"),
    ("errors, and throttles", {"judged": verdict("table", valid=False), "throttled_per_s": 50}, "undecided"),
    ("a late generator", {"generator_bound": True, "judged": verdict("none", valid=False)}, "generator"),
    ("on burst", {"on_burst": ("table", "write", "More than it has.")}, "limited"),
]  # fmt: skip


@pytest.mark.parametrize(("story", "facts", "state"), STATES, ids=[one[0] for one in STATES])
def test_what_a_step_is(story: str, facts: dict[str, Any], state: str) -> None:
    known = {
        "demand_per_s": 1_000.0, "seed": 1, "judged": verdict("none"), "generator_bound": False,
        "attempts_per_s": 1_000.0, "throttled_per_s": 0.0, "units_per_s": {"write": 1_000.0},
    }  # fmt: skip
    found = step_of(**{**known, **facts})
    assert found.state == state
    if story == "on burst":
        assert (found.limit, found.grade, found.on_burst) == (("table", "table", "write"), "inferred", True)


def seconds_at(*rates: float, index: str | None = None) -> list[SecondCount]:
    return [
        SecondCount(
            second=START + timedelta(seconds=place), index=index, direction="write", consumed=rate,
            attempts=int(rate), throttled=0,
        )
        for place, rate in enumerate(rates)
    ]  # fmt: skip


TABLE = TableFacts(
    name="orders", billing_mode="PROVISIONED", provisioned=Capacity(read=10, write=100),
    indexes=(IndexFacts(name="by-day", provisioned=Capacity(read=10, write=50)),),
)  # fmt: skip


def most(table: TableFacts = TABLE, scale: float = 1.0) -> dict[tuple[str, Direction], float]:
    return most_provisioned(Manifest(started_at=START, table=table, target="local", scale=scale), None)


def test_living_on_burst_is_seen_in_the_second_half() -> None:
    assert beyond_provisioned(seconds_at(900, 900, 99, 101), most()) is None
    assert beyond_provisioned(seconds_at(0, 0, 110, 110), most()) == (
        "table", "write", "110 units/s were consumed where 100 are provisioned.",
    )  # fmt: skip
    both = [*seconds_at(110, 110), *seconds_at(110, 110, index="by-day")]
    assert beyond_provisioned(both, most()) is not None
    assert (beyond_provisioned(both, most()) or ("",))[0] == "by-day"
    assert beyond_provisioned(seconds_at(40, 40), most(scale=0.1)) is not None
    assert beyond_provisioned([], most()) is None
    on_demand = TableFacts(name="orders", billing_mode="PAY_PER_REQUEST")
    assert beyond_provisioned(seconds_at(1e6, 1e6), most(on_demand)) is None


def test_a_loaded_step_is_read_from_its_run() -> None:
    diagnosis = Diagnosis.model_validate(
        {
            "verdict": verdict("none"), "labels": (), "generator": {"bound": False},
            "coverage": {"minutes": 1},
        }
    )  # fmt: skip
    manifest = Manifest(
        started_at=START, ended_at=START + timedelta(seconds=4), table=TABLE, target="local", scale=1.0
    )
    found = loaded_step(scenario_of("hotkey"), diagnosis, manifest, seconds_at(120, 120, 120, 120), Path("x"))
    assert (found.attempts_per_s, found.write_units_per_s, found.demand_per_s) == (120, 120, 250)
    assert (found.state, found.on_burst, found.folder) == ("limited", True, "x")
