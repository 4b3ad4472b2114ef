"""Timelines in scenarios: what becomes of their steps. What cannot be: tests/scenario/test_mistakes.py."""

from typing import Any

from keyheat.scenario.scenario import scenario_from_dict
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


def raw(*steps: dict[str, Any], **table: Any) -> dict[str, Any]:
    return a_raw_scenario(table={**(table or PROVISIONED)}, load={"duration_s": 3_600}, timeline=list(steps))


def at(at_s: float, **step: Any) -> dict[str, Any]:
    return {"at_s": at_s, **step}


BACK = (
    at(60, billing_mode="PROVISIONED", provisioned={"read": 5, "write": 5}),
    at(60, index="by-day", provisioned={"read": 5, "write": 5}),
)


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
