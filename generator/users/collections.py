"""A collection that is spread over shards, read back as one: every shard asked at once, merged by sort key.

    hot#0  a d g     \
    hot#1  b e h      >  a b c d e f g h
    hot#2  c f       /
"""

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice, pairwise
from typing import Any

from gevent.pool import Pool

Item = dict[str, Any]
Page = tuple[list[Item], Item | None]  # items in order of the sort key, and where the next page starts

AT_ONCE = 10  # queries in flight for one reader


class OutOfOrder(AssertionError):
    """A collection came back in an order that its sort keys contradict."""


def read_collection(
    shards: tuple[str, ...], sort_key: str, query: Callable[[str, Item | None], Page], *, limit: int
) -> list[Item]:
    """The first `limit` items of a sharded collection, ascending by sort key.

    `query` reads one page of one shard; shards are read in parallel, and no further than `limit` items each,
    since the first `limit` of the whole cannot lie beyond. Raises `OutOfOrder`, and whatever `query` raises.
    """

    def first_items(shard: str) -> list[Item] | Exception:
        try:
            return list(islice(_items(shard, query), limit))
        except Exception as error:  # noqa: BLE001  (raised again below: gevent prints what escapes a greenlet)
            return error

    per_shard = Pool(AT_ONCE).map(first_items, shards)
    for result in per_shard:
        if isinstance(result, Exception):
            raise result
    merged = list(islice(merge(*per_shard, key=lambda item: _sort_value(item, sort_key)), limit))
    check_order(merged, sort_key)
    return merged


def _items(shard: str, query: Callable[[str, Item | None], Page]) -> Iterator[Item]:
    items, start = query(shard, None)
    yield from items
    while start is not None:
        items, start = query(shard, start)
        yield from items


def check_order(items: list[Item], sort_key: str) -> None:
    """Raise `OutOfOrder` unless sort keys ascend."""
    values = [_sort_value(item, sort_key) for item in items]
    if any(before > after for before, after in pairwise(values)):
        raise OutOfOrder("a collection came back out of order")


def _sort_value(item: Item, sort_key: str) -> bytes:
    """DynamoDB orders strings by their UTF-8 bytes."""
    return str(item[sort_key]["S"]).encode()
