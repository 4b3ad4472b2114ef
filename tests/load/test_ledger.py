"""The ledger knows what a read must find: what was acknowledged, and is neither changed nor in flight."""

from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from keyheat.load.transport.answer import Answer
from keyheat.load.users.collections import Item, Query
from keyheat.load.users.ledger import Ledger, NotedTransport
from tests.make import ON_DEMAND, a_spec

TABLE = a_spec(
    name="images", sort_key="sk", **ON_DEMAND,
    indexes=[{"name": "top", "partition_key": "slot", "sort_key": "views"}],
)  # fmt: skip
PLAIN = a_spec(name="plain")
ON_TABLE = Query(table="images", partition_key="pk", sort_key="sk")
ON_INDEX = Query(table="images", partition_key="slot", sort_key="views", index="top")
OK, THROTTLED = Answer(200, b"{}", 0.001), Answer(400, b'{"__type":"ThrottlingException"}', 0.001)
NOTHING = Answer(0, b"", 10.0, failure="timeout")
LATER_S = 1e9


@dataclass(slots=True)
class Writer:
    """Sends writes whose answers are given."""

    ledger: Ledger = field(default_factory=lambda: Ledger([TABLE, PLAIN], now=Clock()))

    def send(self, operation: str, request: dict[str, Any], answer: Answer = OK) -> None:
        answering: Any = SimpleNamespace(send=lambda _operation, _body: answer)
        NotedTransport(answering, self.ledger).send(operation, orjson.dumps(request))

    def put(self, pk: str, sk: str, slot: str = "a", views: str = "5", answer: Answer = OK) -> None:
        self.send("PutItem", {"TableName": "images", "Item": image(pk, sk, slot, views)}, answer)

    def on_table(self, *shards: str, **how: Any) -> list[str]:
        return self.required(ON_TABLE, shards, **how)

    def on_index(self, *shards: str, **how: Any) -> list[str]:
        return self.required(ON_INDEX, shards, **how)

    def required(self, query: Query, shards: tuple[str, ...], **how: Any) -> list[str]:
        how = {"before_s": LATER_S, "last": None} | how
        return ["/".join(identity[1:]) for identity in self.ledger.required(query, shards, **how)]


@dataclass(slots=True)
class Clock:
    """Every look at it is one second later."""

    at_s: float = 0.0

    def __call__(self) -> float:
        self.at_s += 1.0
        return self.at_s


def image(pk: str, sk: str, slot: str, views: str) -> Item:
    return {**key(pk, sk), "slot": {"S": slot}, "views": {"N": views}, "filler": {"S": "x"}}


