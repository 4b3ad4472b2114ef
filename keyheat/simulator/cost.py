"""What requests cost: puts by item size, reads by what they find; entries that writes put into indexes,
rewrite, or move."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING, Final

import numpy as np

from keyheat.model import limits
from keyheat.model.units import write_units
from keyheat.scenario.sizes import ItemSize, mean_units
from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.simulator.flow import IndexFlow
from keyheat.simulator.loadtest import IndexKey, RequestKind
from keyheat.simulator.masses import Floats, Masses, even_masses

if TYPE_CHECKING:
    from keyheat.simulator.setting import TrafficSetting

SMALL_ITEM = write_units(0, 1)  # keys and a number or two: one write unit
Sizes = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCost:
    """A query's pages and units, as functions of how many items match it."""

    item_bytes: float
    limit: float = np.inf
    consistent: bool = False
    first_page: bool = False  # the reader does not follow further pages

    def items(self, matching: Floats) -> Floats:
        """Items that are read."""
        most = max(1.0, limits.PAGE_BYTES // self.item_bytes) if self.first_page else np.inf
        return np.minimum(matching, min(self.limit, most))

    def pages(self, matching: Floats) -> Floats:
        """Requests: a page ends at 1 MB."""
        if self.first_page:
            return np.ones_like(matching)
        return 1.0 + np.floor(self.items(matching) * self.item_bytes / limits.PAGE_BYTES)

    def units(self, matching: Floats) -> Floats:
        """Read units of all pages: of each, the bytes rounded up to 4 KB, and at least one of those."""
        pages = self.pages(matching)
        of_page = np.ceil(self.items(matching) * self.item_bytes / pages / limits.READ_UNIT_BYTES)
        whole = pages * np.maximum(of_page, 1.0)
        return whole if self.consistent else whole * limits.EVENTUAL_READ_FACTOR


def put_units(table: TableSpec, size: ItemSize, there: float = 0.0) -> float:
    """Units of the table for a put of an item of this size, the entries of its local indexes among them.

    `there` is how probably it replaces an item.
    """
    item = item_units(size)
    if there:
        item += there * (replacing_units(size) - item)
    return item + fsum(entry_units(index, size) for index in table.indexes if index.local)


def item_units(size: ItemSize) -> float:
    """Write units of a new item, in the mean."""
    return mean_units(size, limits.WRITE_UNIT_BYTES)


def entry_units(index: IndexSpec, size: ItemSize) -> float:
    """Units of one entry of an index, put or deleted."""
    return item_units(size) if index.projection == "ALL" else SMALL_ITEM


def grown_units(size: ItemSize, more_bytes: int) -> float:
    """Write units of an item that an update has made so much larger."""
    steps = range(-(-(size.most + more_bytes) // limits.WRITE_UNIT_BYTES))
    return fsum(size.above(step * limits.WRITE_UNIT_BYTES - more_bytes) for step in steps)


def write_sizes(size: ItemSize, there: float = 0.0) -> Sizes:
    """The write units of puts of each size; `there` is how probably one replaces an item."""
    return sizes_in(size, limits.WRITE_UNIT_BYTES, 1.0, round(there, 2))


def put_sizes(table: TableSpec, size: ItemSize, there: float = 0.0) -> Sizes:
    """What puts of each size cost, the entries of local indexes among them."""
    local, sizes = put_units(table, size) - item_units(size), write_sizes(size, there)
    return tuple((units + local, share) for units, share in sizes) if local else sizes


@lru_cache(maxsize=64)
def sizes_in(size: ItemSize, unit_bytes: int, factor: float, there: float) -> Sizes:
    """(units, part of the items) of each size; nothing where all cost the same."""
    up_to = [(1 - there) * share + there * share**2 for share in _up_to(size, unit_bytes)]
    parts = [share - before for share, before in zip(up_to, [0.0, *up_to], strict=False)]
    sizes = tuple((step * factor, share) for step, share in enumerate(parts, 1) if share > 0)
    return sizes if len(sizes) > 1 else ()


@lru_cache(maxsize=64)
def _up_to(size: ItemSize, unit_bytes: int) -> tuple[float, ...]:
    """The part of the items that cost one unit, up to two, up to three ..."""
    return tuple(1 - size.above(step * unit_bytes) for step in range(1, -(-size.most // unit_bytes) + 1))


@lru_cache(maxsize=64)
def replacing_units(size: ItemSize) -> float:
    """Write units of an item that replaces one: those of the larger of the two."""
    return fsum(1 - share**2 for share in (0.0, *_up_to(size, limits.WRITE_UNIT_BYTES)[:-1]))


ENTRY_BYTES: Final = 100  # of an index that does not hold the whole item: the keys of both


def entries(
    setting: "TrafficSetting",
    keys: Masses,
    size: ItemSize,
    there: float = 0.0,
    attributes: Iterable[tuple[str, IndexKey]] = (),
) -> Iterator[IndexFlow]:
    """The entries of one put in each global index; `attributes` are index keys that the load test sets.

    Only items that have the key of an index make an entry in it.
    """
    of = dict(attributes)
    for index in setting.table.indexes:
        attribute = of.get(index.partition_key)
        share = attribute.present if attribute else 1.0
        if share and not index.local and index.enters_items:
            writes = 1.0 + there  # a moved entry is deleted first, an unchanged one costs nothing
            if (index.partition_key, index.sort_key) == (setting.table.partition_key, setting.table.sort_key):
                writes = 1.0 - there if size.least == size.most else 1.0
            yield IndexFlow(
                index=index.name,
                units=entry_units(index, size) * writes * share,
                keys=placed(setting, attribute) if attribute else _index_keys(setting, index, keys),
            )


def _index_keys(setting: "TrafficSetting", index: IndexSpec, keys: Masses) -> Masses:
    name, table = index.partition_key, setting.table
    if name == table.sort_key and name != table.partition_key:
        return setting.once("new values", even_masses)
    copied = name == table.partition_key or setting.scenario.attribute_values[name].copy_of is not None
    return setting.placed(
        keys if copied else setting.values_of(name), "random" if index.sort_key else "point"
    )


def moved(setting: "TrafficSetting", kind: RequestKind, keys: Masses, there: float) -> Iterator[IndexFlow]:
    """Entries whose keys an update changes are deleted and put anew; whole ones are rewritten.

    Entries whose keys it removes are deleted.
    """
    touched = {name: placed(setting, each) for name, each in kind.attributes}
    removed = dict(kind.removed)
    moving, indexes = set(), setting.table.indexes
    for index in indexes:
        by = {index.partition_key, index.sort_key}
        if index.local or not by & (touched.keys() | removed.keys()):
            continue
        moving.add(index.name)
        units = own_units(kind) if is_whole(index) else SMALL_ITEM
        if gone := [each for name, each in kind.removed if name in by]:
            head = removed.get(index.partition_key)
            yield IndexFlow(
                index=index.name,
                units=units * max(each.present for each in gone),
                keys=placed(setting, head) if head else _index_keys(setting, index, keys),
            )
            continue
        yield IndexFlow(
            index=index.name, units=units * (1 + there), keys=touched.get(index.partition_key, keys)
        )
    if kind.key.written:
        stay = {index.name for index in indexes if is_whole(index)} - moving
        size = setting.load.item_size()
        yield from (entry for entry in entries(setting, keys, size) if entry.index in stay)


def placed(setting: "TrafficSetting", attribute: IndexKey) -> Masses:
    """The keys of an index that a load test sets."""
    return setting.placed(setting.keys_of(attribute.key), attribute.within)


def owner_of(setting: "TrafficSetting", kind: RequestKind) -> TableSpec | IndexSpec:
    """The table or index that a request reads."""
    table = setting.table
    return next((index for index in table.indexes if index.name == kind.index), table)


def is_single(setting: "TrafficSetting", kind: RequestKind) -> bool:
    """Whether a partition key of what is read has one item at most."""
    owner = owner_of(setting, kind)
    return (owner.partition_key, owner.sort_key) == (setting.table.partition_key, None)


def item_bytes_of(setting: "TrafficSetting", kind: RequestKind) -> float:
    """The mean size of an item that a read finds."""
    owner, whole = owner_of(setting, kind), setting.load.mean_item_bytes
    return whole if owner is setting.table or is_whole(owner) else min(ENTRY_BYTES, whole)


def is_whole(owner: TableSpec | IndexSpec) -> bool:
    """Whether entries of an index hold the whole item."""
    return isinstance(owner, IndexSpec) and owner.projection == "ALL"


def own_units(kind: RequestKind) -> float:
    """Write units of an item whose size is not the scenario's."""
    return write_units(0, round(kind.own_bytes or 1))
