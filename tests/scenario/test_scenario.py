"""Scenarios: what a right file becomes, and what is no scenario at all."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.scenario.keys import DateKey, HotKeys, KeyPattern, Sequential, Uniform, Weighted, Zipf
from keyheat.scenario.scenario import (
    FORMAT,
    Scenario,
    ScenarioError,
    json_schema,
    load_scenario,
    scenario_from_dict,
)
from keyheat.scenario.sizes import ChoiceSize, ItemSize, LognormalSize, UniformSize
from tests.agreement import MOST_PER_S
from tests.make import a_raw_scenario

ROOT = Path(__file__).parents[2]


def test_a_right_scenario_has_defaults_and_survives_its_own_json() -> None:
    scenario = scenario_from_dict(a_raw_scenario(), "x")
    assert scenario.load.users == 50
    assert scenario_from_dict(scenario.model_dump(mode="json"), "run.json") == scenario


@pytest.mark.parametrize(
    ("text", "message"),
    [("a = ", "not TOML"), ("format = 1\nformat = 2", "not TOML"), ("", r"missing @ \$\.format")],
)
def test_text_that_is_not_a_scenario(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ScenarioError, match=message):
        load_scenario(tmp_path / "x.toml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file or directory @ file"):
        load_scenario(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ScenarioError, match="not UTF-8 text @ file"):
        load_scenario(tmp_path / "latin.toml")


@pytest.mark.parametrize("path", sorted((ROOT / "configs/scenarios").glob("*.toml")), ids=lambda p: p.stem)
def test_shipped_scenarios_are_right(path: Path) -> None:
    assert load_scenario(path).name == path.stem


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["table", "keys", "name", "indexes", "kind", "provisioned", "local", "first_day"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_file_holds_the_answer_is_a_list_of_mistakes(content: Any) -> None:
    raw = content if isinstance(content, dict) else {"table": content, "keys": content}
    with pytest.raises(ScenarioError) as caught:
        scenario_from_dict(raw, "test.toml")
    assert all(" @ $" in error for error in caught.value.errors)


def test_the_schema_names_every_part_and_forbids_others() -> None:
    schema = json_schema()
    assert schema["$id"] == FORMAT
    assert schema["properties"].keys() == Scenario.model_fields.keys()
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"format", "name", "question", "table", "keys"}
    assert schema["$defs"]["KeysSpec"]["properties"]["kind"]["enum"] == [
        "uniform", "hot_key", "hot_set", "zipf", "date", "sequential", "replay", "values",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "pattern"),
    [
        ({"kind": "uniform", "keys": 7}, Uniform(7)),
        ({"kind": "hot_key", "share": 0.5, "keys": 3}, HotKeys(0.5, 3)),
        ({"kind": "hot_key", "share": 0.5, "prefix": "a"}, HotKeys(0.5, hot="a-hot", prefix="a")),
        ({"kind": "hot_set", "share": 0.8, "hot_keys": 4}, HotKeys(0.8, hot_keys=4)),
        ({"kind": "zipf", "exponent": 1.1, "keys": 50}, Zipf(1.1, 50)),
        ({"kind": "sequential", "prefix": "invoice"}, Sequential("invoice")),
        ({"values": {"ups": 45, "dhl": 25}}, Weighted(("ups", "dhl"), (45, 25))),
        ({"kind": "date", "day_s": 20, "first_day": "2026-03-01"}, DateKey(20.0, date(2026, 3, 1))),
        ({"kind": "date", "day_s": 20, "rounded_to": "hour"}, DateKey(20.0, rounded_to="hour")),
    ],
)
def test_keys_become_a_pattern(keys: dict[str, Any], pattern: KeyPattern) -> None:
    spec = scenario_from_dict(a_raw_scenario(keys=keys), "x").keys
    assert spec.pattern() == pattern


@pytest.mark.parametrize(
    ("stated", "size"),
    [
        (2_000, UniformSize(2_000, 2_000)),
        ({"kind": "uniform", "low": 200, "high": 900}, UniformSize(200, 900)),
        ({"kind": "lognormal", "median": 700, "sigma": 1}, LognormalSize(700, 1.0, 100, 409_600)),
        ({"kind": "choice", "sizes": [200, 300], "weights": [1, 3]}, ChoiceSize((200, 300), (1.0, 3.0))),
    ],
)
def test_item_bytes_is_a_number_or_a_distribution(stated: Any, size: ItemSize) -> None:
    scenario = scenario_from_dict(a_raw_scenario(load={"item_bytes": stated}), "x")
    assert scenario.load.item_size() == size
    assert scenario.load.mean_item_bytes == size.mean_bytes
    assert scenario_from_dict(scenario.model_dump(mode="json"), "run.json") == scenario


def test_a_replay_says_which_trace_and_nothing_of_how_much() -> None:
    keys = {"kind": "replay", "trace": "traces/shop.csv", "speed": 2}
    raw = a_raw_scenario(loadtest="replay", keys=keys, load={"arrivals": "trace"})
    scenario = scenario_from_dict(raw, "x")
    assert scenario.keys.trace_path(Path("configs/scenarios")) == Path("configs/scenarios/traces/shop.csv")
    assert scenario.load.open_loop
    assert scenario_from_dict(scenario.model_dump(mode="json"), "run.json") == scenario


ABOUT_REQUESTS = {  # how often a view or an order changes one item, however large it is
    "aggregate-scan", "aggregate-stream", "aggregate-transaction", "leaderboard", "leaderboard-sharded",
}  # fmt: skip


def test_a_scenario_asks_for_units_and_not_for_requests_that_a_small_machine_cannot_send() -> None:
    loads = {path.stem: load_scenario(path).load for path in (ROOT / "configs/scenarios").glob("*.toml")}
    many = {
        name
        for name, load in loads.items()
        if load.arrivals != "trace"
        and load.rate_shape().highest_per_s / (load.mean_write_units if load.write_units_per_s else 1)
        > MOST_PER_S
    }
    assert many == ABOUT_REQUESTS
