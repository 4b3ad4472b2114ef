"""Every mistake in a scenario is said at once, with its place and line, as `golden/mistakes.txt` has it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from keyheat.scenario.mistakes import located
from keyheat.scenario.scenario import ScenarioError, scenario_from_dict
from keyheat.scenario.variants import overridden
from tests.conftest import Golden
from tests.make import ON_DEMAND, SCENARIO, a_raw_scenario, a_scenario_of_tenants, a_shipped

NAMELESS = {"billing_mode": "PROVISIONED", "provisioned": {"read": 1}}
LOCAL = {"name": "by_day", "partition_key": "pk", "sort_key": "day", "local": True}
OTHER_LOCAL = {"name": "lsi", "partition_key": "x", "local": True, "warm": {"read": 5}}
INDEX = {"name": "gsi", "partition_key": "a"}
TWO_TYPES = {
    "partition_key": "id", "partition_key_type": "N", "sort_key": "at", "sort_key_type": "B",
}  # fmt: skip
REPLAY = {"kind": "replay", "trace": "traces/shop.csv"}
STEPS = [{"per_s": 10, "for_s": 30}, {"per_s": 50, "for_s": 30}]


def on_demand(*indexes: dict[str, Any], **table: Any) -> dict[str, Any]:
    return {"name": "orders", "indexes": indexes, **ON_DEMAND, **table}


def keyed(partition_key: Any, sort_key: Any = None, **more: Any) -> dict[str, Any]:
    """A table with an index of these keys."""
    index = {"name": "by-a", "partition_key": partition_key, "sort_key": sort_key, **more}
    return on_demand(index, partition_key="id", sort_key="at")


TABLES = [
    NAMELESS,
    {"name": "orders"},
    on_demand(provisioned={"read": 1, "write": 1}),
    {**SCENARIO["table"], "max_on_demand": {"write": 5}},
    {**SCENARIO["table"], "indexes": [INDEX] * 2},
    on_demand(LOCAL),
    on_demand(OTHER_LOCAL, sort_key="sk"),
    on_demand(OTHER_LOCAL | {"sort_key": "day", "warm": None}, sort_key="sk"),
    on_demand(regions=["eu-west-1"]),
    on_demand(regions=["eu-west-1"] * 2),
    on_demand(regions=["Ireland", "eu-west-1"]),
    on_demand(INDEX | {"include": ["b"]}),
    on_demand(
        {"name": "by-pk", "partition_key": "a", "sort_key": "pk", "sort_key_type": "N"},
        {"name": "by-a", "partition_key": "a", "sort_key_type": "N"},
    ),
    on_demand(
        {"name": "turned", "partition_key": "at", "sort_key": "id", "sort_key_type": "N"},
        {"name": "other", "partition_key": "a", "partition_key_type": "C"}, **TWO_TYPES,
    ),
    on_demand({"name": "turned", "partition_key": "at", "sort_key": "id", "sort_key_type": "N"}, **TWO_TYPES),
    {**SCENARIO["table"], "partition_key": ["id", "at"]},
    {**SCENARIO["table"], "sort_key": ["id", "at"]},
    keyed(["a", "b", "c", "d", "e"]),
    keyed(["a", "b", "a"]),
    keyed(["a"], ["a", "b"]),
    keyed("id", ["a", "b"], local=True),
    keyed("a", more_sort_keys=["a"]),
]  # fmt: skip
KEYS = [
    {},
    {"kind": "zipfian"},
    {"kind": "hot_key"},
    {"kind": "hot_key", "share": 0.5, "hot_keys": 2},
    {"kind": "date", "share": 0.5},
    {"kind": "date", "day_s": 5, "first_day": "2026-02-30"},
    {"kind": "date", "day_s": 5, "first_day": "tomorrow"},
    {"kind": "date", "day_s": 9, "rounded_to": "week"},
    {"kind": "uniform", "share": 0.5},
    {"kind": "uniform", "rounded_to": "day", "prefix": "a#b"},
    {"values": {"ups": 0}, "keys": 7},
    {"kind": "zipf", "exponent": 1, "values": {"ups": 1}},
    {"kind": "zipf"},
    {"kind": "zipf", "exponent": -1, "keys": 0},
    {"kind": "hot_set", "share": 1.2},
    {"kind": "hot_set", "share": 0.5, "hot_keys": 0, "shards": 0},
    {"kind": "sequential", "keys": 5, "exponent": 1},
    REPLAY | {"speed": 2},
    REPLAY | {"speed": 0, "prefix": "a"},
]
SIZES = [
    99, 409_601, "large",
    {"kind": "normal"},
    {"kind": "uniform", "low": 300, "high": 200},
    {"kind": "uniform", "low": 3},
    {"kind": "lognormal", "median": 900, "sigma": 0, "sizes": [200]},
    {"kind": "lognormal", "median": 900, "sigma": 1, "max": 400},
    {"kind": "choice", "sizes": []},
    {"kind": "choice", "sizes": [200, 1], "weights": [1]},
    {"kind": "choice", "sizes": [200], "weights": [0]},
    {"kind": "choice", "sizes": [200, 300], "weights": [1, -1]},
    {"kind": "choice", "sizes": [200], "shapes": 3},
]  # fmt: skip
SHAPES = [
    {"kind": "wave"},
    {"kind": ["ramp"]},
    {"kind": "ramp"},
    {"kind": "ramp", "from_per_s": 1, "to_per_s": 2, "period_s": 3},
    {"kind": "ramp", "from_per_s": 0, "to_per_s": 0},
    {"kind": "steps", "steps": []},
    {"kind": "steps", "steps": [{"per_s": 1}, {"per_s": -2, "for_s": 0}]},
    {"kind": "steps", "steps": STEPS},
    {"kind": "spike", "peak_per_s": 9, "at_s": 45, "for_s": 10},
    {"kind": "sine", "low_per_s": 9, "high_per_s": 1, "period_s": 0},
]
CLIENTS = [
    {"attempts": 7},
    {"mode": "adaptive"},
    {"sdk": "js-v3", "mode": "legacy"},
    {"sdk": "boto3-2025", "quota_tokens": 9},
    {"sdk": "boto2"},
    {"sdk": "go-v2", "attempts": 0},
    {"sdk": "go-v2", "clients": 0, "attempts": "3"},
    {"sdk": "go-v2", "attempts": True},
]
ATTRIBUTES = {
    "tenant": {"count": 3},
    "both": {"count": 3, "copy_of": "sort_key"},
    "none": {},
    "far": {"range": [3, 1]},
    "exponent": {"values": {"a": 1}, "exponent": 2},
    "event_type": {"timestamp": "second"},
    "warm": {"count": 2, "exponent": 1.0, "hot": [0.8, 0.3]},
}
TASKS = [
    {"operation": "put", "per_s": 300, "index": "by-type"},
    {"operation": "query", "per_s": 30, "weight": 2},
    {"operation": "query", "per_s": 5, "index": "by-tpye"},
    {"operation": "get"},
]
OF_A_TABLE = {"tenant": {"count": 3}, "event_type": {"timestamp": "second"}, "event_typ": {"count": 2}}
OF_OTHERS = [
    {"operation": "put", "per_s": 300},
    {"operation": "query", "per_s": 5, "index": "by-tpye"},
    {"operation": "get"},
]
MIX = [
    {"operation": "put", "weight": 1},
    {"operation": "scan", "weight": 2},
    {"operation": "get", "weight": -1},
]
SCALED = {
    "name": "orders", "sort_key": "sk", "provisioned": {"read": 100, "write": 400},
    "indexes": [{"name": "by-day", "partition_key": "day", "provisioned": {"read": 50, "write": 200}}],
}  # fmt: skip
WRITE = {"provisioned": {"write": 9}}
TO_ON_DEMAND = {"at_s": 1, "billing_mode": "PAY_PER_REQUEST"}
BACK = {"at_s": 60, "billing_mode": "PROVISIONED", "provisioned": {"read": 5, "write": 5}}
TIMELINES = [
    [{"at_s": 3_600, **WRITE}],
    [{"at_s": 60, **WRITE}, {"at_s": 30, **WRITE}],
    [{"at_s": 1}],
    [{"at_s": 1, "index": "by-week", **WRITE}],
    [TO_ON_DEMAND, {"at_s": 2, **WRITE}],
    [{"at_s": 1, "max_on_demand": {"write": 9}}],
    [{"at_s": 1, "billing_mode": "PROVISIONED"}],
    [TO_ON_DEMAND | {"index": "by-day"}],
    [{"at_s": 1, **WRITE}, {"at_s": 1, "warm": {"write": 800}}],
    [TO_ON_DEMAND, BACK],
]
BOUNDS = [{"min": 50, "max": 40}, {"min": 500, "max": 900}]
SETTINGS = [
    "keys.shards", "=3", "keys..shards=3", "load.arrivals=poisson", "keys.shards=3 4", "keys.shards.many=3",
    "table.indexes[3].name='x'", "table.indexes.name='x'", "table.indexes.by-nobody.provisioned.write=5",
    "keys.shards=0", "keys.shrads=2", f"{'.'.join(['a'] * 50_000)}=1", f"keys.shards={'[' * 50_000}",
]  # fmt: skip
WHOLE = [
    {"colour": "red"},
    {"format": "keyheat.scenario/9"},
    {"table": NAMELESS, "keys": {"kind": "date"}, "load": {"users": 0}, "thresholds": {"p99_ms_max": -1}},
    {"table": 3, "keys": [], "load": "x"},
    {"loadtest": "operations"},
    {"tasks": []},
    {"tasks": [{"operation": "put", "weight": 0}]},
    {"tasks": MIX},
    {"loadtest": "replay"},
    {"loadtest": "replay", "keys": {"kind": "replay"}},
    {"keys": REPLAY, "load": {"arrivals": "trace"}},
    {
        "loadtest": "replay", "keys": REPLAY,
        "load": {"arrivals": "trace", "requests_per_s": 5, "shape": {"kind": "constant"}},
    },
]  # fmt: skip


def wrong() -> Iterator[tuple[str, dict[str, Any]]]:
    """Scenarios with mistakes, each with what is wrong in it."""
    sections = {"table": TABLES, "keys": KEYS, "client": CLIENTS}
    for section, contents in sections.items():
        yield from ((f"{section} = {one}", a_raw_scenario(**{section: one})) for one in contents)
    yield from ((f"load.item_bytes = {one}", a_raw_scenario(load={"item_bytes": one})) for one in SIZES)
    for shape in SHAPES:
        yield f"load.shape = {shape}", a_raw_scenario(load={"shape": shape, "duration_s": 50})
    yield from ((str(one), a_raw_scenario(**one)) for one in WHOLE)
    yield f"attributes = {ATTRIBUTES}", a_scenario_of_tenants(attributes=ATTRIBUTES)
    yield f"tasks = {TASKS}", a_scenario_of_tenants(tasks=TASKS) | {"loadtest": "hotkey"}
    by_second = {"a": {"count": 3}, "b": {"timestamp": "second"}}
    yield "a second in a key of several", a_raw_scenario(table=keyed(["a", "b"]), attributes=by_second)
    yield f"attributes = {OF_A_TABLE}", a_scenario_of_tenants(attributes=OF_A_TABLE)
    yield f"tasks = {OF_OTHERS}", a_scenario_of_tenants(tasks=OF_OTHERS) | {"loadtest": "hotkey"}
    for steps in TIMELINES:
        yield f"timeline = {steps}", a_raw_scenario(table=SCALED, load={"duration_s": 3_600}, timeline=steps)
    for bounds in BOUNDS:
        yield f"auto_scaling = {bounds}", a_raw_scenario(table=SCALED | {"auto_scaling": {"write": bounds}})
    yield "nothing", {}


def test_every_mistake_is_said_at_once_with_its_place(golden: Golden) -> None:
    said = []
    for setting in SETTINGS:
        with pytest.raises(ScenarioError) as caught:
            overridden(a_shipped("country-index"), ["keys.shards=2", setting], "it")
        said += [f"== --set {setting[:50]}", *caught.value.errors]
    for what, raw in wrong():
        with pytest.raises(ScenarioError) as caught:
            scenario_from_dict(raw, "test.toml")
        assert str(caught.value).startswith(f"test.toml: {len(caught.value.errors)} error")
        said += [f"== {what}", *caught.value.errors]
    text = "".join(f"{line}\n" for line in said)
    text = re.sub(r"\(not TOML: .*?\);", "(not TOML);", text)  # another version of Python has other words
    golden("mistakes.txt", text)


FILE = '''\
format = "keyheat.scenario/1"
name = "orders"
question = """
What has = a sign,
[and.brackets]?
"""
[table]
name = "orders"
billing_mode = "PAY_PER_REQUEST"
stream.view = "NOPE"

[[table.indexes]]
name = "a"
[[table.indexes]]
name = "b"
max_on_demand = { write = -1 }   # inline

[attributes."event type"]
values = [
  "x = 1",
  2,
]
[keys]
exponnent = 1
[load]
duration_s = -1
'''
PLACES = [
    ("$.name", 2),
    ("$.question", 3),
    ("$.table", 7),
    ("$.table.stream.view", 10),
    ("$.table.indexes[0].name", 13),
    ("$.table.indexes[1].name", 15),
    ("$.table.indexes[1].max_on_demand.write", 16),
    ("$.attributes.event type.values[1]", 19),
    ("$.keys.exponnent", 24),
    ("$.load.duration_s", 26),
    ("$.load.users", 25),
]


@pytest.mark.parametrize(("place", "line"), PLACES)
def test_each_value_is_found_on_its_line(place: str, line: int) -> None:
    assert located([f"wrong @ {place}"], FILE) == [f"wrong @ {place} (line {line})"]


def test_what_is_nowhere_in_the_file_has_no_line() -> None:
    errors = ["missing @ $.thresholds", "a scenario is an object @ $", "no place at all"]
    assert located(errors, FILE) == errors


def test_what_json_calls_null_is_called_so() -> None:
    """A file of TOML has none."""
    with pytest.raises(ScenarioError) as wrong:
        scenario_from_dict(a_raw_scenario(table=keyed([None, "b"])), "x.json")
    assert "got null @ $.table.indexes[0].partition_key" in wrong.value.errors[0]
