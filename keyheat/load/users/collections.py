"""Collections that are spread over shards, read back as one; and popular items, read through a cache.

    hot#0  a d g         hot#1  b e h      >  a b c d e f g h
    hot#2  c f       /

A read-through cache in front of a table: popular items are read once per lifetime.
It is a low-pass filter: however fast a key is asked for, the table sees at most one read of it per lifetime
and process. DAX does this beside the application: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DAX.html
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from time import perf_counter
from typing import Any

from cachetools import TTLCache
from gevent.event import Event
from gevent.pool import Pool

from keyheat.load.users.items import PLAIN, KeyValues
from keyheat.scenario.spec.part import CacheSpec
from keyheat.scenario.spec.tables import TableSpec
from keyheat.sharding.reader import sort_value

Item = dict[str, Any]
Page = tuple[list[Item], Item | None]  # items in order of the sort key, and where the next page starts
SortValue = Any  # str, Decimal or bytes; comparable with other values of the same key

AT_ONCE = 32  # queries of one read that are in flight at a time
NO_ORDER = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What every shard of a collection is asked."""

    table: str
    partition_key: str
    sort_key: str | None
    index: str | None = None  # the one whose keys those are; None: the table
    prefix: str | None = None  # only sort keys that begin with it
    exact: bool = False  # only the sort key that is it
    limit: int | None = None
    descending: bool = False
    consistent: bool = False
    values: KeyValues = PLAIN  # how the keys are written

    def members(self, shard: str, start: Item | None) -> dict[str, Any]:
        """The request for one page of one shard: as long as the limit allows, else as 1 MB allows."""
        condition, names = "#p = :p", {"#p": self.partition_key}
        values = {":p": self.values.of(self.partition_key, shard)}
        if self.prefix is not None:
            assert self.sort_key is not None, "nothing to begin with without a sort key"
            condition += " AND #s = :s" if self.exact else " AND begins_with(#s, :s)"
            names["#s"], values[":s"] = self.sort_key, self.values.of(self.sort_key, self.prefix)
        optional = {
            "IndexName": self.index,
            "Limit": self.limit,
            "ScanIndexForward": False if self.descending else None,
            "ConsistentRead": self.consistent or None,
            "ExclusiveStartKey": start,
        }
        return {
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def name(self, shard: str) -> str:
        """A partition key as the table or the index knows it."""
        return self.values.attribute(self.partition_key).text(shard)

    def sort_value(self, item: Item) -> SortValue:
        return sort_value(item[self.sort_key]) if self.sort_key else NO_ORDER


@dataclass(slots=True)
class Collected:
    """What one read came to; no items where a request of it was throttled or failed."""

    items: list[Item] = field(default_factory=list)
    complete: bool = False
    requests: int = 0
    units: float = 0.0


def read_collection(
    shards: Sequence[str], query: Query, page: Callable[[str, Item | None], Page], *, at_once: int = AT_ONCE
) -> list[Item]:
    """A sharded collection in the query's order: all of it, or its first `limit` items.

    `page` reads one page of one shard. Shards are read in parallel, at most `at_once` of them at a time, and
    no further than the limit, since the first items of the whole cannot lie beyond. Raises what `page`
    raises; shards then begin no further page.
    """
    failed: list[Exception] = []

    def first_items(shard: str) -> list[Item]:
        def items() -> Iterator[Item]:
            start: Item | None = None
            while not failed:
                read, start = page(shard, start)
                yield from read
                if start is None:
                    return

        try:
            return list(islice(items(), query.limit))
        except Exception as error:  # noqa: BLE001  (raised again below: gevent prints what escapes a greenlet)
            failed.append(error)
            return []

    pool = Pool(min(at_once, len(shards)))
    try:
        per_shard = [first_items(shards[0])] if len(shards) == 1 else pool.map(first_items, shards)
    except BaseException:  # the user was killed: its queries end with it, and are recorded
        pool.kill()
        raise
    if failed:
        raise failed[0]
    return list(islice(merge(*per_shard, key=query.sort_value, reverse=query.descending), query.limit))


def copies_of(table: TableSpec) -> tuple[str | None, ...]:
    """Where a read of the table may go: the table itself (None), and the indexes that hold it whole."""
    same = (
        index.name
        for index in table.indexes
        if not index.local
        and index.projection == "ALL"
        and (index.partition_key, index.sort_key) == (table.partition_key, table.sort_key)
    )
    return (None, *same)


Key = tuple[str, str | None]
Cached = tuple[Collected, float]
"""A read that found something, and when it was answered."""


class ReadThroughCache:
    """Items by key for some time. Those who miss the same key at the same time wait for one read of it."""

    def __init__(self, spec: CacheSpec, *, now: Callable[[], float] = perf_counter) -> None:
        self.now = now
        self._entries: TTLCache[Key, Cached] = TTLCache(spec.items, spec.ttl_s, timer=now)
        self._reading: dict[Key, Event] = {}

    def get(self, key: Key, read: Callable[[], Collected]) -> tuple[Collected, float | None]:
        """What is cached, with its time, else what `read` gives. Only what was found is kept."""
        while (cached := self._entries.get(key)) is None and (reading := self._reading.get(key)) is not None:
            reading.wait()
        if cached is not None:
            return cached
        done = self._reading[key] = Event()
        try:
            collected = read()
            if collected.items:
                self._entries[key] = collected, self.now()
        finally:
            del self._reading[key]
            done.set()
        return collected, None
