"""The item store against a plain dict, and its indexes against a sort of all items."""

from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemkeys import checked_item_key, sort_bytes
from keyheat.endpoint.itemstore import ItemStore, json_of
from keyheat.endpoint.schema import IndexSchema, KeySchema, KeySchemaElement, TableSchema
from keyheat.endpoint.values import canonical, order_bytes
from keyheat.model.units import item_bytes

KEYS = KeySchema(KeySchemaElement("pk", "S"), KeySchemaElement("sk", "N"))
BY_GROUP = IndexSchema(
    name="by_group", keys=KeySchema(KeySchemaElement("g", "S"), KeySchemaElement("sk", "N")), projection="ALL"
)
KEYS_ONLY = IndexSchema(name="keys_only", keys=KeySchema(KeySchemaElement("g", "S")), projection="KEYS_ONLY")
LOCAL = IndexSchema(
    name="local",
    keys=KeySchema(KeySchemaElement("pk", "S"), KeySchemaElement("l", "S")),
    projection="INCLUDE",
    include=frozenset({"x"}),
    local=True,
)
SCHEMA = TableSchema(name="orders", keys=KEYS, indexes=(BY_GROUP, KEYS_ONLY, LOCAL))
PROJECTED = {"by_group": None, "keys_only": {"pk", "sk", "g"}, "local": {"pk", "sk", "l", "x"}}

Item = dict[str, Any]
items = st.fixed_dictionaries(
    {
        "pk": st.sampled_from([{"S": "a"}, {"S": "b"}, {"S": "a\0"}]),
        "sk": st.sampled_from([{"N": "-2"}, {"N": "0"}, {"N": "10"}]),
    },
    optional={
        "g": st.sampled_from([{"S": "g"}, {"S": "gg"}, {"S": "g\0"}]),
        "l": st.sampled_from([{"S": "l"}, {"S": "l\0\0"}]),
        "x": st.builds(lambda text: {"S": text}, st.text(max_size=3)),
    },
)
writes = st.lists(st.tuples(st.booleans(), items), max_size=30)


def written(store: ItemStore, deletes: bool, item: Item) -> None:
    key = checked_item_key(KEYS, item)
    store.apply(store.plan(key, store.get(key[0]), None if deletes else dict(item)))


def contents(store: ItemStore, name: str | None) -> list[Item]:
    shelf = store.items if name is None else store.index(name)
    return [orjson.loads(json_of(shelf[key])) for key in shelf.between(b"", None)]


def expected_entries(items: list[Item], index: IndexSchema) -> list[Item]:
    wanted = PROJECTED[index.name]
    return [
        item if wanted is None else {name: value for name, value in item.items() if name in wanted}
        for item in items
        if index.keys.partition.name in item and (index.keys.sort is None or index.keys.sort.name in item)
    ]


def as_set(items: list[Item]) -> list[bytes]:
    return sorted(orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items)


@pytest.mark.slow
@settings(max_examples=25)
@given(writes)
def test_the_store_holds_what_was_written(writes: list[tuple[bool, Item]]) -> None:
    store, later, plain = ItemStore(SCHEMA), ItemStore(TableSchema(name="orders", keys=KEYS)), {}
    for deletes, item in writes:
        written(store, deletes, item)
        written(later, deletes, item)
        at = item["pk"]["S"], item["sk"]["N"]
        if deletes:
            plain.pop(at, None)
        else:
            plain[at] = item
    assert as_set(contents(store, None)) == as_set(list(plain.values()))
    assert len(store) == len(plain)
    assert store.total_bytes == sum(map(item_bytes, plain.values()))
    for index in SCHEMA.indexes:
        entries = expected_entries(list(plain.values()), index)
        assert as_set(contents(store, index.name)) == as_set(entries)
        assert len(store.index(index.name)) == len(entries)
        assert store.index(index.name).total_bytes == sum(map(item_bytes, entries))
        later.add_index(index)
        assert contents(later, index.name) == contents(store, index.name)


@given(st.binary(max_size=6), st.binary(max_size=6), st.binary(max_size=6))
def test_sort_bytes_keep_the_order_whatever_follows(one: bytes, other: bytes, tail: bytes) -> None:
    first, second = (sort_bytes({"S": raw.decode("latin-1")}) for raw in (one, other))
    if one.decode("latin-1").encode() < other.decode("latin-1").encode():
        assert first + tail < second
        assert first < second + tail


exact = st.builds(
    lambda sign, digits, exponent: f"{sign}{digits}E{exponent}",
    st.sampled_from(["", "-"]),
    st.integers(0, 10**38 - 1),
    st.integers(-100, 80),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("007.50", "7.5"),
        ("-0", "0"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("-1.20E-3", "-0.0012"),
        ("1E125", "1" + "0" * 125),
    ],
)
def test_a_number_comes_back_plain(text: str, shown: str) -> None:
    assert canonical(text) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be converted to a numeric value"),
        ("NaN", "cannot be converted to a numeric value: NaN"),
        ("1_000", "cannot be converted"),
        ("٣", "cannot be converted"),
        ("1" * 39, "more than 38 significant digits"),
        ("1E126", "overflow"),
        ("1E-131", "underflow"),
    ],
)
def test_what_is_no_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(ServiceError, match=message) as caught:
        canonical(text)
    assert caught.value.code == "ValidationException"


@given(exact, exact)
def test_bytes_compare_as_numbers_do(one: str, other: str) -> None:
    first, second = canonical(one), canonical(other)
    assert (order_bytes(first) < order_bytes(second)) == (Decimal(first) < Decimal(second))
    assert (order_bytes(first) == order_bytes(second)) == (first == second)
