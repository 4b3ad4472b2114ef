"""What the writers of this process know to be in the tables: the truth that reads are checked against.

An acknowledged item is certain to be where its last write put it, until another write of it is sent. Nothing
is certain of an item while a write is in flight, after one that failed, or where its writes overlapped. The
items written longest ago are forgotten first, so that memory is bounded; they are not checked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import gt, lt
from time import perf_counter

import orjson
from sortedcontainers import SortedList

from keyheat.load.transport.answer import WRITES, Answer, Transport
from keyheat.load.users.collections import NO_ORDER, Item, Query, SortValue
from keyheat.load.users.outcomes import Write, batch_writes, writes_in
from keyheat.model import limits
from keyheat.scenario.spec.tables import TableSpec
from keyheat.sharding.reader import sort_value

LAST = "\U0010ffff"  # no character comes after it
ABOVE = LAST * limits.SORT_KEY_BYTES  # no sort key comes after it
MOST_ITEMS = 50_000  # about 70 MB, and 25 more for each index

Identity = tuple[str, ...]  # an item: its table, and the values of its keys
Place = tuple[str, str | None, str]  # a table, one of its indexes or none, and a partition key in it
Spot = tuple[Place, SortValue]
_Known = tuple[float, list[Spot]]  # when an item was acknowledged, and where it is


class Ledger:
    """The items of some tables, by where a read would find them."""

    def __init__(
        self,
        tables: Iterable[TableSpec],
        *,
        now: Callable[[], float] = perf_counter,
        most_items: int = MOST_ITEMS,
    ) -> None:
        self._owners = {
            table.name: [(None, table.partition_key, table.sort_key)]
            + [(index.name, index.partition_key, index.sort_key) for index in table.indexes]
            for table in tables
        }
        self._now, self._most_items = now, most_items
        self._items: dict[Identity, _Known] = {}  # the one written longest ago first
        self._places: dict[Place, SortedList] = {}  # of sort values and identities
        self._in_flight: Counter[Identity] = Counter()  # writes
        self._overlapped: set[Identity] = set()  # whose writes met, until none is in flight

    def has(self, table: str) -> bool:
        return table in self._owners

    def identity(self, table: str, item: Item) -> Identity:
        _index, partition_key, sort_key = self._owners[table][0]
        if sort_key is None:
            return (table, *item[partition_key].values())
        return (table, *item[partition_key].values(), *item[sort_key].values())

    def begin(self, identity: Identity) -> None:
        """A write is about to be sent."""
        if identity in self._in_flight:
            self._overlapped.add(identity)
        self._in_flight[identity] += 1
        self._forget(identity)

    def ended(self, identity: Identity, after: Item | None) -> None:
        """A write that was begun left `after` of the item, as far as is known; None: nothing for certain."""
        overlapped = identity in self._overlapped
        self._in_flight[identity] -= 1
        if not self._in_flight[identity]:
            del self._in_flight[identity]
            self._overlapped.discard(identity)
        if after is None or overlapped:
            return
        spots = self._spots(identity, after)
        self._items[identity] = self._now(), spots
        for collection, value in spots:
            self._places.setdefault(collection, SortedList()).add((value, identity))
        if len(self._items) > self._most_items:
            self._forget(next(iter(self._items)))

    def required(
        self, query: Query, shards: Iterable[str], *, before_s: float, last: SortValue | None
    ) -> Iterator[Identity]:
        """The items that have been where a read of the shards finds them since `before_s` at least.

        `last`: how far a limit let the read go; what has the same sort value may lie on either side.
        """
        for shard in shards:
            collection = (query.table, query.index, query.name(shard))
            for value, identity in self._ordered(collection, query):
                if last is not None and (value <= last if query.descending else value >= last):
                    break
                if self._items[identity][0] <= before_s:
                    yield identity

    def _ordered(self, collection: Place, query: Query) -> Iterable[tuple[SortValue, Identity]]:
        """What the query asks of one collection, in the query's order."""
        kept = self._places.get(collection)
        if kept is None:
            return ()
        begin, end = None, None
        if query.exact and query.prefix is not None:
            assert query.sort_key is not None, "nothing to be equal to without a sort key"
            value = sort_value(query.values.of(query.sort_key, query.prefix))
            begin, end = kept.bisect_left((value,)), kept.bisect_left((value, (LAST,)))
        elif query.prefix is not None:
            begin, end = kept.bisect_left((query.prefix,)), kept.bisect_left((query.prefix + ABOVE,))
        ordered: Iterable[tuple[SortValue, Identity]] = kept.islice(begin, end, reverse=query.descending)
        return ordered

    def acknowledged_s(self, identity: Identity) -> float | None:
        """When the last write of the item was acknowledged; None where that is not known."""
        entry = self._items.get(identity)
        return entry[0] if entry else None

    def _forget(self, identity: Identity) -> None:
        _acknowledged_s, spots = self._items.pop(identity, (0.0, []))
        for collection, value in spots:
            self._places[collection].remove((value, identity))
            if not self._places[collection]:
                del self._places[collection]

    def _spots(self, identity: Identity, item: Item) -> list[Spot]:
        """Where an item with these attributes is, as far as they say."""
        spots: list[Spot] = []
        for index, partition_key, sort_key in self._owners[identity[0]]:
            if partition_key in item and (sort_key is None or sort_key in item):
                (shard,) = item[partition_key].values()
                value = sort_value(item[sort_key]) if sort_key else NO_ORDER
                spots.append(((identity[0], index, shard), value))
        return spots


