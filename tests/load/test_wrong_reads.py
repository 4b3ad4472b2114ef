"""A check that cannot fail is none: every kind of wrong answer is made, and counted."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.record.record import Record
from keyheat.load.transport.answer import Answer
from keyheat.load.users.collections import Item, Query
from keyheat.load.users.ledger import SETTLE_S, Ledger, ReadCheck, judge
from tests.make import a_spec

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")  # this process has other tests
    from keyheat.load.users.readers import Reader

ORDERS = a_spec(name="orders", sort_key="sk")
WHOLE = Query(table="orders", partition_key="pk", sort_key="sk", consistent=True)
SHARDS = ("hot#0", "hot#1", "hot#2")
WRITTEN = [("hot#0", "a"), ("hot#1", "b"), ("hot#2", "c"), ("hot#0", "d"), ("hot#1", "e"), ("hot#2", "f")]


def order(shard: str, sort_key: str) -> Item:
    return {"pk": {"S": shard}, "sk": {"S": sort_key}}


def known(written: list[tuple[str, str]], at_s: float = 10.0) -> Ledger:
    ledger = Ledger([ORDERS], now=lambda: at_s)
    for pair in written:
        identity = ledger.identity("orders", order(*pair))
        ledger.begin(identity)
        ledger.ended(identity, order(*pair))
    return ledger


Tamper = Callable[[list[Item]], list[Item]]


def read(items: list[Item], query: Query = WHOLE, *, began_s: float = 10.0) -> ReadCheck:
    """What a read of all that was written at 10 s comes to, where it was answered with these items."""
    return judge(items, query, SHARDS, known(WRITTEN), began_s=began_s)


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


class Deceived(Reader):
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
