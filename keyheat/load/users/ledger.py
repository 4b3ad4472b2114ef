"""What the writers of this process know to be in the tables: the truth that reads are checked against.

An item is certain to be where every write that may have been its last one puts it. While a write is in flight
that is where it was before and will be after; once it is acknowledged, where it put it. The items written
longest ago are forgotten first, so that memory is bounded; what is forgotten is not checked.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter

from keyheat.load.users.collections import NO_ORDER, Item, Query, SortValue
from keyheat.load.users.places import Identity, Places, Spot
from keyheat.scenario.spec.tables import TableSpec
from keyheat.sharding.reader import sort_value

MOST_ITEMS = 50_000  # about 70 MB, and 25 more for each index


@dataclass(slots=True)
class _Known:
    """An item as its last write left it."""

    keys: Item  # its key attributes, those of indexes too where they are known
    since_s: dict[Spot, float]  # where it certainly is, and since when
    acknowledged_s: float


@dataclass(slots=True)
class _Flight:
    """Writes of one item that are in flight together: nobody knows which of them comes last."""

    before: _Known | None
    count: int = 0
    overlapped: bool = False
    applied: bool = False
    certain: set[Spot] | None = None  # common to all writes that were applied, or may have been
    keys: Item = field(default_factory=dict)


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
        self._flights: dict[Identity, _Flight] = {}

    def __len__(self) -> int:
        return len(self._items)

    def has(self, table: str) -> bool:
        """Whether this is a table of the scenario."""
        return table in self._owners

    def identity(self, table: str, item: Item) -> Identity:
        """Which item it is, by the table's own keys."""
        _index, partition_key, sort_key = self._owners[table][0]
        names = (partition_key, sort_key) if sort_key else (partition_key,)
        return (table, *(next(iter(item[name].values())) for name in names))

    def begin(self, identity: Identity, after: Item | None) -> None:
        """A write is about to be sent that leaves `after` of the item, as far as is known; None: nothing."""
        known, flight = self._items.get(identity), self._flights.get(identity)
        if flight is None:
            before = _Known(known.keys, dict(known.since_s), known.acknowledged_s) if known else None
            flight = self._flights[identity] = _Flight(before)
        flight.overlapped |= flight.count > 0
        flight.count += 1
        if known is not None:
            for spot in known.since_s.keys() - self._spots(identity, after):
                self._places.remove(spot, identity)
                del known.since_s[spot]

    def applied(self, identity: Identity, after: Item | None) -> None:
        """A write that was begun is acknowledged."""
        self._flights[identity].applied = True
        self._land(identity, after)

    def updated(self, identity: Identity, changes: Item) -> None:
        """An update that was begun is acknowledged; of its keys, the item changed those among `changes`."""
        flight = self._flights[identity]
        alone = flight.before is not None and not flight.overlapped
        self.applied(identity, {**flight.before.keys, **changes} if alone else changes)  # type: ignore[union-attr]

    def unknown(self, identity: Identity, after: Item | None) -> None:
        """Nobody knows whether a write that was begun was applied."""
        self._land(identity, after)

    def refused(self, identity: Identity) -> None:
        """A write that was begun changed nothing."""
        self._landed(identity)

    def required(
        self, query: Query, shards: Iterable[str], *, before_s: float, last: SortValue | None
    ) -> Iterator[Identity]:
        """The items that have been where a read of the shards finds them since `before_s` at least.

        `last`: how far a limit let the read go; what has the same sort value may lie on either side.
        """
        for shard in shards:
            place = (query.table, query.index, query.name(shard))
            for value, identity in self._places.ordered(place, query):
                if last is not None and (value <= last if query.descending else value >= last):
                    break
                if self._items[identity].since_s[place, value] <= before_s:
                    yield identity

    def certain(self, identity: Identity) -> Mapping[Spot, float]:
        """Where an item certainly is, and since when."""
        known = self._items.get(identity)
        return known.since_s if known else {}

    def acknowledged_s(self, identity: Identity) -> float | None:
        """When the last write of the item was acknowledged; None where that is not known."""
        known = self._items.get(identity)
        return known.acknowledged_s if known else None

    def _land(self, identity: Identity, after: Item | None) -> None:
        flight, spots = self._flights[identity], self._spots(identity, after)
        flight.certain = spots if flight.certain is None else flight.certain & spots
        flight.keys = self._keys_of(identity[0], after or {})
        self._landed(identity)

    def _landed(self, identity: Identity) -> None:
        """One write less in flight; after the last one it is settled where the item is."""
        flight = self._flights[identity]
        flight.count -= 1
        if flight.count:
            return
        del self._flights[identity]
        kept = self._forget(identity)
        since_s = kept.since_s if kept else {}
        if not flight.applied and flight.before is not None:  # it may be as it was before
            since_s = flight.before.since_s
        certain = since_s.keys() if flight.certain is None else flight.certain
        if not flight.applied:
            certain &= since_s.keys()
        if certain:
            self._keep(identity, self._settled(flight, {spot: since_s.get(spot) for spot in certain}))

    def _settled(self, flight: _Flight, since_s: dict[Spot, float | None]) -> _Known:
        """What is known of an item after its last write has landed; new places have no time yet."""
        now_s, before = self._now(), flight.before
        keys: Item = {}  # not known where writes overlapped, or one of them was lost
        if flight.applied and not flight.overlapped:
            keys = flight.keys
        elif flight.certain is None and before is not None:
            keys = before.keys
        return _Known(
            keys=keys,
            since_s={spot: now_s if at_s is None else at_s for spot, at_s in since_s.items()},
            acknowledged_s=now_s if flight.applied or before is None else before.acknowledged_s,
        )

    def _keys_of(self, table: str, item: Item) -> Item:
        names = {name for _index, *keys in self._owners[table] for name in keys if name}
        return {name: item[name] for name in names if name in item}

    def _keep(self, identity: Identity, known: _Known) -> None:
        self._items[identity] = known
        for spot in known.since_s:
            self._places.add(spot, identity)
        if len(self._items) > self._most_items:
            self._forget(next(iter(self._items)))

    def _forget(self, identity: Identity) -> _Known | None:
        known = self._items.pop(identity, None)
        for spot in known.since_s if known else ():
            self._places.remove(spot, identity)
        return known

    def _spots(self, identity: Identity, item: Item | None) -> set[Spot]:
        """Where an item with these attributes is, as far as they say."""
        found: set[Spot] = set()
        for index, partition_key, sort_key in self._owners[identity[0]] if item else ():
            if partition_key in item and (sort_key is None or sort_key in item):  # type: ignore[operator]
                (shard,) = item[partition_key].values()  # type: ignore[index]
                value = sort_value(item[sort_key]) if sort_key else NO_ORDER  # type: ignore[index]
                found.add(((identity[0], index, shard), value))
        return found


def _owners(table: TableSpec) -> list[tuple[str | None, str, str | None]]:
    """The table and its indexes, each with its keys."""
    indexes = [(index.name, index.partition_key, index.sort_key) for index in table.indexes]
    return [(None, table.partition_key, table.sort_key), *indexes]
