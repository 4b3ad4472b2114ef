"""The entries that writes put into global indexes, rewrite, or move."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from keyheat.model.units import write_units
from keyheat.scenario.sizes import FixedSize, ItemSize
from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.simulator.dryrun.requests import IndexKey, RequestKind
from keyheat.simulator.flow import IndexFlow
from keyheat.simulator.masses import Masses, even_masses
from keyheat.simulator.traffic.cost import SMALL_ITEM, entry_units
from keyheat.simulator.traffic.keys import masses_of_law

if TYPE_CHECKING:
    from keyheat.simulator.traffic.setting import TrafficSetting

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
            yield IndexFlow(
                index=index.name,
                units=entry_units(index, size) * _writes(setting, index, size, there) * share,
                keys=placed(setting, attribute) if attribute else _index_keys(setting, index, keys),
            )


def _writes(setting: "TrafficSetting", index: IndexSpec, size: ItemSize, there: float) -> float:
    """Index writes of one put: a moved entry is deleted first, an unchanged one costs nothing."""
    if (index.partition_key, index.sort_key) != (setting.table.partition_key, setting.table.sort_key):
        return 1.0 + there
    return 1.0 - there if isinstance(size, FixedSize) else 1.0


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
    return setting.placed(masses_of_law(setting, attribute.key), attribute.within)


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
