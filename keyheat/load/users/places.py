"""Where items are: the partition keys of tables and indexes, each with its items in order of the sort key."""

from collections.abc import Iterable

from sortedcontainers import SortedList

from keyheat.load.users.collections import Query, SortValue
from keyheat.model import limits
from keyheat.scenario.spec.tables import TableSpec

LAST = "\U0010ffff"  # no character comes after it

Identity = tuple[str, ...]  # an item: its table, and the values of its keys
Place = tuple[str, str | None, str]  # a table, one of its indexes or none, and a partition key in it
Spot = tuple[Place, SortValue]


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


class Places:
    """Items by the partition key that they are found under."""

    def __init__(self) -> None:
        self._items: dict[Place, SortedList] = {}

    def add(self, spot: Spot, identity: Identity) -> None:
        """An item is there now."""
        place, value = spot
        self._items.setdefault(place, SortedList()).add((value, identity))

    def remove(self, spot: Spot, identity: Identity) -> None:
        """An item is not there any more, or not for certain."""
        place, value = spot
        self._items[place].remove((value, identity))
        if not self._items[place]:
            del self._items[place]

    def ordered(self, place: Place, query: Query) -> Iterable[tuple[SortValue, Identity]]:
        """What the query asks of one place, in the query's order."""
        kept = self._items.get(place)
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
        found: Iterable[tuple[SortValue, Identity]] = kept.islice(begin, end, reverse=query.descending)
        return found


def _after(prefix: str) -> str:
    """The least text that is greater than everything that begins with the prefix."""
    head = prefix.rstrip(LAST)
    return head[:-1] + chr(ord(head[-1]) + 1) if head else LAST * limits.SORT_KEY_BYTES
