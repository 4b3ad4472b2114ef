"""A check that cannot fail is none: every kind of wrong answer is made, and counted."""

from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.transport.answer import Answer
from keyheat.load.users.collections import Item, Page, Query, read_collection
from keyheat.load.users.ledger import SETTLE_S, Ledger, ReadCheck, judge
from keyheat.load.users.writes import NotedTransport
from keyheat.scenario.spec.tables import CapacityPair, TableSpec

TABLE = TableSpec(name="orders", sort_key="sk", provisioned=CapacityPair(read=1, write=1))
WHOLE = Query(table="orders", partition_key="pk", sort_key="sk", consistent=True)
SHARDS = ("hot#0", "hot#1", "hot#2")
WRITTEN = [("hot#0", "a"), ("hot#1", "b"), ("hot#2", "c"), ("hot#0", "d"), ("hot#1", "e"), ("hot#2", "f")]
PAGE_ITEMS = 1


def order(shard: str, sort_key: str) -> Item:
    return {"pk": {"S": shard}, "sk": {"S": sort_key}}


class Accepting:
    """A transport that accepts everything."""

    def send(self, operation: str, body: bytes) -> Answer:
        return Answer(200, b"{}", 0.0)

    def close(self) -> None: ...


def known(written: list[tuple[str, str]], at_s: float = 10.0) -> Ledger:
    ledger = Ledger([TABLE], now=lambda: at_s)
    for shard, sort_key in written:
        body = orjson.dumps({"TableName": "orders", "Item": order(shard, sort_key)})
        NotedTransport(Accepting(), ledger).send("PutItem", body)
    return ledger


Tamper = Callable[[list[Item]], list[Item]]


def read(tamper: Tamper = list, query: Query = WHOLE, *, began_s: float = 10.0) -> ReadCheck:
    """A read of what was written, of which `tamper` changes what the table holds in its first shard."""

    def page(shard: str, start: Item | None) -> Page:
        items = [order(*pair) for pair in WRITTEN if pair[0] == shard]
        items = tamper(items) if shard == "hot#0" else items
        items = items[::-1] if query.descending else items
        begin = int(start["n"]) if start else 0
        page = items[begin : begin + PAGE_ITEMS]
        return page, {"n": begin + PAGE_ITEMS} if begin + PAGE_ITEMS < len(items) else None

    items = read_collection(SHARDS, query, page)
    return judge(items, query, SHARDS, known(WRITTEN), began_s=began_s)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [None, 1, 4, 6, 9])
def test_a_right_read_has_nothing_wrong(limit: int | None, descending: bool) -> None:
    judged = read(query=replace(WHOLE, limit=limit, descending=descending))
    # with a limit, the last item of an answer may have equals beyond it, so that it is not required
    required = 6 if limit is None or limit == 9 else limit - 1
    assert judged == ReadCheck(required=required)


def test_an_item_twice_is_a_duplicate() -> None:
    assert read(lambda items: [items[0], *items]) == ReadCheck(required=6, duplicate=1)


def test_two_items_swapped_are_misordered() -> None:
    judged = read(lambda items: items[::-1])
    assert (judged.missing, judged.duplicate) == (0, 0)
    assert judged.misordered > 0


def test_an_eventually_consistent_read_need_not_show_the_newest() -> None:
    eventual = replace(WHOLE, consistent=False)
    assert read(lambda items: items[1:], eventual, began_s=10.0 + SETTLE_S / 2) == ReadCheck()
    assert read(lambda items: items[1:], eventual, began_s=10.0 + SETTLE_S) == ReadCheck(
        required=6, missing=1
    )


def test_a_write_that_is_acknowledged_after_the_read_began_need_not_be_seen() -> None:
    assert read(lambda items: items[1:], began_s=9.9) == ReadCheck()


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


@pytest.mark.parametrize("descending", [False, True])
def test_swapped_items_are_seen_with_a_limit(descending: bool) -> None:
    judged = read(lambda items: items[::-1], replace(WHOLE, limit=5, descending=descending))
    assert judged.misordered + judged.missing > 0


def test_items_of_other_processes_are_neither_missing_nor_wrong() -> None:
    items = [order(*pair) for pair in WRITTEN]
    assert judge(items, WHOLE, SHARDS, known(WRITTEN[:1]), began_s=10.0) == ReadCheck(required=1)
