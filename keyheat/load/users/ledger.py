"""What the writers of this process know to be in the tables: the truth that reads are checked against.

An acknowledged item is certain to be where its last write put it. A write in flight leaves certain only what
it does not change; the same holds if its answer is lost, or if writes of one item overlap. The items written
longest ago are forgotten first, so that memory is bounded; they are not checked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import gt, lt
from time import perf_counter

from sortedcontainers import SortedList

from keyheat.load.users.collections import NO_ORDER, Item, Query, SortValue
from keyheat.model import limits
from keyheat.scenario.spec.tables import TableSpec
from keyheat.sharding.reader import sort_value

LAST = "\U0010ffff"  # no character comes after it

Identity = tuple[str, ...]  # an item: its table, and the values of its keys
Place = tuple[str, str | None, str]  # a table, one of its indexes or none, and a partition key in it
Spot = tuple[Place, SortValue]


class Places:
    """Items by the partition key that they are found under."""

    def __init__(self) -> None:
        self._items: dict[Place, SortedList] = {}

    def add(self, spot: Spot, identity: Identity) -> None:
        collection, value = spot
        self._items.setdefault(collection, SortedList()).add((value, identity))

    def remove(self, spot: Spot, identity: Identity) -> None:
        """An item is not there any more, or not for certain."""
        collection, value = spot
        self._items[collection].remove((value, identity))
        if not self._items[collection]:
            del self._items[collection]

    def ordered(self, collection: Place, query: Query) -> Iterable[tuple[SortValue, Identity]]:
        """What the query asks of one place, in the query's order."""
        kept = self._items.get(collection)
        if kept is None:
            return ()
        if query.prefix is None:
            whole: Iterable[tuple[SortValue, Identity]] = reversed(kept) if query.descending else iter(kept)
            return whole
        if query.exact:
            value = query.exact_value()
            begin, end = kept.bisect_left((value,)), kept.bisect_left((value, (LAST,)))
        else:
            begin, end = kept.bisect_left((query.prefix,)), kept.bisect_left((_after(query.prefix),))
        ordered: Iterable[tuple[SortValue, Identity]] = kept.islice(begin, end, reverse=query.descending)
        return ordered


def _after(prefix: str) -> str:
    """The least text that is greater than everything that begins with the prefix."""
    head = prefix.rstrip(LAST)
    return head[:-1] + chr(ord(head[-1]) + 1) if head else LAST * limits.SORT_KEY_BYTES


MOST_ITEMS = 50_000  # about 70 MB, and 25 more for each index


@dataclass(slots=True)
class _Known:
    """An item as its last write left it."""

    keys: Item  # its key attributes, those of indexes too where they are known
    since_s: dict[Spot, float]  # where it certainly is, and since when
    acknowledged_s: float


@dataclass(slots=True)
class _Flights:
    """Writes of an item that overlap, from the first one's begin until none is in flight."""

    spots: set[Spot]  # where each of them leaves it
    count: int = 1
    overlapped: bool = False

    def add(self, spots: set[Spot]) -> None:
        self.spots = self.spots & spots
        self.count += 1
        self.overlapped = True


