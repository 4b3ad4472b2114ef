"""`[dynamic_sharding]` of a scenario: what is missing or contradicts itself is refused, all at once."""

import tomllib
from typing import Any

import pytest

from keyheat.scenario.scenario import ScenarioError, scenario_from_dict
from tests.make import SCENARIOS

FILE = SCENARIOS / "dynamic-sharding.toml"


def raw(**sharding: Any) -> dict[str, Any]:
    scenario = tomllib.loads(FILE.read_text())
    scenario["dynamic_sharding"] |= sharding
    return scenario


def errors(scenario: dict[str, Any]) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        scenario_from_dict(scenario, "file")
    return caught.value.errors


def test_every_mistake_is_said_at_once() -> None:
    scenario = raw(table="nowhere", backoff_low_s=3, cache_s=6, history=1, max_shards=0)
    scenario["keys"]["shards"] = 4
    said = errors(scenario)
    assert len(said) == 6
    assert "longer than backoff_high_s = 2 @ $.dynamic_sharding.backoff_low_s" in said
    assert "longer than cooldown_s = 5 @ $.dynamic_sharding.cache_s" in said
    assert "no companion is named 'nowhere' @ $.dynamic_sharding.table" in said
    assert "say either how many shards there are, or dynamic_sharding @ $.keys.shards" in said
    assert {one.rpartition(" @ ")[2] for one in said} >= {
        "$.dynamic_sharding.history", "$.dynamic_sharding.max_shards",
    }  # fmt: skip


def test_the_metadata_table_is_on_demand_and_has_one_item_per_key() -> None:
    scenario = raw()
    scenario["companions"][0] |= {
        "billing_mode": "PROVISIONED", "provisioned": {"read": 1, "write": 1}, "sort_key": "sk",
    }  # fmt: skip
    assert len(errors(scenario)) == 1
