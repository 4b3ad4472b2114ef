"""Items weigh exactly what the scenario says, whatever their keys are.

Keys are of the table's types, in the order of the text that was drawn, and never somebody else's.
"""

from base64 import b64decode
from decimal import Decimal
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.users.items import ItemTemplate, ItemTooSmall, KeyEncoding, KeyValues, marked, prefix_of
from keyheat.model.units import item_bytes, number_bytes
from keyheat.scenario.spec.tables import TableSpec
from keyheat.sharding.reader import sort_value
from tests.make import a_scenario

INDEXED = {
    "sort_key": "größe",
    "indexes": [{"name": "by-land", "partition_key": "land", "provisioned": {"read": 1, "write": 1}}],
}


def template(size: int | dict[str, object], **table: object) -> ItemTemplate:
    plain = {"name": "weighed", "partition_key": "pk", "provisioned": {"read": 1, "write": 1}}
    return ItemTemplate(a_scenario(table=plain | table, load={"item_bytes": size}))


def test_a_number_that_a_load_test_chooses_is_of_type_n() -> None:
    item = orjson.loads(template(500).item("k", "s", Random(1), attributes={"expires_at": 2.5}))
    assert item["expires_at"] == {"N": "2.5"}
    assert item_bytes(item) == 500


def test_a_number_that_updates_count_is_not_put() -> None:
    index = {"name": "by-views", "partition_key": "board", "sort_key": "views", "sort_key_type": "N"}
    index |= {"sort_key_in_items": False}
    items = template(500, indexes=[{**index, "provisioned": {"read": 1, "write": 1}}])
    item = orjson.loads(items.put("k", "s", Random(1)))["Item"]
    assert item.keys() == {"pk", "board", "filler"}


def test_an_item_is_as_large_as_is_drawn() -> None:
    items = template({"kind": "uniform", "low": 200, "high": 900}, sort_key="sk")
    rng, same = Random(4), Random(4)
    for _ in range(50):
        assert item_bytes(orjson.loads(items.item("k", "s", rng))) == items.draw_size(same)


def test_an_item_without_room_for_its_keys_is_refused() -> None:
    with pytest.raises(ItemTooSmall, match="item_bytes"):
        template(100).put("k" * 100, "", Random(1))


def test_an_index_finds_its_attribute_in_every_item_that_is_not_left_out_of_it() -> None:
    items = template(500, **INDEXED)
    values = {orjson.loads(items.put("k", "s", Random(seed)))["Item"]["land"]["S"] for seed in range(50)}
    assert len(values) > 10
    item = orjson.loads(items.item("k", "s", Random(1), attributes={"land": None}))
    assert item.keys() == {"pk", "größe", "filler"}
    assert item_bytes(item) == 500


RUN = "0123456789ab"
IN_TIME = st.builds(
    "{:013d}-{:07d}-{:06d}".format,
    st.integers(1_600_000_000_000, 2_000_000_000_000),
    st.integers(0, 40_000_000),
    st.integers(1, 2_000_000),
)
N = {"partition_key_type": "N", "sort_key_type": "N"}
THEIRS: dict[str, Any] = {
    "name": "theirs", "partition_key": "customer", "sort_key": "at", **N, "billing_mode": "PAY_PER_REQUEST",
    "indexes": [
        {
            "name": "by-status", "partition_key": "customer", "partition_key_type": "N",
            "sort_key": "status", "sort_key_type": "B", "local": True,
        },
        {"name": "turned", "partition_key": "at", "sort_key": "customer", **N},
        {
            "name": "by-rank", "partition_key": "team",
            "sort_key": "rank", "sort_key_type": "N", "sort_key_in_items": True,
        },
    ],
}  # fmt: skip


def typed(table: dict[str, Any], run_id: str | None, size: int = 700) -> ItemTemplate:
    return ItemTemplate(a_scenario(table=table, load={"item_bytes": size}), run_id)


def value_of(attribute: KeyEncoding, text: str) -> Any:
    return sort_value({attribute.kind: attribute.text(text)})


@given(one=IN_TIME, other=IN_TIME, kind=st.sampled_from(["S", "N", "B"]))
def test_sort_keys_keep_their_order(one: str, other: str, kind: Any) -> None:
    """As text they are in the order of their parts, as long as these are as wide as they say."""
    attribute = KeyEncoding(kind, ordered=True)
    if kind == "N":
        before, after = (tuple(map(int, key.split("-"))) for key in (one, other))
        assert (before < after) == (value_of(attribute, one) < value_of(attribute, other))
    else:
        assert (one < other) == (value_of(attribute, one) < value_of(attribute, other))