class NotedTransport:
    """Sends by another transport, and tells the ledger what became of the writes."""

    def __init__(self, transport: Transport, ledger: Ledger) -> None:
        self._transport, self._ledger = transport, ledger

    def send(self, operation: str, body: bytes) -> Answer:
        if operation not in WRITES:
            return self._transport.send(operation, body)
        ledger = self._ledger
        named = list(self._named(writes_in(operation, orjson.loads(body))))
        for identity, _write in named:
            ledger.begin(identity)
        answer = self._transport.send(operation, body)
        rest = answer.content().get("UnprocessedItems") if answer.accepted else None
        unprocessed = {identity for identity, _write in self._named(batch_writes(rest or {}))}
        for identity, write in named:
            after = write.after if answer.accepted and identity not in unprocessed else None
            if after is not None and write.returns == "UPDATED_NEW":
                after = answer.content().get("Attributes", {}) | after
            ledger.ended(identity, after)
        return answer

    def close(self) -> None:
        self._transport.close()

    def _named(self, writes: Iterator[Write]) -> Iterator[tuple[Identity, Write]]:
        """The writes to tables of the ledger, with the items that they write."""
        for write in writes:
            if self._ledger.has(write.table):
                yield self._ledger.identity(write.table, write.item), write


SETTLE_S = 2.0
"""After this long an acknowledged write is to be seen by eventually consistent reads, and in global indexes.
AWS states "a fraction of a second, under normal conditions" for indexes, and no bound:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html"""


@dataclass(frozen=True, slots=True)
class ReadCheck:
    """What is wrong with one read, and how many items it had to find at least."""

    required: int = 0
    missing: int = 0
    duplicate: int = 0
    misordered: int = 0


def judge(
    items: Sequence[Item], query: Query, shards: Sequence[str], ledger: Ledger, *, began_s: float
) -> ReadCheck:
    """Judge one whole read that began at `began_s` of the ledger's clock.

    A strongly consistent read must show what was acknowledged before it began, an eventually consistent one
    what was acknowledged `SETTLE_S` before. An item that moves within an index while it is read may be seen
    at both of its places; it is a duplicate only where it is seen twice at the same one.
    """
    values = [query.sort_value(item) for item in items]
    identities = [ledger.identity(query.table, item) for item in items]
    cut = query.limit is not None and len(items) >= query.limit
    before_s = began_s if query.consistent else began_s - SETTLE_S
    must = set(ledger.required(query, shards, before_s=before_s, last=values[-1] if cut else None))
    return ReadCheck(
        required=len(must),
        missing=len(must.difference(identities)),
        duplicate=len(items) - len(set(zip(identities, values, strict=True))),
        # How often an item comes right after one that should follow it.
        misordered=sum(map(lt if query.descending else gt, values, islice(values, 1, None))),
    )
