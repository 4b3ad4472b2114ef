"""Timelines in scenarios: every step that cannot be is said at once; what becomes of those that can."""

from typing import Any

import pytest

from keyheat.scenario.scenario import ScenarioError, scenario_from_dict
from keyheat.scenario.spec.tables import requests_of
from keyheat.simulator.capacity import applied, capacity_of
from keyheat.words import Capacity
from tests.make import a_raw_scenario

INDEX = {"name": "by-day", "partition_key": "day", "provisioned": {"read": 50, "write": 200}}
PROVISIONED = {
    "name": "orders",
    "sort_key": "sk",
    "provisioned": {"read": 100, "write": 400},
    "indexes": [INDEX],
}
ON_DEMAND = {"name": "orders", "billing_mode": "PAY_PER_REQUEST"}


def raw(*steps: dict[str, Any], **table: Any) -> dict[str, Any]:
    return a_raw_scenario(table={**(table or PROVISIONED)}, load={"duration_s": 3_600}, timeline=list(steps))


def errors_of(*steps: dict[str, Any], **table: Any) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        scenario_from_dict(raw(*steps, **table), "test.toml")
    return caught.value.errors


def at(at_s: float, **step: Any) -> dict[str, Any]:
    return {"at_s": at_s, **step}


BACK = (
    at(60, billing_mode="PROVISIONED", provisioned={"read": 5, "write": 5}),
    at(60, index="by-day", provisioned={"read": 5, "write": 5}),
)


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ([at(3_600, provisioned={"write": 9})], "the load ends after 3600 s @ $.timeline[0].at_s"),
        ([at(60, provisioned={"write": 9}), at(30, provisioned={"write": 8})],
         "the steps are in order of time, and the one before is at 60 s @ $.timeline[1].at_s"),
        ([at(1)], "say what to change: billing_mode, provisioned, max_on_demand, warm @ $.timeline[0]"),
        ([at(1, index="by-week", provisioned={"write": 9})],
         "there is no global index 'by-week'; global indexes: 'by-day' @ $.timeline[0].index"),
        ([at(1, billing_mode="PAY_PER_REQUEST"), at(2, provisioned={"write": 9})],
         "PAY_PER_REQUEST mode by then, without provisioned capacity @ $.timeline[1].provisioned"),
        ([at(1, max_on_demand={"write": 9})],
         "PROVISIONED mode by then, without an on-demand maximum @ $.timeline[0].max_on_demand"),
        ([at(1, billing_mode="PROVISIONED")],
         "the table is in PROVISIONED mode already @ $.timeline[0].billing_mode"),
        ([at(1, index="by-day", billing_mode="PAY_PER_REQUEST")],
         "it is that of the table and all its indexes: leave index out @ $.timeline[0].billing_mode"),
        ([at(1, provisioned={"write": 9}), at(1, warm={"write": 800})],
         "$.timeline[0] is of the same moment: say both in one step @ $.timeline[1]"),
        ([at(1, billing_mode="PAY_PER_REQUEST"), BACK[0]],
         "PROVISIONED mode needs provisioned.read and .write of index 'by-day', in a step of the same at_s"
         " @ $.timeline[1]"),
    ],
)  # fmt: skip
def test_a_step_that_cannot_be_is_refused(steps: list[dict[str, Any]], wrong: str) -> None:
    assert errors_of(*steps) == [wrong]


@pytest.mark.parametrize(
    ("bounds", "wrong"),
    [
        ({"min": 50, "max": 40}, "min = 50 is more than max = 40 @ $.table.auto_scaling.write.min"),
        (
            {"min": 500, "max": 900},
            "provisioned.write = 400 is not between min = 500 and max = 900 @ $.table.auto_scaling.write",
        ),
    ],
)
def test_auto_scaling_agrees_with_the_table(bounds: dict[str, int], wrong: str) -> None:
    assert errors_of(**PROVISIONED, auto_scaling={"write": bounds}) == [wrong]


def test_what_a_step_does_not_name_stays() -> None:
    scenario = scenario_from_dict(
        raw(at(1, provisioned={"write": 900}), at(2, billing_mode="PAY_PER_REQUEST"), *BACK), "x"
    )
    capacity = capacity_of(scenario.table)
    (raised,), (switched,), back = (steps for _at_s, steps in requests_of(scenario.timeline))
    capacity = applied(capacity, [raised])
    assert (capacity.provisioned, capacity.indexes[0].provisioned) == (Capacity(100, 900), Capacity(50, 200))
    capacity = applied(capacity, [switched])
    assert capacity.on_demand
    assert (capacity.provisioned, capacity.indexes[0].provisioned) == (None, None)
    capacity = applied(capacity, back)
    assert (capacity.billing_mode, capacity.provisioned) == ("PROVISIONED", Capacity(5, 5))