@given(texts=st.sets(st.text(max_size=20), min_size=2, max_size=50), kind=st.sampled_from(["S", "N", "B"]))
def test_no_two_partition_keys_are_one(texts: set[str], kind: Any) -> None:
    encodings = (
        KeyEncoding(kind, prefix_of(RUN)),
        KeyEncoding(kind, prefix_of("ba9876543210")),
        KeyEncoding(kind),
    )
    assert len({one.text(text) for one in encodings for text in texts}) == 3 * len(texts), "nor of two runs"


def test_an_attribute_has_one_value_wherever_it_is_a_key() -> None:
    values = KeyValues.of_table(TableSpec.model_validate(THEIRS), prefix_of(RUN))
    assert values.attributes == {
        "customer": KeyEncoding("N", prefix_of(RUN)),
        "at": KeyEncoding("N", ordered=True),
        "status": KeyEncoding("B", ordered=True),
        "team": KeyEncoding("S", prefix_of(RUN)),
        "rank": KeyEncoding("N", ordered=True),
    }
    key = values.key("hot", "1763715823418-0000001-000002")
    assert key["at"] == {"N": "176371582341800000000010000000002"}
    assert not values.plain


TEMPLATES = {
    "plain": template(500),
    "sorted": template(500, sort_key="sk"),
    "indexed": template(500, **INDEXED),
    "typed": typed(THEIRS, None),
    "marked": typed(THEIRS, RUN),
}


@pytest.mark.slow
@given(
    kind=st.sampled_from(sorted(TEMPLATES)),
    size=st.integers(700, 5_000) | st.just(70_000),
    key=st.text(min_size=1, max_size=30),
    sort_key=IN_TIME,
    chosen=st.none() | st.text(max_size=30),
    seed=st.integers(0, 50),
)
def test_an_item_weighs_what_is_asked_for(
    kind: str, size: int, key: str, sort_key: str, chosen: str | None, seed: int
) -> None:
    """Whatever its keys are, and those of its attributes that a load test chooses."""
    attributes = {} if chosen is None else {"land": chosen, "größe des Landes": "12"}
    request = orjson.loads(TEMPLATES[kind].put(key, sort_key, Random(seed), size, attributes))
    item = request["Item"]
    assert item_bytes(item) == size
    assert {name: item[name]["S"] for name in attributes} == attributes
    assert request["ReturnConsumedCapacity"] == ("TOTAL" if kind in ("plain", "sorted") else "INDEXES")


def test_items_of_a_run_on_somebody_elses_table_name_the_run() -> None:
    for kind, mark in (("marked", {"S": RUN}), ("typed", None)):
        item = orjson.loads(TEMPLATES[kind].item("hot", "1763715823418-0000001-000002", Random(1)))
        assert item.keys() - {"keyheat_run"} == {"customer", "at", "status", "team", "rank", "filler"}
        assert item.get("keyheat_run") == mark
        assert item["team"]["S"].startswith(prefix_of(RUN)) is (mark is not None)
        assert b64decode(item["status"]["B"]).isdigit()


def test_the_least_item_and_an_update_count_the_mark() -> None:
    items, time = TEMPLATES["marked"], "1763715823418-0000001-000002"
    least = items.least_bytes("hot", time)
    assert item_bytes(orjson.loads(items.item("hot", time, Random(1), least + 1))) == least + 1
    plain = typed({"name": "mine", "billing_mode": "PAY_PER_REQUEST"}, RUN)
    key = plain.values.key("hot", None)
    filled = {**key, "keyheat_run": {"S": RUN}, "filler": {"S": plain.filler("hot", "", 300)}}
    assert key == {"pk": {"S": f"keyheat-{RUN}-hot"}}
    assert item_bytes(filled) == 300


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ADD #c :one", "SET #keyheat_run = :keyheat_run ADD #c :one"),
        ("SET filler = :f", "SET #keyheat_run = :keyheat_run, filler = :f"),
        ("SET #b = :b ADD #c :one", "SET #keyheat_run = :keyheat_run, #b = :b ADD #c :one"),
    ],
)
def test_an_update_marks_the_item_too(expression: str, expected: str) -> None:
    update = {"UpdateExpression": expression, "ExpressionAttributeValues": {":one": {"N": "1"}}}
    assert marked(update, None) == update
    after = marked(update, RUN)
    assert after["UpdateExpression"] == expected
    assert after["ExpressionAttributeNames"] == {"#keyheat_run": "keyheat_run"}
    assert after["ExpressionAttributeValues"][":keyheat_run"] == {"S": RUN}


@given(text=st.text(max_size=20))
def test_numbers_are_as_dynamodb_keeps_them(text: str) -> None:
    digits = KeyEncoding("N").text(text)
    assert len(digits) == 38
    assert number_bytes(digits) == 20
    assert str(Decimal(digits)) == digits
