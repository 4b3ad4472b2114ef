"""Tasks that a scenario lists: what is refused, and what is sent of them."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.plan.plan import plan_run
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import scenario_from_dict
from tests.make import a_scenario_of_tenants


@pytest.fixture
def raw() -> dict[str, Any]:
    return a_scenario_of_tenants(
        load={"users": 20, "duration_s": 20, "item_bytes": 3_000},
        tasks=[
            {"operation": "put", "per_s": 300},
            {"operation": "query", "per_s": 30, "limit": 20},
            {"operation": "query", "index": "by-type", "per_s": 5},
            {"operation": "get", "per_s": 10, "consistent": True},
        ],
    )


def test_tasks_are_sent_as_often_as_they_say(raw: dict[str, Any]) -> None:
    scenario = scenario_from_dict(raw, "orders.toml")
    assert scenario.load.requests_per_s == 345
    assert scenario.loadtest == "operations"
    sent = plan_run(scenario, load_prices(), margin=1.5, folder=Path()).sent
    per_s = {(one.name, one.index): one.requests / sent.duration_s for one in sent.operations}
    assert per_s == pytest.approx(
        {("PutItem", None): 300, ("Query", None): 30, ("Query", "by-type"): 5, ("GetItem", None): 10},
        rel=0.01,
    )
    (read,) = (one for one in sent.operations if one.name == "GetItem")
    assert read.units / read.items == pytest.approx(1), (
        "strongly consistent: 1 for up to 4 KB, and not a half"
    )


def test_a_total_of_ones_own_keeps_the_proportions(raw: dict[str, Any]) -> None:
    raw["load"]["requests_per_s"] = 690
    scenario = scenario_from_dict(raw, "orders.toml")
    assert scenario.load.requests_per_s == 690
    again = scenario_from_dict(scenario.model_dump(mode="json"), "run.json")
    assert again == scenario
