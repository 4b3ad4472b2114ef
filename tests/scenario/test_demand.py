"""Scenarios of another demand, on tables of their own; and in what two scenarios differ."""

import pytest

from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import changes, with_demand
from tests.make import a_shipped


def said(before: Scenario, after: Scenario) -> dict[str, tuple[str, str]]:
    return {one.path: (one.before, one.after) for one in changes(before, after)}


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
    assert said(before, after) == {
        "table.indexes[0].provisioned.write": ("4,000", "800"),
        "keys.shards": ("1", "4"),
        "cache.ttl_s": ("–", "1.5"),
        "cache.items": ("–", "10,000"),
    }
    assert changes(before, before) == ()