class Ledger:
    """The items of some tables, by where a read would find them."""

    def __init__(
        self,
        tables: Iterable[TableSpec],
        *,
        now: Callable[[], float] = perf_counter,
        most_items: int = MOST_ITEMS,
    ) -> None:
        self._owners = {table.name: _owners(table) for table in tables}
        self._now = now
        self._most_items = most_items
        self._items: dict[Identity, _Known] = {}  # the one written longest ago first
        self._places = Places()
        self._flights: dict[Identity, _Flights] = {}

    def __len__(self) -> int:
        return len(self._items)

    def has(self, table: str) -> bool:
        return table in self._owners

    def identity(self, table: str, item: Item) -> Identity:
        _index, partition_key, sort_key = self._owners[table][0]
        if sort_key is None:
            return (table, *item[partition_key].values())
        return (table, *item[partition_key].values(), *item[sort_key].values())

    def begin(self, identity: Identity, after: Item | None) -> None:
        """A write is about to be sent that leaves `after` of the item, as far as is known; None: nothing."""
        spots = self._spots(identity, after)
        if (flights := self._flights.get(identity)) is None:
            self._flights[identity] = _Flights(spots)
        else:
            flights.add(spots)
        if (entry := self._items.get(identity)) is not None:
            for spot in entry.since_s.keys() - spots:
                del entry.since_s[spot]
                self._places.remove(spot, identity)

    def applied(self, identity: Identity, after: Item | None) -> None:
        """A write that was begun is acknowledged.

        Where it overlapped others, their order is unknown: the item is certainly where each of them left it.
        """
        now_s, entry, flights = self._now(), self._forget(identity), self._land(identity)
        spots = flights.spots if flights.overlapped else self._spots(identity, after)
        since_s = dict.fromkeys(spots, now_s) | (entry.since_s if entry else {})
        if since_s:
            keys = {} if flights.overlapped else self._keys_of(identity[0], after or {})
            self._keep(identity, _Known(keys, since_s, now_s))

    def updated(self, identity: Identity, changes: Item) -> None:
        """An update that was begun is acknowledged; of its keys, the item changed those among `changes`."""
        entry = self._items.get(identity)
        self.applied(identity, {**entry.keys, **changes} if entry else changes)

    def unknown(self, identity: Identity) -> None:
        """Nobody knows whether a write that was begun was applied."""
        self._land(identity)
        if (entry := self._items.get(identity)) is not None:
            entry.keys = {}

    def refused(self, identity: Identity) -> None:
        """A write that was begun changed nothing."""
        self._land(identity)

    def _land(self, identity: Identity) -> _Flights:
        """Count one write less in flight; returns what overlapped."""
        flights = self._flights[identity]
        flights.count -= 1
        if not flights.count:
            del self._flights[identity]
        return flights

    def required(
        self, query: Query, shards: Iterable[str], *, before_s: float, last: SortValue | None
    ) -> Iterator[Identity]:
        """The items that have been where a read of the shards finds them since `before_s` at least.

        `last`: how far a limit let the read go; what has the same sort value may lie on either side.
        """
        for shard in shards:
            collection = (query.table, query.index, query.name(shard))
            for value, identity in self._places.ordered(collection, query):
                if last is not None and (value <= last if query.descending else value >= last):
                    break
                if self._items[identity].since_s[collection, value] <= before_s:
                    yield identity

    def acknowledged_s(self, identity: Identity) -> float | None:
        """When the last write of the item was acknowledged; None where that is not known."""
        entry = self._items.get(identity)
        return entry.acknowledged_s if entry else None

    def _keys_of(self, table: str, item: Item) -> Item:
        names = {name for _index, *keys in self._owners[table] for name in keys if name}
        return {name: item[name] for name in names if name in item}

    def _keep(self, identity: Identity, entry: _Known) -> None:
        self._items[identity] = entry
        for spot in entry.since_s:
            self._places.add(spot, identity)
        if len(self._items) > self._most_items:
            self._forget(next(iter(self._items)))

    def _forget(self, identity: Identity) -> _Known | None:
        entry = self._items.pop(identity, None)
        for spot in entry.since_s if entry else ():
            self._places.remove(spot, identity)
        return entry

    def _spots(self, identity: Identity, item: Item | None) -> set[Spot]:
        """Where an item with these attributes is, as far as they say."""
        spots: set[Spot] = set()
        for index, partition_key, sort_key in self._owners[identity[0]] if item else ():
            if partition_key in item and (sort_key is None or sort_key in item):  # type: ignore[operator]
                (shard,) = item[partition_key].values()  # type: ignore[index]
                value = sort_value(item[sort_key]) if sort_key else NO_ORDER  # type: ignore[index]
                spots.add(((identity[0], index, shard), value))
        return spots


def _owners(table: TableSpec) -> list[tuple[str | None, str, str | None]]:
    """The table and its indexes, each with its keys."""
    indexes = [(index.name, index.partition_key, index.sort_key) for index in table.indexes]
    return [(None, table.partition_key, table.sort_key), *indexes]


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
        misordered=_inversions(values, query),
    )


def _inversions(values: Sequence[SortValue], query: Query) -> int:
    """How often an item comes right after one that should follow it."""
    return sum(map(lt if query.descending else gt, values, islice(values, 1, None)))
