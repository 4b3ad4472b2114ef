"""Other scenarios made of one: other shards, sizes, demands or fields; and in what two differ."""

from pathlib import Path

import pytest

from keyheat.scenario.scenario import Scenario, ScenarioError, load_scenario
from keyheat.scenario.variants import at_scale, changes, overridden, with_demand, with_shards, write_scenario
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
    assert derived.expects is None, "what its own number is expected to do"
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


@pytest.fixture
def scenario() -> Scenario:
    return a_shipped("country-index")


def test_any_field_is_set_by_its_path(scenario: Scenario) -> None:
    settings = ["keys.shards=20", "table.indexes[0].provisioned.write = 500", 'load.arrivals="poisson"']
    made = overridden(scenario, settings, "it")
    assert made.keys.shards == 20
    assert made.table.indexes[0].provisioned.write == 500
    assert made.load.arrivals == "poisson"
    assert overridden(scenario, ["table.indexes.by-country.provisioned.write=500"], "it").table == made.table
    assert made.load.duration_s == scenario.load.duration_s


def test_a_part_that_the_file_does_not_have_is_made(scenario: Scenario) -> None:
    made = overridden(scenario, ["thresholds.throttle_share_max=0.1", 'companions[0].name="beside"',
                                 'companions[0].billing_mode="PAY_PER_REQUEST"'], "it")  # fmt: skip
    assert made.thresholds.throttle_share_max == 0.1
    assert made.thresholds.wrong_reads_max == scenario.thresholds.wrong_reads_max
    assert [table.name for table in made.companions] == ["beside"]


def test_a_field_without_a_value_is_taken_out(scenario: Scenario) -> None:
    """One target takes the place of another."""
    settings = ["load.requests_per_s=", "load.write_units_per_s=900", 'load.arrivals="constant"']
    assert overridden(scenario, settings, "it").load.target_unit == "WCU"


TASKS = ["tasks=[{operation='put', per_s=900}, {operation='query', per_s=100}]"]


@pytest.fixture
def paced(scenario: Scenario) -> Scenario:
    """A scenario whose tasks say how often each is sent, and whose load does not."""
    settings = ["loadtest='operations'", "load.requests_per_s=", *TASKS]
    return overridden(scenario, settings, "it")


@pytest.mark.parametrize(
    ("settings", "total"),
    [
        (["tasks[0].per_s=2_000"], 2_100),
        (["tasks[1]="], 900),
        (["load.duration_s=7"], 1_000),
        (["load.requests_per_s=500", "tasks[0].per_s=2_000"], 500),
    ],
)
def test_the_total_is_that_of_the_tasks_as_set(paced: Scenario, settings: list[str], total: float) -> None:
    assert paced.load.requests_per_s == 1_000
    assert overridden(paced, settings, "it").load.requests_per_s == total


def test_what_was_expected_is_not_expected_of_another_scenario(scenario: Scenario) -> None:
    assert scenario.expects == "partition"
    assert overridden(scenario, [], "it") is scenario
    assert overridden(scenario, ["keys.shards=20"], "it").expects is None
    assert overridden(scenario, ["keys.shards=20", 'expects="none"'], "it").expects == "none"
