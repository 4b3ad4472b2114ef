"""A check that cannot fail is none: every kind of wrong answer is made, and counted.

Whatever writes overlap, are refused or lost: what the ledger is certain of is so, and has been.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.record.record import Record
from keyheat.load.transport.answer import Answer
from keyheat.load.users.collections import NO_ORDER, Item, Query
from keyheat.load.users.ledger import SETTLE_S, Ledger, ReadCheck, Spot, judge
from keyheat.scenario.spec.tables import CapacityPair, IndexSpec, TableSpec

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")  # this process has other tests
    from keyheat.load.users.readers import CollectionReader

ORDERS = TableSpec(name="orders", sort_key="sk", provisioned=CapacityPair(read=1, write=1))
WHOLE = Query(table="orders", partition_key="pk", sort_key="sk", consistent=True)
SHARDS = ("hot#0", "hot#1", "hot#2")
WRITTEN = [("hot#0", "a"), ("hot#1", "b"), ("hot#2", "c"), ("hot#0", "d"), ("hot#1", "e"), ("hot#2", "f")]


def order(shard: str, sort_key: str) -> Item:
    return {"pk": {"S": shard}, "sk": {"S": sort_key}}


def known(written: list[tuple[str, str]], at_s: float = 10.0) -> Ledger:
    ledger = Ledger([ORDERS], now=lambda: at_s)
    for pair in written:
        identity = ledger.identity("orders", order(*pair))
        ledger.begin(identity, order(*pair))
        ledger.applied(identity, order(*pair))
    return ledger


Tamper = Callable[[list[Item]], list[Item]]


def read(items: list[Item], query: Query = WHOLE, *, began_s: float = 10.0) -> ReadCheck:
    """What a read of all that was written at 10 s comes to, where it was answered with these items."""
    return judge(items, query, SHARDS, known(WRITTEN), began_s=began_s)


@pytest.mark.parametrize(("limit", "required"), [(None, 6), (1, 0), (4, 3), (9, 6)])
def test_of_a_limited_read_all_but_the_last_is_required(limit: int | None, required: int) -> None:
    """The last item of a full answer may have equals beyond it."""
    items = [order(*pair) for pair in WRITTEN][:limit]
    assert read(items, replace(WHOLE, limit=limit)) == ReadCheck(required=required)


def test_a_read_need_not_show_what_is_newer_than_its_beginning() -> None:
    shown = [order(*pair) for pair in WRITTEN[1:]]
    assert read(shown, began_s=9.9) == ReadCheck()
    eventual = replace(WHOLE, consistent=False)
    assert read(shown, eventual, began_s=10.0 + SETTLE_S / 2) == ReadCheck()
    assert read(shown, eventual, began_s=10.0 + SETTLE_S) == ReadCheck(required=6, missing=1)


def test_an_item_that_moves_within_an_index_may_be_seen_at_both_places() -> None:
    by_views = Query(table="orders", partition_key="slot", sort_key="views", index="top")
    before = {**order("hot#0", "a"), "views": {"N": "1"}}
    after = {**order("hot#0", "a"), "views": {"N": "2"}}
    assert judge([before, after], by_views, ("s",), known([]), began_s=10.0).duplicate == 0
    assert judge([before, before], by_views, ("s",), known([]), began_s=10.0).duplicate == 1


@given(
    st.lists(st.tuples(st.sampled_from(SHARDS), st.text("abc", max_size=3)), unique=True, max_size=20),
    st.integers(0, 2**20),
    st.none() | st.integers(1, 25),
    st.booleans(),
)
def test_whatever_is_hidden_before_the_end_is_missing(
    written: list[tuple[str, str]], hidden_bits: int, limit: int | None, descending: bool
) -> None:
    query = replace(WHOLE, limit=limit, descending=descending)
    shown = [pair for number, pair in enumerate(written) if not hidden_bits >> number & 1]
    hidden = [pair for pair in written if pair not in shown]
    items = [order(*pair) for pair in sorted(shown, key=lambda pair: pair[1], reverse=descending)][:limit]
    judged = judge(items, query, SHARDS, known(written), began_s=10.0)
    if limit is None or len(items) < limit:
        wanted = len(hidden)
    else:
        end = items[-1]["sk"]["S"]
        wanted = sum(pair[1] > end if descending else pair[1] < end for pair in hidden)
    assert (judged.missing, judged.duplicate, judged.misordered) == (wanted, 0, 0)


class Deceived(CollectionReader):
    """A user whose table lies, in what its first shard answers."""

    abstract = True

    def __init__(self, lie: Tamper) -> None:
        self.load = SimpleNamespace(record=Record(), items=SimpleNamespace(values=WHOLE.values))
        self.table, self._ledger, self._last_units, self._lie = ORDERS, known(WRITTEN), {}, lie

    def ask(self, operation: str, key: str, units: float, **members: Any) -> Answer:
        items = [order(*pair) for pair in WRITTEN if pair[0] == key]
        content = {"Items": self._lie(items) if key == "hot#0" else items}
        return Answer(200, orjson.dumps(content), 0.001)


@pytest.mark.parametrize(
    ("lie", "wrong"),
    [
        pytest.param(list, (0, 0, 0), id="none"),
        pytest.param(lambda items: items[1:], (1, 0, 0), id="it hides an item"),
        pytest.param(lambda items: [*items, items[-1]], (0, 1, 0), id="it shows one twice"),
        pytest.param(lambda items: items[::-1], (0, 0, 1), id="it shows two in the wrong order"),
    ],
)
def test_what_a_user_was_shown_is_held_against_what_was_written(lie: Tamper, wrong: tuple[int, ...]) -> None:
    """`analysis/test_checks` has what a run with wrong reads comes to."""
    user = Deceived(lie)
    user.read_shards(SHARDS, consistent=True)
    counted = user.load.record.counted
    found = tuple(counted[f"reads.{what}"] for what in ("missing", "duplicate", "misordered"))
    assert found[:2] == wrong[:2]
    assert bool(found[2]) is bool(wrong[2]), "each that stands behind it is one"
    assert (counted["reads.checked"], counted["reads.required"], counted["reads.requests"]) == (1, 6, 3)


def test_a_read_that_is_throttled_misses_nothing() -> None:
    user = Deceived(list)
    user.ask = lambda *_request, **_members: Answer(400, b'{"__type":"ThrottlingException"}', 0.001)
    read = user.read_shards(SHARDS, consistent=True)
    assert (read.items, read.complete) == ([], False)
    assert user.load.record.counted == {"reads.unchecked": 1}


def test_items_of_other_processes_are_neither_missing_nor_wrong() -> None:
    items = [order(*pair) for pair in WRITTEN]
    assert judge(items, WHOLE, SHARDS, known(WRITTEN[:1]), began_s=10.0) == ReadCheck(required=1)


CAPACITY = CapacityPair(read=1, write=1)
INDEX = IndexSpec(name="top", partition_key="slot", sort_key="views", provisioned=CAPACITY)
TABLE = TableSpec(name="images", provisioned=CAPACITY, indexes=(INDEX,))
KEY: Item = {"pk": {"S": "a"}}


@dataclass(slots=True)
class Sent:
    """A write that is in flight, and whether the table has applied it."""

    kind: str
    views: str
    slot: str
    applied: bool = False


class World:
    """A table of one item, and a ledger that sees only what a client sees."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.ledger = Ledger([TABLE], now=lambda: self.now_s)
        self.identity = self.ledger.identity("images", KEY)
        self.item: Item | None = None
        self.since_s: dict[Spot, float] = {}
        self.in_flight: list[Sent] = []

    def begin(self, sent: Sent) -> None:
        self.in_flight.append(sent)
        self.ledger.begin(self.identity, self.stated(sent))

    def stated(self, sent: Sent) -> Item | None:
        """What the request says of the item after it."""
        if sent.kind == "delete":
            return None
        return {**KEY, "slot": {"S": sent.slot}, "views": {"N": sent.views}} if sent.kind == "put" else KEY

    def apply(self, sent: Sent) -> None:
        if sent.applied:
            return
        sent.applied = True
        if sent.kind == "update":
            self.item = {**(self.item or KEY), "views": {"N": sent.views}}
        else:
            self.item = self.stated(sent)
        spots: set[Spot] = {(("images", None, "a"), NO_ORDER)} if self.item else set()
        if self.item and "slot" in self.item:
            spots.add((("images", "top", self.item["slot"]["S"]), Decimal(self.item["views"]["N"])))
        self.since_s = {spot: self.since_s.get(spot, self.now_s) for spot in spots}

    def land(self, sent: Sent, lost: bool) -> None:
        self.in_flight.remove(sent)
        if lost:
            self.ledger.unknown(self.identity)
        elif not sent.applied:
            self.ledger.refused(self.identity)
        elif sent.kind == "update":
            self.ledger.updated(self.identity, {**KEY, "views": {"N": sent.views}})
        else:
            self.ledger.applied(self.identity, self.stated(sent))

    def certain(self) -> dict[Spot, float]:
        item = self.ledger._items.get(self.identity)
        return item.since_s if item else {}

    def check(self) -> None:
        for spot, since_s in self.certain().items():
            assert spot in self.since_s, "it is not there"
            assert self.since_s[spot] <= since_s, "it was not there all the time"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_certain_is_true_and_has_been(seed: int) -> None:
    rng, world = Random(seed), World()
    certain = 0
    for _event in range(10_000):
        world.now_s += 1.0
        event = rng.choice(["begin", "begin", "apply", "apply", "land", "land", "lose"])
        if event == "begin" and len(world.in_flight) < 3:
            kind = rng.choice(["put", "put", "update", "delete"])
            world.begin(Sent(kind, rng.choice("12"), rng.choice("st")))
        elif world.in_flight and event != "begin":
            sent = rng.choice(world.in_flight)
            if event == "apply":
                world.apply(sent)
            elif event == "land" or rng.random() < 0.2:
                world.land(sent, lost=event == "lose")
        world.check()
        certain += len(world.certain())
    assert certain > 1_000, "a ledger that knows nothing is never wrong"