def key(pk: str, sk: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def test_what_was_acknowledged_is_required_in_its_place_and_in_the_indexes() -> None:
    writer = Writer()
    writer.put("hot#0", "b")
    writer.put("hot#0", "a", views="10")
    writer.put("hot#1", "c")
    assert writer.on_table("hot#0") == ["hot#0/a", "hot#0/b"]
    assert writer.on_table("hot#0", "hot#1", "hot#2") == ["hot#0/a", "hot#0/b", "hot#1/c"]
    assert writer.on_index("a") == ["hot#0/b", "hot#1/c", "hot#0/a"]
    assert writer.on_index("b") == []


def test_of_writes_that_overlap_nothing_is_certain() -> None:
    """Whichever is acknowledged last, until a write of its own says where the item is."""
    writer, item = Writer(), image("hot#0", "a", "a", "5")
    identity = writer.ledger.identity("images", item)
    writer.ledger.begin(identity)
    writer.ledger.begin(identity)
    for _ in range(2):
        writer.ledger.ended(identity, item)
        assert writer.on_table("hot#0") == writer.on_index("a") == []
    writer.put("hot#0", "a")
    assert writer.on_table("hot#0") == ["hot#0/a"]
    assert writer.on_table("hot#0", before_s=0.5) == [], "it was acknowledged later"


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("prefix", ["", "b", "ba", "b\U0010ffff", "\U0010ffff"])
def test_only_what_begins_with_the_prefix_is_required(prefix: str, descending: bool) -> None:
    writer = Writer()
    names = ["a", "b", "ba", "bab", "bb", "b\U0010ffff", "b\U0010ffffc", "c", "\U0010ffff", "\U0010ffffz"]
    Random(1).shuffle(names)
    for name in names:
        writer.put("hot#0", name)
    asked = Query(table="images", partition_key="pk", sort_key="sk", prefix=prefix, descending=descending)
    wanted = sorted((name for name in names if name.startswith(prefix)), reverse=descending)
    assert writer.required(asked, ("hot#0",)) == [f"hot#0/{name}" for name in wanted]


@pytest.mark.parametrize("answer", [THROTTLED, NOTHING])
def test_of_an_item_whose_last_write_failed_nothing_is_certain(answer: Answer) -> None:
    writer = Writer()
    writer.put("hot#0", "a")
    writer.put("hot#0", "a", answer=answer)
    assert writer.on_table("hot#0") == writer.on_index("a") == []
    writer.put("hot#0", "a")
    writer.send("DeleteItem", {"TableName": "images", "Key": key("hot#0", "a")})
    assert writer.on_table("hot#0") == []


def test_an_update_is_where_its_answer_says() -> None:
    """One that does not say what it changed is in its place in the table, and anywhere in an index."""
    writer, moved = Writer(), {"slot": {"S": "b"}, "views": {"N": "6"}}
    update = {"TableName": "images", "Key": key("hot#0", "a")}
    writer.send("UpdateItem", update)
    assert (writer.on_table("hot#0"), writer.on_index("b")) == (["hot#0/a"], [])
    answer = Answer(200, orjson.dumps({"Attributes": moved}), 0.001)
    writer.send("UpdateItem", update | {"ReturnValues": "UPDATED_NEW"}, answer)
    assert writer.on_index("b", last=6) == []
    assert writer.on_index("b", last=7) == writer.on_table("hot#0") == ["hot#0/a"]


def test_batches_and_transactions() -> None:
    writer = Writer()
    puts = [{"PutRequest": {"Item": image("hot#0", name, "a", "1")}} for name in "abc"]
    left = {"UnprocessedItems": {"images": puts[1:2]}}
    writer.send("BatchWriteItem", {"RequestItems": {"images": puts}}, Answer(200, orjson.dumps(left), 0.1))
    assert writer.on_table("hot#0") == ["hot#0/a", "hot#0/c"]
    parts = [
        {"Put": {"TableName": "images", "Item": image("hot#0", "d", "a", "1")}},
        {"Delete": {"TableName": "images", "Key": key("hot#0", "a")}},
        {"ConditionCheck": {"TableName": "images", "Key": key("hot#0", "c")}},
        {"Put": {"TableName": "plain", "Item": {"pk": {"S": "total"}}}},
        {"Put": {"TableName": "elsewhere", "Item": {"id": {"S": "1"}}}},
    ]
    writer.send("TransactWriteItems", {"TransactItems": parts})
    assert writer.on_table("hot#0") == ["hot#0/c", "hot#0/d"]
    assert writer.required(Query(table="plain", partition_key="pk", sort_key=None), ("total",)) == ["total"]


def test_memory_is_bounded_and_the_oldest_are_forgotten() -> None:
    writer = Writer(Ledger([TABLE], now=Clock(), most_items=3))
    for sort_key in "abcde":
        writer.put("hot#0", sort_key)
    assert writer.on_table("hot#0") == ["hot#0/c", "hot#0/d", "hot#0/e"]
    writer.put("hot#0", "c")  # acknowledged once more: it is the newest now
    writer.put("hot#1", "f")
    assert writer.on_table("hot#0") == ["hot#0/c", "hot#0/e"]


def test_one_exact_sort_key() -> None:
    writer = Writer()
    for sort_key in ("a", "ab"):
        writer.put("hot#0", sort_key)
    exact = Query(table="images", partition_key="pk", sort_key="sk", prefix="a", exact=True)
    assert writer.required(exact, ("hot#0",)) == ["hot#0/a"]
