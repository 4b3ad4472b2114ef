"""What makes two runs the same measurement, and what does not."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.setup import scenario_digest, setup_of
from keyheat.runs.formats import IndexFacts, TableFacts
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import overridden
from keyheat.words import Capacity

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"


def digest(name: str, *settings: str, **fields: Any) -> str:
    scenario = overridden(load_scenario(SCENARIOS / f"{name}.toml"), settings, name)
    return scenario_digest(scenario.model_dump(mode="json") | fields)


@pytest.mark.parametrize(
    "setting",
    [
        'name="other"', 'question="other?"', "seed=9", "thresholds.p99_ms_max=5", "budget.minutes=5",
        'table.name="other-table"', "table.provisioned.write=1_000", "local.scale=0.5",
        "table.indexes[0].provisioned.write=7", 'table.on_end="keep"', 'table.indexes[0].projection="ALL"',
        'table.stream="KEYS_ONLY"', 'table.regions=["eu-west-1", "us-east-1"]',
        "load.spawn_per_s=50",  # the default, said
    ],
)  # fmt: skip
def test_words_and_what_the_table_says_itself_are_not_in_the_digest(setting: str) -> None:
    assert digest("leaderboard", setting) == digest("leaderboard")


@pytest.mark.parametrize(
    "setting",
    [
        "load.requests_per_s=999", "load.item_bytes=2_000", "load.duration_s=7", "keys.keys=7",
        'table.sort_key="sk"', 'load.arrivals="poisson"',
    ],
)  # fmt: skip
def test_what_decides_what_is_sent_is_in_the_digest(setting: str) -> None:
    assert digest("leaderboard", setting) != digest("leaderboard")


def manifest(**fields: Any) -> Manifest:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    return Manifest(**{"started_at": at, "table": TableFacts(name="orders"), "target": "local", **fields})


PAIR = Capacity(read=5, write=10)
INDEX = IndexFacts(name="by-day", provisioned=PAIR, warm=PAIR)


def test_the_tables_facts_are_flat_and_warm_throughput_only_limits_what_is_paid_by_request() -> None:
    table = TableFacts(
        name="orders", arn="arn:aws:dynamodb:eu-west-1:123456789012:table/orders", billing_mode="PROVISIONED",
        provisioned=PAIR, warm=Capacity(read=12_000, write=4_000), has_lsi=False, indexes=(INDEX,),
    )  # fmt: skip
    assert setup_of(manifest(table=table)).table == {
        "billing_mode": "PROVISIONED", "has_lsi": False, "provisioned.read": 5, "provisioned.write": 10,
        "indexes.by-day.provisioned.read": 5, "indexes.by-day.provisioned.write": 10,
    }  # fmt: skip
    on_demand = TableFacts(name="orders", billing_mode="PAY_PER_REQUEST", warm=PAIR)
    assert setup_of(manifest(table=on_demand, existing=True)).table == {
        "name": "orders", "billing_mode": "PAY_PER_REQUEST", "has_lsi": None, "warm.read": 5,
        "warm.write": 10, "time_to_live": None,
    }  # fmt: skip


def test_what_only_a_scenario_says_of_its_table_is_a_fact_too() -> None:
    raw = load_scenario(SCENARIOS / "leaderboard.toml").model_dump(mode="json")
    raw["table"]["stream"] = "KEYS_ONLY"
    raw["table"]["auto_scaling"] = {"read": None, "write": {"min": 100, "max": 6_000, "target": 0.7}}
    raw["table"]["indexes"][0]["auto_scaling"] = {"write": {"min": 100, "max": 1_500, "target": 0.7}}
    found = setup_of(manifest(scenario=raw)).table
    assert found["indexes.by-views"] == "global, keyed by board, views, KEYS_ONLY"
    assert found["stream"] == "KEYS_ONLY"
    assert (found["auto_scaling.write.max"], found["indexes.by-views.auto_scaling.write.max"]) == (
        6_000,
        1_500,
    )
    assert not [value for value in found.values() if isinstance(value, str) and "{" in value]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("simulated", "simulated"),
        ("local", "local"),
        ("https://dynamodb.eu-west-1.amazonaws.com", "aws"),
        ("https://123456789012.ddb.eu-west-1.amazonaws.com", "aws"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_the_target_in_a_word(target: str, said: str) -> None:
    assert setup_of(manifest(target=target)).target == said


def test_what_a_table_that_was_there_has_around_it_is_a_fact() -> None:
    around: dict[str, Any] = {
        "time_to_live": "expires_at",
        "auto_scaling": {
            "known": True,
            "scaled": [
                {"index": None, "side": "write", "min": 5, "max": 1_000, "target": 0.7},
                {"index": "by-day", "side": "read", "min": 5, "max": 40, "target": None},
            ],
        },
        "table": TableFacts(name="orders", replicas=("us-west-2", "eu-west-1")),
    }
    found = setup_of(manifest(existing=True, **around)).table
    assert found["replicas"] == "eu-west-1, us-west-2"
    assert found["time_to_live"] == "expires_at"
    scaling = {
        name.replace("auto_scaling.", ""): value for name, value in found.items() if "auto_scaling" in name
    }
    assert scaling == {
        "write.min": 5, "write.max": 1_000, "write.target": 0.7,
        "indexes.by-day.read.min": 5, "indexes.by-day.read.max": 40,
    }  # fmt: skip
    assert "time_to_live" not in setup_of(manifest(**around)).table, "of our own tables the scenario says it"
    assert "time_to_live" not in setup_of(manifest(existing=True, time_to_live="off")).table
