"""A sharded collection is read back as if it had never been sharded.

The cache lets one read of a key through per lifetime, and nothing that was not found.
"""

import gevent
import orjson
import pytest
from gevent.event import Event
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.users.collections import (
    Collected,
    Item,
    Page,
    Query,
    ReadThroughCache,
    copies_of,
    read_collection,
)
from keyheat.scenario.spec.part import CacheSpec
from tests.make import a_spec

PAGE = 3
ORDER = Query(table="orders", partition_key="pk", sort_key="sk")
Shards = dict[str, list[Item]]


def query(limit: int | None = None, *, descending: bool = False, prefix: str | None = None) -> Query:
    return Query(
        table="orders", partition_key="pk", sort_key="sk", limit=limit, descending=descending, prefix=prefix
    )


def stored(values: list[tuple[int, str]]) -> Shards:
    """Shards as DynamoDB keeps them: each in order of its sort keys' bytes."""
    shards: Shards = {f"hot#{shard}": [] for shard in range(4)}
    for shard, value in sorted(set(values), key=lambda pair: pair[1].encode()):
        shards[f"hot#{shard}"].append({"sk": {"S": value}})
    return shards


class ShardedTable:
    """Answers queries page by page, as DynamoDB does."""

    def __init__(self, shards: Shards, asked: Query, page_items: int = PAGE) -> None:
        self._shards, self._asked, self._page_items = shards, asked, page_items
        self.pages: list[str] = []
        self.in_flight = self.most_in_flight = 0

    def page(self, shard: str, start: Item | None) -> Page:
        self.pages.append(shard)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        gevent.sleep(0)
        self.in_flight -= 1
        prefix = self._asked.prefix or ""
        items = [item for item in self._shards[shard] if item["sk"]["S"].startswith(prefix)]
        items = items[::-1] if self._asked.descending else items
        begin = items.index(start) + 1 if start else 0
        page = items[begin : begin + min(self._page_items, self._asked.limit or self._page_items)]
        return page, page[-1] if begin + len(page) < len(items) else None


@given(
    values=st.lists(st.tuples(st.integers(0, 3), st.text("ab\uffff\U0001f600", max_size=4))),
    limit=st.none() | st.integers(1, 12),
    descending=st.booleans(),
    prefix=st.none() | st.text("ab\uffff", max_size=2),
    page_items=st.integers(1, 5),
    at_once=st.integers(1, 5),
)
def test_shards_merge_into_one_order(
    values: list[tuple[int, str]],
    limit: int | None,
    descending: bool,
    prefix: str | None,
    page_items: int,
    at_once: int,
) -> None:
    shards, asked = stored(values), query(limit, descending=descending, prefix=prefix)
    table = ShardedTable(shards, asked, page_items)
    found = read_collection(tuple(shards), asked, table.page, at_once=at_once)
    everything = sorted(
        (value for _shard, value in set(values) if value.startswith(prefix or "")),
        key=str.encode,
        reverse=descending,
    )
    assert [item["sk"]["S"] for item in found] == everything[:limit]
    assert table.most_in_flight <= at_once


def test_no_page_is_read_beyond_the_limit() -> None:
    table = ShardedTable(stored([(0, f"{number:03d}") for number in range(100)]), query(5))
    read_collection(("hot#0", "hot#1", "hot#2", "hot#3"), query(5), table.page)
    assert table.pages.count("hot#0") == 2
    assert table.most_in_flight == 4, "all shards are asked at once"


def test_what_a_query_raises_is_raised_and_no_further_page_is_asked_for() -> None:
    table = ShardedTable(stored([(0, f"{number:03d}") for number in range(100)]), ORDER)

    def refused(shard: str, start: Item | None) -> Page:
        if shard == "hot#1":
            raise LookupError("throttled")
        return table.page(shard, start)

    with pytest.raises(LookupError, match="throttled"):
        read_collection(("hot#0", "hot#1"), ORDER, refused)
    assert table.pages == ["hot#0"]


def test_a_reader_that_is_killed_takes_its_queries_with_it() -> None:
    asked: list[str] = []
    ended: list[str] = []
    both_asked, never = Event(), Event()

    def waits(shard: str, _start: Item | None) -> Page:
        asked.append(shard)
        if len(asked) == 2:
            both_asked.set()
        try:
            never.wait()
        except gevent.GreenletExit:
            ended.append(shard)
            raise
        return [], None

    reader = gevent.spawn(read_collection, ("hot#0", "hot#1"), ORDER, waits)
    assert both_asked.wait(timeout=600)
    reader.kill()
    assert sorted(ended) == ["hot#0", "hot#1"]


