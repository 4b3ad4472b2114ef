"""Keys are of the table's types, in the order of the text that was drawn, and never somebody else's."""

from base64 import b64decode
from decimal import Decimal
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.users.items import ItemTemplate, KeyEncoding, KeyValues, marked, prefix_of
from keyheat.model.units import item_bytes, number_bytes
from keyheat.scenario.spec.tables import TableSpec
from keyheat.sharding.reader import sort_value
from tests.make import a_scenario

RUN = "0123456789ab"
IN_TIME = st.builds(
    "{:013d}-{:07d}-{:06d}".format,
    st.integers(1_600_000_000_000, 2_000_000_000_000),
    st.integers(0, 40_000_000),
    st.integers(1, 2_000_000),
)
THEIRS: dict[str, Any] = {
    "name": "theirs",
    "partition_key": "customer",
    "partition_key_type": "N",
    "sort_key": "at",
    "sort_key_type": "N",
    "billing_mode": "PAY_PER_REQUEST",
    "indexes": [
        {
            "name": "by-status",
            "partition_key": "customer",
            "partition_key_type": "N",
            "sort_key": "status",
            "sort_key_type": "B",
            "local": True,
        },
        {
            "name": "turned",
            "partition_key": "at",
            "partition_key_type": "N",
            "sort_key": "customer",
            "sort_key_type": "N",
        },
        {
            "name": "by-rank",
            "partition_key": "team",
            "sort_key": "rank",
            "sort_key_type": "N",
            "sort_key_in_items": True,
        },
    ],
}


def template(table: dict[str, Any], run_id: str | None, size: int = 700) -> ItemTemplate:
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
    attribute = KeyEncoding(kind, prefix_of(RUN))
    assert len({attribute.text(text) for text in texts}) == len(texts)


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


@given(size=st.integers(400, 3_000), key=st.text(max_size=30), sort_key=IN_TIME, seed=st.integers(0, 99))
def test_an_item_weighs_what_was_said_whatever_its_keys_are(
    size: int, key: str, sort_key: str, seed: int
) -> None:
    for run_id in (RUN, None):
        item = orjson.loads(TYPED[run_id].item(key, sort_key, Random(seed), size))
        assert item_bytes(item) == size
        assert item.keys() - {"keyheat_run"} == {"customer", "at", "status", "team", "rank", "filler"}
        assert item.get("keyheat_run") == ({"S": RUN} if run_id else None)
        assert item["team"]["S"].startswith(prefix_of(RUN) if run_id else "")
        assert b64decode(item["status"]["B"]).isdigit()


TYPED = {run_id: template(THEIRS, run_id) for run_id in (RUN, None)}


def test_the_least_item_and_an_update_count_the_mark() -> None:
    items, time = TYPED[RUN], "1763715823418-0000001-000002"
    least = items.least_bytes("hot", time)
    assert item_bytes(orjson.loads(items.item("hot", time, Random(1), least + 1))) == least + 1
    plain = template({"name": "mine", "billing_mode": "PAY_PER_REQUEST"}, RUN)
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


def test_keys_of_two_runs_differ() -> None:
    for kind in ("S", "N", "B"):
        one, other = (KeyEncoding(kind, prefix_of(run)).text("hot") for run in (RUN, "ba9876543210"))
        assert one != other != KeyEncoding(kind).text("hot")
