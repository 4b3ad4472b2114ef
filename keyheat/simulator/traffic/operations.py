"""The operations of load tests: puts and deletes with their index entries, and reads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from keyheat.model.units import write_units
from keyheat.scenario.sizes import FixedSize
from keyheat.scenario.spec.tables import IndexSpec
from keyheat.simulator.flow import FlowAnswer, IndexFlow
from keyheat.simulator.masses import Masses, Within, even_masses
from keyheat.simulator.traffic.setting import TrafficSetting, Written
from keyheat.simulator.traffic.users import (
    QueryCost,
    Sizes,
    TaskRequest,
    entry_units,
    put_units,
    read_sizes,
    write_sizes,
)
from keyheat.words import Direction

CHOSEN_BY_NOBODY: Final[Mapping[str, Masses]] = MappingProxyType({})


def put(
    setting: TrafficSetting,
    keys: Masses,
    *,
    within: Within,
    chosen: Mapping[str, Masses],
    also: Sequence[Written],
    new: bool,
    alone: bool,
) -> TaskRequest:
    """A put of one item; `chosen` has the index keys that the load test chooses, by attribute.

    `also` counts its items as well. Where the partition key `alone` names an item, a put replaces the one of
    its key, if any; a `new` item never does.
    """
    written = setting.written(keys)
    there = written.there(setting.coming) if alone and not new else 0.0
    index_writes = entries(setting, keys, chosen, there)
    lists = [written, *also, *(setting.written(one.keys) for one in index_writes)]
    return TaskRequest(
        operation="PutItem",
        direction=Direction.WRITE,
        keys=setting.placed(keys, within),
        units=put_units(setting.table, setting.load, there),
        sizes=_sizes(setting, there),
        index_writes=index_writes,
        told=partial(_tell, list({id(one): one for one in lists}.values())),
    )


def _sizes(setting: TrafficSetting, there: float) -> Sizes:
    """What puts of each size cost, the entries of local indexes among them."""
    own = put_units(setting.table, setting.load) - setting.load.mean_write_units
    sizes = write_sizes(setting.load, there)
    return tuple((units + own, part) for units, part in sizes) if own else sizes


def own_size(setting: TrafficSetting, item: TaskRequest, size_bytes: float) -> TaskRequest:
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


def delete(setting: TrafficSetting, keys: Masses) -> TaskRequest:
    """A delete of one item that is there, and of its index entries."""
    written = setting.written(keys)

    def told(answer: FlowAnswer) -> None:
        written.items -= answer.accepted

    return TaskRequest(
        operation="DeleteItem",
        direction=Direction.WRITE,
        keys=setting.placed(keys, "random" if setting.table.sort_key else "point"),
        units=put_units(setting.table, setting.load),
        sizes=_sizes(setting, 0.0),
        index_writes=entries(setting, keys, CHOSEN_BY_NOBODY),
        told=told,
    )


def _tell(written: Sequence[Written], answer: FlowAnswer) -> None:
    for one in written:
        one.told(answer)


def entries(
    setting: TrafficSetting, keys: Masses, chosen: Mapping[str, Masses], there: float = 0.0
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


def _writes(setting: TrafficSetting, index: IndexSpec, there: float) -> float:
    """Index writes of one put: an entry elsewhere is deleted first, one that stays as it is costs nothing."""
    own = (setting.table.partition_key, setting.table.sort_key)
    if (index.partition_key, index.sort_key) != own:
        return 1.0 + there
    return 1.0 - there if isinstance(setting.load.item_size(), FixedSize) else 1.0


def _index_keys(
    setting: TrafficSetting, index: IndexSpec, keys: Masses, chosen: Mapping[str, Masses]
) -> Masses:
    name, own = index.partition_key, setting.table
    if name in chosen:
        return chosen[name]
    within: Within = "random" if index.sort_key else "point"
    if name == own.partition_key:
        return setting.placed(keys, within)
    if name == own.sort_key:
        return setting.once("new values", even_masses)
    copied = setting.scenario.attribute_values[name].copy_of is not None
    return setting.placed(keys if copied else setting.values_of(name), within)


def query(
    setting: TrafficSetting,
    keys: Masses,
    cost: QueryCost,
    *,
    of: Written | None = None,
    part: float = 1.0,
    index: str | None = None,
) -> TaskRequest:
    """One read of a collection, page by page; of the items that `of` says there are, it matches a `part`."""
    found = of or setting.written(keys)
    pages, units = found.means((cost.pages, cost.units), part, setting.coming)
    return TaskRequest(
        operation="Query",
        direction=Direction.READ,
        keys=setting.placed(keys, "point"),
        units=units / pages,
        requests=pages,
        eventual=not cost.consistent,
        index=index,
    )


def get(setting: TrafficSetting, keys: Masses, *, there: float = 1.0, consistent: bool = True) -> TaskRequest:
    """One read of one item, which is there with this probability; else its price is the least one."""
    item, nothing = (
        setting.load.mean_read_units(consistent=consistent),
        1.0 if consistent else 0.5,
    )
    return TaskRequest(
        operation="GetItem",
        direction=Direction.READ,
        keys=setting.placed(keys, "point"),
        units=there * item + (1 - there) * nothing,
        sizes=read_sizes(setting.load, consistent=consistent) if there == 1.0 else (),
        eventual=not consistent,
    )


def count_reads(setting: TrafficSetting, requests: float, answer: FlowAnswer) -> None:
    """Count reads of so many requests each, not as reads that were checked: there are no items to check."""
    setting.counts["simulated.reads"] += answer.accepted / requests
    setting.counts["simulated.read_requests"] += answer.attempts
    setting.counts["simulated.read_units"] += answer.units
