"""The same scenario with another number of shards, another size or demand; and in what two differ."""

from pathlib import Path

import pytest

from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario
from keyheat.scenario.variants import at_scale, changes, with_demand, with_shards, write_scenario
from tests.make import a_shipped


@pytest.mark.parametrize("name", ["sharded", "pre-warmed", "daily-peak", "auto-scaling-ramp"])
def test_at_half_its_size_a_scenario_asks_half_of_half_a_table(name: str) -> None:
    whole = a_shipped(name)
    half = at_scale(whole, 0.5)
    assert half.local.scale == whole.local.scale / 2
    for at_s in (0.0, 30.0, 100.0):
        assert half.load.rate_shape().rate(at_s) == pytest.approx(whole.load.rate_shape().rate(at_s) / 2)
    assert (half.expects, half.table) == (whole.expects, whole.table)
    assert half.load.item_bytes == whole.load.item_bytes


@pytest.fixture
def sharded() -> Scenario:
    return a_shipped("sharded")


def test_only_the_shards_and_the_names_differ(sharded: Scenario) -> None:
    derived = with_shards(sharded, 4)
    assert (derived.keys.shards, derived.name, derived.table.name) == (4, "sharded-4", "keyheat-sharded-4")
    back = derived.model_copy(update={"name": sharded.name, "expects": sharded.expects})
    back = back.model_copy(update={"keys": sharded.keys})
    assert back.model_copy(update={"table": sharded.table}) == sharded


def test_what_was_expected_of_the_scenarios_own_number_is_expected_of_no_other(sharded: Scenario) -> None:
    assert with_shards(sharded, 1).expects is None
    assert with_shards(sharded, sharded.keys.shards).expects == "none"


def test_a_scenario_that_finds_its_number_itself_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"say either how many shards there are, or dynamic_sharding"):
        with_shards(a_shipped("dynamic-sharding"), 4)


def test_a_derived_scenario_is_a_file_that_can_be_read_again(sharded: Scenario, tmp_path: Path) -> None:
    derived = with_shards(sharded, 16)
    assert load_scenario(write_scenario(tmp_path / "shards-16.json", derived)) == derived


def test_a_demand_is_constant_on_a_table_that_nobody_changes() -> None:
    made = with_demand(a_shipped("auto-scaling-ramp"), 123, 30)
    assert (made.load.target_per_s, made.load.duration_s, made.load.shape) == (123, 30, None)
    assert (made.timeline, made.table.scaled, made.expects) == ((), False, None)


@pytest.mark.parametrize(("field", "unit"), [("write_units_per_s", "WCU"), ("read_units_per_s", "RCU")])
def test_a_demand_is_in_the_unit_of_the_target(field: str, unit: str) -> None:
    steered = ('load.arrivals="constant"', "load.requests_per_s=", f"load.{field}=300")
    made = with_demand(a_shipped("too-small", *steered), 40.5, 60)
    assert (made.load.target_per_s, made.load.target_unit) == (40.5, unit)


def test_differences_are_fields_with_their_paths() -> None:
    before = a_shipped("country-index")
    after = a_shipped(
        "country-index", "table.indexes[0].provisioned.write=800", "keys.shards=4", "cache.ttl_s=1.5",
        'name="other"',
    )  # fmt: skip
    assert {one.path: (one.before, one.after) for one in changes(before, after)} == {
        "table.indexes[0].provisioned.write": ("4,000", "800"),
        "keys.shards": ("1", "4"),
        "cache.ttl_s": ("–", "1.5"),
        "cache.items": ("–", "10,000"),
    }
    assert changes(before, before) == ()
