"""Users that read what others wrote, and check it: items, sharded collections, rankings, copies, caches.

Each method is one read as an application knows it, however many requests it takes. Its requests are recorded
each; the read as a whole is timed (`ReadCollection.logical` ...) and counted (`reads.units` ...).

Reads that are spread over a table and its global indexes with the same keys: each is a copy to read from.
Every copy has partitions, and a capacity, of its own. Each is paid for by every write, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from time import perf_counter
from typing import Any

from keyheat.load.users.collections import (
    Collected,
    Item,
    Page,
    Query,
    ReadThroughCache,
    copies_of,
    read_collection,
)
from keyheat.load.users.ledger import Ledger, NotedTransport, judge
from keyheat.load.users.outcomes import consumed
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import calculated_suffix, shard_keys

LEAST_UNITS = 0.5  # a read's price where none of the kind was answered yet


class Incomplete(Exception):
    """A request of a read was throttled or failed; the record has counted it, and there is no answer."""


class Reader(TableUser):
    """Reads, and checks every read against what this process's writers got acknowledged."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        scenario = self.load.order.scenario
        self._keys = {index.name: (index.partition_key, index.sort_key) for index in self.table.indexes}
        if self.load.ledger is None:
            self.load.ledger = Ledger((scenario.table, *scenario.companions))
            self.load.transport = NotedTransport(self.load.transport, self.load.ledger)
        self._ledger = self.load.ledger
        self._last_units: dict[str, float] = {}  # of an operation: what the next one may cost

    def read_shards(
        self,
        shards: Sequence[str],
        *,
        index: str | None = None,
        prefix: str | None = None,
        limit: int | None = None,
        descending: bool = False,
        consistent: bool = False,
    ) -> Collected:
        """A collection from all these partition keys, of the table or of an index, in order of the sort key.

        All of it, page by page, or its first `limit` items; only sort keys that begin with `prefix`, if any.
        """
        query = replace(
            self._query(index), prefix=prefix, limit=limit, descending=descending, consistent=consistent
        )
        return self._read(shards, query, "ReadCollection")

    def read_collection(self, key: str, **how: Any) -> Collected:
        """The collection of a sharded key, from all the shards that the scenario has; see `read_shards`."""
        return self.read_shards(shard_keys(key, self.shards), **how)

    def read_item(
        self, key: str, sort_key: str | None = None, *, index: str | None = None, consistent: bool = True
    ) -> Collected:
        """One item of the table, or of an index with the table's own keys (eventually consistent, always)."""
        if index is not None:
            query = replace(self._query(index), prefix=sort_key, exact=sort_key is not None)
            return self._read((key,), query, "ReadItem")
        query = replace(self._query(None), prefix=sort_key, exact=True, consistent=consistent)
        return self._finish((key,), query, partial(self._get, key, query), "ReadItem")

    def read_calculated(self, key: str, sort_key: str, *, consistent: bool = True) -> Collected:
        """One item of a sharded key, from the one shard that its sort key falls on."""
        return self.read_item(calculated_suffix(key, sort_key, self.shards), sort_key, consistent=consistent)

    def _query(self, index: str | None) -> Query:
        keys = self._keys[index] if index else (self.table.partition_key, self.table.sort_key)
        values = self.load.items.values
        return Query(self.table.name, keys[0], keys[1], index=index, values=values)

    def _read(self, shards: Sequence[str], query: Query, name: str) -> Collected:
        def collect(read: Collected) -> list[Item]:
            return read_collection(shards, query, partial(self._page, query, read))

        return self._finish(shards, query, collect, name)

    def _finish(
        self, shards: Sequence[str], query: Query, collect: Callable[[Collected], list[Item]], name: str
    ) -> Collected:
        """Do a read, time it, check it and count it."""
        read, began_s = Collected(), perf_counter()
        try:
            read.items = collect(read)
        except Incomplete:
            self.count("reads.unchecked")
            return read
        read.complete = True
        self.load.record.timed(f"{name}.logical", int((perf_counter() - began_s) * 1e6))
        judged = judge(read.items, query, shards, self._ledger, began_s=began_s)
        counts = {"checked": 1, "items": len(read.items), "requests": read.requests, "units": read.units}
        for what, number in (counts | asdict(judged)).items():  # zeros, too: a run has to say "0 missing"
            self.count(f"reads.{what}", number)
        return read

    def _page(self, query: Query, read: Collected, shard: str, start: Item | None) -> Page:
        content = self._part("Query", shard, read, query.members(shard, start))
        return content["Items"], content.get("LastEvaluatedKey")

    def _get(self, key: str, query: Query, read: Collected) -> list[Item]:
        members = {"Key": query.values.key(key, query.prefix), "ConsistentRead": query.consistent}
        content = self._part("GetItem", key, read, members)
        return [content["Item"]] if "Item" in content else []

    def _part(self, operation: str, key: str, read: Collected, members: dict[str, Any]) -> dict[str, Any]:
        read.requests += 1
        answer = self.ask(operation, key, self._last_units.get(operation, LEAST_UNITS), **members)
        if not answer.accepted:
            raise Incomplete
        cost, _by_index = consumed(answer)
        read.units += cost
        self._last_units[operation] = cost
        return answer.content()


class CachedReader(Reader):
    """Reads single items, through a cache where the scenario has one.

    What it does not have is read from the table, or from one of its copies at random.
    """

    abstract = True
    has_cache = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        spec = self.load.order.scenario.cache
        if spec is not None and self.load.cache is None:
            self.load.cache = ReadThroughCache(spec)
        self._cache, self._copies = self.load.cache, copies_of(self.table)

    def read_through(self, key: str, sort_key: str | None = None) -> Collected:
        """One item, at most the cache's lifetime old; eventually consistent, as a cache makes it anyway."""
        began_s, index = perf_counter(), self.rng.choice(self._copies)
        read = partial(self.read_item, key, sort_key, index=index, consistent=False)
        if self._cache is None:
            collected, read_s = read(), None
        else:
            collected, read_s = self._cache.get((key, sort_key), read)
            self.count("cache.misses" if read_s is None else "cache.hits")
        if read_s is not None:
            self.spared()
            identity = self._ledger.identity(self.table.name, collected.items[0])
            written_s = self._ledger.acknowledged_s(identity)
            self.count("cache.units_saved", collected.units)
            self.count("cache.stale", written_s is not None and written_s > read_s)
            collected = Collected(collected.items, complete=True)
        if collected.complete:
            self.load.record.timed("ReadThrough.logical", int((perf_counter() - began_s) * 1e6))
        return collected
