"""Puts and deletes of items, with the index entries that they make or remove."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from keyheat.model.units import write_units
from keyheat.scenario.sizes import FixedSize
from keyheat.scenario.spec.table import IndexSpec
from keyheat.simulator.flow import Answer, IndexFlow
from keyheat.simulator.masses import Masses, Within, even_masses, masses_of_shares
from keyheat.simulator.traffic.costs import Sizes, entry_units, put_units, write_sizes
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import Request
from keyheat.simulator.traffic.written import Written
from keyheat.words import Direction

INDEXED_VALUES: Final = 1_000  # of an attribute that only an index is keyed by, where no load test chooses it
CHOSEN_BY_NOBODY: Final[Mapping[str, Masses]] = MappingProxyType({})


def put(
    setting: Setting,
    keys: Masses,
    *,
    within: Within | None = None,
    chosen: Mapping[str, Masses] = CHOSEN_BY_NOBODY,
    also: Sequence[Written] = (),
    new: bool = False,
    alone: bool | None = None,
) -> Request:
    """A put of one item; `chosen` has the index keys that the load test chooses, by attribute.

    `also` is told how many items there are now, beside the keys themselves. Where the partition key `alone`
    names an item (absent: on a table without a sort key) it replaces the one that the key has, if it has one;
    a `new` item never does.
    """
    written = [setting.written(one) for one in (keys, *chosen.values())] + list(also)
    alone = setting.table.sort_key is None if alone is None else alone
    there = written[0].there(setting.coming) if alone and not new else 0.0
    return Request(
        operation="PutItem",
        direction=Direction.WRITE,
        keys=setting.placed(keys, within or setting.at_the_end),
        units=put_units(setting.table, setting.load, there),
        sizes=_sizes(setting, there),
        index_writes=entries(setting, keys, chosen, there),
        told=partial(_tell, written),
    )


def _sizes(setting: Setting, there: float) -> Sizes:
    """What puts of each size cost, the entries of local indexes among them."""
    own = put_units(setting.table, setting.load) - setting.load.mean_write_units
    return tuple((units + own, part) for units, part in write_sizes(setting.load, there))


def own_size(setting: Setting, item: Request, size_bytes: float) -> Request:
    """A put of an item whose size is not the scenario's: so many bytes in the mean."""
    whole = {one.name for one in setting.table.indexes if one.projection == "ALL"}
    share = write_units(0, round(size_bytes)) / setting.load.mean_write_units
    return replace(
        item,
        units=item.units * share,
        sizes=(),
        index_writes=tuple(
            replace(one, units=one.units * share) if one.index in whole else one for one in item.index_writes
        ),
    )


def delete(setting: Setting, keys: Masses) -> Request:
    """A delete of one item that is there, and of its index entries."""
    written = setting.written(keys)

    def told(answer: Answer) -> None:
        written.items -= answer.accepted

    return Request(
        operation="DeleteItem",
        direction=Direction.WRITE,
        keys=setting.placed(keys, "random" if setting.table.sort_key else "point"),
        units=put_units(setting.table, setting.load),
        sizes=_sizes(setting, 0.0),
        index_writes=entries(setting, keys, CHOSEN_BY_NOBODY),
        told=told,
    )


def _tell(written: Sequence[Written], answer: Answer) -> None:
    for one in written:
        one.told(answer)


def entries(
    setting: Setting, keys: Masses, chosen: Mapping[str, Masses], there: float = 0.0
) -> tuple[IndexFlow, ...]:
    """The entries of one put in each global index; one by a number, which items are put without, has none."""
    return tuple(
        IndexFlow(
            index=one.name,
            units=entry_units(one, setting.load) * _writes(setting, one, there),
            keys=_index_keys(setting, one, keys, chosen),
        )
        for one in setting.table.indexes
        if not one.local and one.enters_items
    )


def _writes(setting: Setting, index: IndexSpec, there: float) -> float:
    """Index writes of one put: an entry elsewhere is deleted first, one that stays as it is costs nothing."""
    own = (setting.table.partition_key, setting.table.sort_key)
    if (index.partition_key, index.sort_key) != own:
        return 1.0 + there
    return 1.0 - there if isinstance(setting.load.item_size(), FixedSize) else 1.0


def _index_keys(setting: Setting, index: IndexSpec, keys: Masses, chosen: Mapping[str, Masses]) -> Masses:
    name, own = index.partition_key, setting.table
    if name in chosen:
        return chosen[name]
    within: Within = "random" if index.sort_key else "point"
    if name == own.partition_key:
        return setting.placed(keys, within)
    if name == own.sort_key:
        return setting.once("new values", even_masses)
    return setting.placed(setting.once("random values", _random_values), within)


def _random_values() -> Masses:
    digits = len(str(INDEXED_VALUES - 1))
    return masses_of_shares({f"{value:0{digits}d}": 1.0 for value in range(INDEXED_VALUES)})
