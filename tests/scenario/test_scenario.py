"""Scenarios: every mistake at once, each with its path; what a right file becomes."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.scenario.keys import DateKey, HotKeys, KeyPattern, Sequence, Uniform, Weighted, Zipf
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

ROOT = Path(__file__).parents[2]


def right(**changes: Any) -> dict[str, Any]:
    """A scenario without mistakes; a change replaces a whole part."""
    return {
        "format": FORMAT,
        "name": "hot",
        "question": "Does one key throttle?",
        "loadtest": "hotkey",
        "table": {"name": "orders", "provisioned": {"read": 100, "write": 4_000}},
        "keys": {"kind": "hot_key", "share": 0.9},
        **changes,
    }


def errors_of(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        scenario_from_dict(raw, "test.toml")
    assert str(caught.value).startswith(f"test.toml: {len(caught.value.errors)} error")
    return caught.value.errors


def paths(errors: list[str]) -> list[str]:
    return [error.rpartition(" @ ")[2] for error in errors]


def test_a_right_scenario_has_defaults_and_survives_its_own_json() -> None:
    scenario = scenario_from_dict(right(), "x")
    assert scenario.load.users == 50
    assert scenario_from_dict(scenario.model_dump(mode="json"), "run.json") == scenario


NAMELESS = {"billing_mode": "PROVISIONED", "provisioned": {"read": 1}}
LOCAL = {"name": "by_day", "partition_key": "pk", "sort_key": "day", "local": True}
OTHER_LOCAL = {"name": "lsi", "partition_key": "x", "local": True, "warm": {"read": 5}}
INDEX = {"name": "gsi", "partition_key": "a"}
TWO_TYPES = {
    "partition_key": "id", "partition_key_type": "N", "sort_key": "at", "sort_key_type": "B",
}  # fmt: skip


def on_demand(*indexes: dict[str, Any], **table: Any) -> dict[str, Any]:
    known = {"name": "orders", "billing_mode": "PAY_PER_REQUEST", "indexes": indexes}
    return right(table=known | table)


MISTAKES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "unknown field": (right(colour="red"), ["$.colour"]),
    "wrong format": (right(format="keyheat.scenario/9"), ["$.format"]),
    "field error and cross-field error": (
        right(table=NAMELESS), ["$.table.name", "$.table.provisioned.write"],
    ),
    "no capacity": (right(table={"name": "orders"}), ["$.table.provisioned"]),
    "capacity in on-demand mode": (
        on_demand(provisioned={"read": 1, "write": 1}), ["$.table.provisioned"],
    ),
    "on-demand maximum in provisioned mode": (
        right(table={**right()["table"], "max_on_demand": {"write": 5}}), ["$.table.max_on_demand"],
    ),
    "index without capacity, second one of the same name": (
        right(table={**right()["table"], "indexes": [INDEX] * 2}),
        ["$.table.indexes[0].provisioned", "$.table.indexes[1].provisioned", "$.table.indexes[1].name"],
    ),
    "local index on a table without sort key": (on_demand(LOCAL), ["$.table.indexes[0].local"]),
    "local index with another partition key, no sort key and capacity of its own": (
        on_demand(OTHER_LOCAL, sort_key="sk"),
        [f"$.table.indexes[0].{field}" for field in ("sort_key", "partition_key", "warm")],
    ),
    "one Region alone": (on_demand(regions=["eu-west-1"]), ["$.table.regions"]),
    "one Region twice": (on_demand(regions=["eu-west-1"] * 2), ["$.table.regions"]),
    "a Region that is none": (on_demand(regions=["Ireland", "eu-west-1"]), ["$.table.regions[0]"]),
    "attributes without INCLUDE": (on_demand(INDEX | {"include": ["b"]}), ["$.table.indexes[0].include"]),
    "a number that is the table's own key, and one that is no key at all": (
        on_demand(
            {"name": "by-pk", "partition_key": "a", "sort_key": "pk", "sort_key_type": "N"},
            {"name": "by-a", "partition_key": "a", "sort_key_type": "N"},
        ),
        ["$.table.indexes[0].sort_key_type", "$.table.indexes[1].sort_key_type"],
    ),
    "keys of two types": (
        on_demand(
            {"name": "turned", "partition_key": "at", "sort_key": "id", "sort_key_type": "N"},
            {"name": "other", "partition_key": "a", "partition_key_type": "C"}, **TWO_TYPES,
        ),
        ["$.table.indexes[1].partition_key_type", "$.table.indexes[0].partition_key_type"],
    ),
    "hot key without share": (right(keys={"kind": "hot_key"}), ["$.keys.share"]),
    "date without day": (right(keys={"kind": "date", "share": 0.5}), ["$.keys.day_s", "$.keys.share"]),
    "uniform with a share": (right(keys={"kind": "uniform", "share": 0.5}), ["$.keys.share"]),
    "a day that does not exist": (
        right(keys={"kind": "date", "day_s": 5, "first_day": "2026-02-30"}), ["$.keys.first_day"],
    ),
    "not a day at all is said once": (
        right(keys={"kind": "date", "day_s": 5, "first_day": "tomorrow"}), ["$.keys.first_day"],
    ),
    "mistakes in four parts": (
        right(table={"name": "x"}, keys={"kind": "date"}, load={"users": 0}, thresholds={"p99_ms_max": -1}),
        [
            "$.table.name",
            "$.load.users",
            "$.thresholds.p99_ms_max",
            "$.table.provisioned",
            "$.keys.day_s",
        ],
    ),
    "parts of the wrong type": (right(table=3, keys=[], load="x"), ["$.table", "$.keys", "$.load"]),
    "nothing": ({}, [f"$.{f}" for f in ("format", "name", "question", "table", "keys", "tasks")]),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_every_mistake_at_once_with_its_path(raw: dict[str, Any], expected: list[str]) -> None:
    assert paths(errors_of(raw)) == expected


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
    assert all(" @ $" in error for error in errors_of(raw))


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
        ({"kind": "uniform", "keys": 7, "prefix": "status"}, Uniform(7, "status")),
        ({"kind": "hot_key", "share": 0.5, "keys": 3}, HotKeys(0.5, 3)),
        (
            {"kind": "hot_key", "share": 0.5, "prefix": "device"},
            HotKeys(0.5, hot="device-hot", prefix="device"),
        ),
        ({"kind": "hot_set", "share": 0.8, "hot_keys": 4}, HotKeys(0.8, hot_keys=4)),
        ({"kind": "zipf", "exponent": 1.1, "keys": 50}, Zipf(1.1, 50)),
        ({"kind": "sequential", "prefix": "invoice"}, Sequence("invoice")),
        ({"values": {"ups": 45, "dhl": 25}}, Weighted(("ups", "dhl"), (45, 25))),
        ({"kind": "values", "values": {"ups": 1}}, Weighted(("ups",), (1,))),
        ({"kind": "date", "day_s": 20}, DateKey(20.0)),
        ({"kind": "date", "day_s": 20, "first_day": "2026-03-01"}, DateKey(20.0, date(2026, 3, 1))),
        ({"kind": "date", "day_s": 20, "rounded_to": "hour"}, DateKey(20.0, rounded_to="hour")),
    ],
)
def test_keys_become_a_pattern(keys: dict[str, Any], pattern: KeyPattern) -> None:
    spec = scenario_from_dict(right(keys=keys), "x").keys
    assert spec.pattern() == pattern


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"kind": "zipfian"}, ["$.keys.kind"]),
        ({}, ["$.keys.kind"]),
        ({"values": {"ups": 0}, "keys": 7}, ["$.keys.values.ups", "$.keys.keys"]),
        ({"kind": "zipf", "exponent": 1, "values": {"ups": 1}}, ["$.keys.values"]),
        ({"kind": "zipf"}, ["$.keys.exponent"]),
        ({"kind": "zipf", "exponent": 0}, ["$.keys.exponent"]),
        ({"kind": "zipf", "exponent": -1, "keys": 0}, ["$.keys.keys", "$.keys.exponent"]),
        ({"kind": "hot_set", "share": 1.2}, ["$.keys.share", "$.keys.hot_keys"]),
        ({"kind": "hot_set", "share": 0.5, "hot_keys": 0, "shards": 0}, ["$.keys.hot_keys", "$.keys.shards"]),
        ({"kind": "hot_key", "share": 0.5, "hot_keys": 2}, ["$.keys.hot_keys"]),
        ({"kind": "sequential", "keys": 5, "exponent": 1}, ["$.keys.exponent", "$.keys.keys"]),
        ({"kind": "date", "day_s": 9, "rounded_to": "week"}, ["$.keys.rounded_to"]),
        ({"kind": "uniform", "rounded_to": "day", "prefix": "a#b"}, ["$.keys.prefix", "$.keys.rounded_to"]),
    ],
)
def test_keys_that_make_no_sense_are_refused(keys: dict[str, Any], expected: list[str]) -> None:
    assert paths(errors_of(right(keys=keys))) == expected


@pytest.mark.parametrize(
    ("stated", "size"),
    [
        (2_000, UniformSize(2_000, 2_000)),
        ({"kind": "uniform", "low": 200, "high": 900}, UniformSize(200, 900)),
        ({"kind": "lognormal", "median": 700, "sigma": 1}, LognormalSize(700, 1.0, 100, 409_600)),
        (
            {"kind": "lognormal", "median": 700, "sigma": 1, "min": 500, "max": 900},
            LognormalSize(700, 1.0, 500, 900),
        ),
        ({"kind": "choice", "sizes": [200, 300]}, ChoiceSize((200, 300), (1.0, 1.0))),
        ({"kind": "choice", "sizes": [200, 300], "weights": [1, 3]}, ChoiceSize((200, 300), (1.0, 3.0))),
    ],
)
def test_item_bytes_is_a_number_or_a_distribution(stated: Any, size: ItemSize) -> None:
    scenario = scenario_from_dict(right(load={"item_bytes": stated}), "x")
    assert scenario.load.item_size() == size
    assert scenario.load.mean_item_bytes == size.mean_bytes
    assert scenario.load.mean_read_units(consistent=False) * 2 == scenario.load.mean_read_units(
        consistent=True
    )
    assert scenario_from_dict(scenario.model_dump(mode="json"), "run.json") == scenario


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (99, [""]),
        (409_601, [""]),
        ("large", [""]),
        ({"kind": "normal"}, [".kind"]),
        ({"kind": "uniform", "low": 300, "high": 200}, [".low"]),
        ({"kind": "uniform", "low": 3}, [".low", ".high"]),
        ({"kind": "lognormal", "median": 900, "sigma": 0, "sizes": [200]}, [".sigma", ".sizes"]),
        ({"kind": "lognormal", "median": 900, "sigma": 1, "max": 400}, [".median"]),
        ({"kind": "choice", "sizes": []}, [".sizes"]),
        ({"kind": "choice", "sizes": [200, 1], "weights": [1]}, [".sizes[1]", ".weights"]),
        ({"kind": "choice", "sizes": [200], "weights": [0]}, [".weights"]),
        ({"kind": "choice", "sizes": [200, 300], "weights": [1, -1]}, [".weights[1]"]),
        ({"kind": "choice", "sizes": [200], "shapes": 3}, [".shapes"]),
    ],
)
def test_sizes_that_make_no_sense_are_refused(stated: Any, expected: list[str]) -> None:
    errors = paths(errors_of(right(load={"item_bytes": stated})))
    assert errors == [f"$.load.item_bytes{path}" for path in expected]


@pytest.mark.parametrize(
    ("mix", "expected"),
    [
        (None, ["$.tasks"]),
        ([], ["$.tasks"]),
        ([("put", 0), ("get", 0.0)], ["$.tasks"]),
        ([("put", 1), ("scan", 2), ("get", -1)], ["$.tasks[1].operation", "$.tasks[2].weight"]),
    ],
)
def test_a_mix_of_operations_that_makes_no_sense_is_refused(mix: Any, expected: list[str]) -> None:
    tasks = {} if mix is None else {"tasks": [{"operation": name, "weight": weight} for name, weight in mix]}
    assert paths(errors_of(right(loadtest="operations", **tasks))) == expected


REPLAY = {"kind": "replay", "trace": "traces/shop.csv"}


def test_a_replay_says_which_trace_and_nothing_of_how_much() -> None:
    raw = right(loadtest="replay", keys={**REPLAY, "speed": 2}, load={"arrivals": "trace"})
    scenario = scenario_from_dict(raw, "x")
    assert scenario.keys.trace_path(Path("configs/scenarios")) == Path("configs/scenarios/traces/shop.csv")
    assert scenario.load.open_loop
    assert scenario_from_dict(scenario.model_dump(mode="json"), "run.json") == scenario


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"loadtest": "replay"}, ["$.keys.kind", "$.load.arrivals"]),
        ({"loadtest": "replay", "keys": {"kind": "replay"}}, ["$.keys.trace", "$.load.arrivals"]),
        ({"keys": REPLAY, "load": {"arrivals": "trace"}}, ["$.load.arrivals"]),
        ({"keys": {**REPLAY, "speed": 2}}, ["$.keys.speed"]),
        ({"keys": {**REPLAY, "speed": 0, "prefix": "a"}}, ["$.keys.speed", "$.keys.prefix", "$.keys.speed"]),
        (
            {
                "loadtest": "replay",
                "keys": REPLAY,
                "load": {"arrivals": "trace", "requests_per_s": 5, "shape": {"kind": "constant"}},
            },
            ["$.load.requests_per_s", "$.load.shape"],
        ),
    ],
)
def test_a_replay_that_makes_no_sense_is_refused(changes: dict[str, Any], expected: list[str]) -> None:
    assert paths(errors_of(right(**changes))) == expected
