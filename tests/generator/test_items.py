"""Items weigh exactly what the scenario says, whatever their keys are."""

from random import Random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.users.items import ItemTemplate, ItemTooSmall
from tablemodel.scenario import scenario_from_dict
from tablemodel.units import item_bytes

INDEXED = {
    "sort_key": "größe",
    "indexes": [{"name": "by-land", "partition_key": "land", "provisioned": {"read": 1, "write": 1}}],
}


def template(size: int, **table: object) -> ItemTemplate:
    plain = {"name": "weighed", "partition_key": "pk", "provisioned": {"read": 1, "write": 1}}
    scenario = {
        "format": "keyheat.scenario/1",
        "name": "weighed",
        "question": "?",
        "loadtest": "hotkey",
        "table": {**plain, **table},
        "keys": {"kind": "uniform"},
        "load": {"item_bytes": size},
    }
    return ItemTemplate(scenario_from_dict(scenario, "test"))


@given(
    size=st.integers(400, 5_000),
    key=st.text(min_size=1, max_size=40),
    sort_key=st.text(min_size=1, max_size=40),
    table=st.sampled_from([{}, {"sort_key": "sk"}, INDEXED]),
)
def test_an_item_weighs_what_the_scenario_says(
    size: int, key: str, sort_key: str, table: dict[str, object]
) -> None:
    request = orjson.loads(template(size, **table).put(key, sort_key, Random(1)))
    item = request["Item"]
    assert item_bytes(item) == size
    assert item["pk"] == {"S": key}
    assert "sort_key" not in table or item[table["sort_key"]] == {"S": sort_key}
    assert request["ReturnConsumedCapacity"] == ("INDEXES" if "indexes" in table else "TOTAL")


def test_an_index_finds_its_attribute_in_every_item() -> None:
    items = template(500, **INDEXED)
    values = {orjson.loads(items.put("k", "s", Random(seed)))["Item"]["land"]["S"] for seed in range(50)}
    assert len(values) > 10


def test_an_item_without_room_for_its_keys_is_refused() -> None:
    with pytest.raises(ItemTooSmall, match="item_bytes"):
        template(100).put("k" * 100, "", Random(1))
