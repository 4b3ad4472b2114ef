"""Items weigh exactly what the scenario says, whatever their keys are."""

from functools import cache
from random import Random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.users.items import ItemTemplate, ItemTooSmall
from keyheat.model.units import item_bytes
from tests.make import a_scenario

INDEXED = {
    "sort_key": "größe",
    "indexes": [{"name": "by-land", "partition_key": "land", "provisioned": {"read": 1, "write": 1}}],
}


def template(size: int | dict[str, object], **table: object) -> ItemTemplate:
    plain = {"name": "weighed", "partition_key": "pk", "provisioned": {"read": 1, "write": 1}}
    return ItemTemplate(a_scenario(table=plain | table, load={"item_bytes": size}))


TABLES: dict[str, dict[str, object]] = {"plain": {}, "sorted": {"sort_key": "sk"}, "indexed": INDEXED}


@cache
def template_of(kind: str) -> ItemTemplate:
    return template(500, **TABLES[kind])


@pytest.mark.slow
@given(
    size=st.integers(400, 5_000),
    key=st.text(min_size=1, max_size=40),
    sort_key=st.text(min_size=1, max_size=40),
    kind=st.sampled_from(sorted(TABLES)),
)
def test_an_item_weighs_what_is_asked_for(size: int, key: str, sort_key: str, kind: str) -> None:
    table = TABLES[kind]
    request = orjson.loads(template_of(kind).put(key, sort_key, Random(1), size))
    item = request["Item"]
    assert item_bytes(item) == size
    assert item["pk"] == {"S": key}
    assert "sort_key" not in table or item[str(table["sort_key"])] == {"S": sort_key}
    assert request["ReturnConsumedCapacity"] == ("INDEXES" if "indexes" in table else "TOTAL")


@pytest.mark.parametrize(("value", "text"), [(1_795_000_000, "1795000000"), (2.5, "2.5"), (-3, "-3")])
def test_a_number_that_a_load_test_chooses_is_of_type_n(value: float, text: str) -> None:
    item = orjson.loads(template(500).item("k", "s", Random(1), attributes={"expires_at": value}))
    assert item["expires_at"] == {"N": text}
    assert item_bytes(item) == 500


def test_a_number_that_updates_count_is_not_put() -> None:
    index = {"name": "by-views", "partition_key": "board", "sort_key": "views", "sort_key_type": "N"}
    index |= {"sort_key_in_items": False}
    items = template(500, indexes=[{**index, "provisioned": {"read": 1, "write": 1}}])
    item = orjson.loads(items.put("k", "s", Random(1)))["Item"]
    assert item.keys() == {"pk", "board", "filler"}
    assert item_bytes(item) == 500


@pytest.mark.slow
@given(size=st.integers(400, 5_000), value=st.text(max_size=40), seed=st.integers(0, 50))
def test_attributes_that_a_load_test_chooses_are_a_part_of_the_size(size: int, value: str, seed: int) -> None:
    items = template_of("indexed")
    chosen = {"land": value, "größe des Landes": "12"}
    item = orjson.loads(items.item("k", "s", Random(seed), size, chosen))
    assert item_bytes(item) == size
    assert {name: item[name]["S"] for name in chosen} == chosen


@pytest.mark.parametrize(
    "sizes",
    [
        {"kind": "uniform", "low": 200, "high": 900},
        {"kind": "lognormal", "median": 400, "sigma": 1.5, "min": 200, "max": 90_000},
        {"kind": "choice", "sizes": [300, 3_000], "weights": [3, 1]},
    ],
)
def test_an_item_is_as_large_as_is_drawn(sizes: dict[str, object]) -> None:
    items = template(sizes, sort_key="sk")
    rng, same = Random(4), Random(4)
    for _ in range(50):
        size = items.draw_size(same)
        assert item_bytes(orjson.loads(items.item("k", "s", rng))) == size


def test_an_item_without_room_for_its_keys_is_refused() -> None:
    with pytest.raises(ItemTooSmall, match="item_bytes"):
        template(100).put("k" * 100, "", Random(1))


def test_an_index_finds_its_attribute_in_every_item() -> None:
    items = template(500, **INDEXED)
    values = {orjson.loads(items.put("k", "s", Random(seed)))["Item"]["land"]["S"] for seed in range(50)}
    assert len(values) > 10


def test_an_item_may_be_left_out_of_an_index() -> None:
    item = orjson.loads(template(500, **INDEXED).item("k", "s", Random(1), attributes={"land": None}))
    assert item.keys() == {"pk", "größe", "filler"}
    assert item_bytes(item) == 500


def test_an_item_may_be_larger_than_the_scenario_says() -> None:
    assert item_bytes(orjson.loads(template(300).item("k", "", Random(1), 70_000))) == 70_000