def test_a_query_asks_for_what_it_says() -> None:
    asked = Query("images", "slot", "views", index="top", prefix="00", limit=3, descending=True)
    body = orjson.dumps(asked.members("partition_1", {"pk": {"S": "x"}})).decode()
    for part in ('"IndexName":"top"', '"Limit":3', '"ScanIndexForward":false', "begins_with(#s, :s)",
                 '":s":{"S":"00"}', '"ExclusiveStartKey":{"pk":{"S":"x"}}'):  # fmt: skip
        assert part in body
    assert "ConsistentRead" not in body


def test_numbers_are_in_order_of_their_values() -> None:
    shards = {"a": [{"views": {"N": "9"}}, {"views": {"N": "100"}}], "b": [{"views": {"N": "-1.5e1"}}]}
    asked = Query(table="images", partition_key="slot", sort_key="views", index="top", descending=True)
    found = read_collection(("a", "b"), asked, lambda shard, _start: (shards[shard][::-1], None))
    assert [item["views"]["N"] for item in found] == ["100", "9", "-1.5e1"]


KEY = ("hot", None)


class Table:
    """Answers reads after a while, and counts them."""

    def __init__(self, answer: Collected | None = None) -> None:
        self.reads = 0
        self.now_s = 100.0
        self._answer = answer or Collected([{"pk": {"S": "hot"}}], True, 1, 4.0)

    def read(self) -> Collected:
        self.reads += 1
        gevent.sleep(0)
        return self._answer

    def cache(self, ttl_s: float = 1.0, items: int = 10) -> ReadThroughCache:
        return ReadThroughCache(CacheSpec(ttl_s=ttl_s, items=items), now=lambda: self.now_s)


def test_an_item_is_read_once_per_lifetime() -> None:
    table = Table()
    cache = table.cache(ttl_s=2.0)
    _read, cached_s = cache.get(KEY, table.read)
    assert cached_s is None
    table.now_s += 1.9
    cached, cached_s = cache.get(KEY, table.read)
    assert (cached.units, cached_s) == (4.0, 100.0)
    table.now_s += 0.1
    cache.get(KEY, table.read)
    assert table.reads == 2


def test_those_who_miss_at_the_same_time_share_one_read() -> None:
    table = Table()
    cache = table.cache()
    users = [gevent.spawn(cache.get, KEY, table.read) for _ in range(20)]
    gevent.joinall(users, raise_error=True)
    assert table.reads == 1
    assert sum(user.value[1] is not None for user in users) == 19


def test_copies_are_global_indexes_with_the_same_keys_and_all_attributes() -> None:
    same = {"partition_key": "pk", "sort_key": "sk", "provisioned": {"read": 1, "write": 1}}
    indexes = [
        {"name": "copy", **same},
        {"name": "other-key", **same, "partition_key": "country"},
        {"name": "no-sort-key", **same, "sort_key": None},
        {"name": "half", **same, "projection": "KEYS_ONLY"},
    ]
    assert copies_of(a_spec(sort_key="sk", indexes=indexes)) == (None, "copy")


@pytest.mark.parametrize("complete", [True, False])
def test_what_was_not_found_is_not_kept(complete: bool) -> None:
    """An absent item may be written at any time, and a throttled read found nothing out."""
    table = Table(Collected([], complete, 1, 0.5))
    cache = table.cache()
    for _ in range(3):
        cache.get(KEY, table.read)
    assert table.reads == 3


def test_a_read_that_breaks_leaves_nobody_waiting() -> None:
    table = Table()
    cache = table.cache()

    def breaks() -> Collected:
        gevent.sleep(0)
        raise LookupError

    first, second = gevent.spawn(cache.get, KEY, breaks), gevent.spawn(cache.get, KEY, table.read)
    gevent.joinall([first, second], timeout=600)
    assert isinstance(first.exception, LookupError)
    assert second.value[1] is None, "it has read for itself"


def test_it_holds_so_many_items_and_no_more() -> None:
    table = Table()
    cache = table.cache(items=2)
    for name in ("a", "b", "c", "a"):
        cache.get((name, None), table.read)
    assert table.reads == 4
