"""What the writers of this process know to be in the tables: the truth that reads are checked against.

An item is in the ledger once its write was acknowledged, and out of it while a write of it is in flight: what
the table holds in that time is not known. The items acknowledged longest ago are forgotten first, so that
memory is bounded; what is forgotten is not checked.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

from sortedcontainers import SortedList

from generator.users.collections import NO_ORDER, Item, Query, SortValue, sort_value
from tablemodel import limits
from tablemodel.spec.table import TableSpec

MOST_ITEMS = 100_000
SETTLE_S = 2.0
"""After this long an acknowledged write is to be seen by eventually consistent reads, and in global indexes.
AWS states "a fraction of a second, under normal conditions" for indexes, and no bound:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html"""

LAST = "\U0010ffff"  # no character comes after it
Identity = tuple[str, ...]  # the table, and the values of its keys
Place = tuple[str, str | None, str]  # the table, one of its indexes or none, and a partition key in it


@dataclass(slots=True)
class _Known:
    """An item as it was acknowledged: its key attributes, those of indexes too."""

    keys: Item
    acknowledged_s: float


@dataclass(slots=True)
class _Flight:
    """Writes of one item that are in flight: while they overlap, nobody knows which came last."""

    count: int
    overlapped: bool
    before: _Known | None


class Ledger:
    """The acknowledged items of some tables, by where a read would find them."""

    def __init__(
        self,
        tables: Iterable[TableSpec],
        *,
        now: Callable[[], float] = perf_counter,
        most_items: int = MOST_ITEMS,
    ) -> None:
        self._owners = {table.name: _owners(table) for table in tables}
        self.now = now
        self._most_items = most_items
        self._items: dict[Identity, _Known] = {}  # the one acknowledged longest ago first
        self._places: dict[Place, SortedList] = {}
        self._flights: dict[Identity, _Flight] = {}

    def __len__(self) -> int:
        return len(self._items)

    def has(self, table: str) -> bool:
        """Whether this is a table of the scenario."""
        return table in self._owners

    def indexed(self, table: str) -> bool:
        """Whether items of the table are in indexes, too."""
        return len(self._owners[table]) > 1

    def identity(self, table: str, item: Item) -> Identity:
        """Which item it is, by the table's own keys."""
        _index, partition_key, sort_key = self._owners[table][0]
        names = (partition_key, sort_key) if sort_key else (partition_key,)
        return (table, *(next(iter(item[name].values())) for name in names))

    def begin(self, identity: Identity) -> None:
        """A write of an item is about to be sent."""
        flight = self._flights.get(identity)
        if flight is not None:
            flight.count += 1
            flight.overlapped = True
            return
        self._flights[identity] = _Flight(1, False, self._forget(identity))

    def updated(self, identity: Identity, attributes: Item) -> None:
        """An update that was begun is acknowledged; of its keys it changed those among `attributes`."""
        before, certain = self._land(identity)
        if certain:
            keys = self._keys_of(identity[0], {**(before.keys if before else {}), **attributes})
            self._keep(identity, _Known(keys, self.now()))

    def replaced(self, identity: Identity, item: Item) -> None:
        """A put that was begun is acknowledged: the item is this, whatever it was."""
        _before, certain = self._land(identity)
        if certain:
            self._keep(identity, _Known(self._keys_of(identity[0], item), self.now()))

    def refused(self, identity: Identity) -> None:
        """A write that was begun changed nothing."""
        before, certain = self._land(identity)
        if certain and before is not None:
            self._keep(identity, before)

    def lost(self, identity: Identity) -> None:
        """A write that was begun deleted the item, or nobody knows what it did."""
        self._land(identity)

    def required(
        self, query: Query, shards: Iterable[str], *, before_s: float, last: SortValue | None
    ) -> Iterator[Identity]:
        """The items that a read which began at `before_s` must have found in the shards.

        `last`: how far a limit let the read go; what has the same sort value may lie on either side.
        """
        for shard in shards:
            kept = self._places.get((query.table, query.index, shard))
            for value, identity in self._ordered(kept, query) if kept is not None else ():
                if last is not None and (value <= last if query.descending else value >= last):
                    break
                if self._items[identity].acknowledged_s <= before_s:
                    yield identity

    def acknowledged_s(self, identity: Identity) -> float | None:
        """When the last write of the item was acknowledged; None where that is not known."""
        known = self._items.get(identity)
        return known.acknowledged_s if known else None

    def _ordered(self, kept: SortedList, query: Query) -> Iterator[tuple[SortValue, Identity]]:
        if query.prefix is None:
            yield from reversed(kept) if query.descending else kept
            return
        after = query.prefix + "\0" if query.exact else _after(query.prefix)
        begin, end = kept.bisect_left((query.prefix,)), kept.bisect_left((after,))
        yield from kept.islice(begin, end, reverse=query.descending)

    def _keys_of(self, table: str, item: Item) -> Item:
        names = {name for _index, *keys in self._owners[table] for name in keys if name}
        return {name: item[name] for name in names if name in item}

    def _keep(self, identity: Identity, known: _Known) -> None:
        self._items[identity] = known
        for place, value in self._places_of(identity, known):
            self._places.setdefault(place, SortedList()).add((value, identity))
        if len(self._items) > self._most_items:
            self._forget(next(iter(self._items)))

    def _forget(self, identity: Identity) -> _Known | None:
        known = self._items.pop(identity, None)
        for place, value in self._places_of(identity, known) if known else ():
            kept = self._places[place]
            kept.remove((value, identity))
            if not kept:
                del self._places[place]
        return known

    def _land(self, identity: Identity) -> tuple[_Known | None, bool]:
        """One write less in flight: what was known before, and whether what it did is all that happened."""
        flight = self._flights[identity]
        flight.count -= 1
        if flight.count:
            return None, False
        del self._flights[identity]
        return flight.before, not flight.overlapped

    def _places_of(self, identity: Identity, known: _Known) -> Iterator[tuple[Place, SortValue]]:
        table = identity[0]
        for index, partition_key, sort_key in self._owners[table]:
            if partition_key in known.keys and (sort_key is None or sort_key in known.keys):
                (shard,) = known.keys[partition_key].values()
                yield (table, index, shard), sort_value(known.keys[sort_key]) if sort_key else NO_ORDER


def _owners(table: TableSpec) -> list[tuple[str | None, str, str | None]]:
    """The table and its indexes, each with its keys."""
    indexes = [(index.name, index.partition_key, index.sort_key) for index in table.indexes]
    return [(None, table.partition_key, table.sort_key), *indexes]


def _after(prefix: str) -> str:
    """The least text that is greater than everything that begins with the prefix."""
    head = prefix.rstrip(LAST)
    return head[:-1] + chr(ord(head[-1]) + 1) if head else LAST * limits.SORT_KEY_BYTES
