"""The operations of load tests: puts and deletes with their index entries, reads, reads through a cache.

A key that is asked for λ times a second is read when its item has expired and it is asked for again, so every
ttl + 1 / λ seconds:

    reads per second of the table = λ / (1 + λ x ttl)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import fsum
from types import MappingProxyType
from typing import Final

import numpy as np

from keyheat.model.units import write_units
from keyheat.scenario.sizes import FixedSize
from keyheat.scenario.spec.part import CacheSpec
from keyheat.scenario.spec.tables import IndexSpec
from keyheat.simulator.flow import FlowAnswer, IndexFlow
from keyheat.simulator.masses import Floats, Masses, Within, even_masses, thinned
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
    within: Within | None = None,
    chosen: Mapping[str, Masses] = CHOSEN_BY_NOBODY,
    also: Sequence[Written] = (),
    new: bool = False,
    alone: bool | None = None,
) -> TaskRequest:
    """A put of one item; `chosen` has the index keys that the load test chooses, by attribute.

    `also` is told how many items there are now, beside the keys themselves. Where the partition key `alone`
    names an item (absent: on a table without a sort key) it replaces the one that the key has, if it has one;
    a `new` item never does.
    """
    written = [setting.written(one) for one in (keys, *chosen.values())] + list(also)
    alone = setting.table.sort_key is None if alone is None else alone
    there = written[0].there(setting.coming) if alone and not new else 0.0
    return TaskRequest(
        operation="PutItem",
        direction=Direction.WRITE,
        keys=setting.placed(keys, within or setting.at_the_end),
        units=put_units(setting.table, setting.load, there),
        sizes=_sizes(setting, there),
        index_writes=entries(setting, keys, chosen, there),
        told=partial(_tell, written),
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
    shards: int = 1,
    index: str | None = None,
) -> TaskRequest:
    """One read of a collection: a query for each of its shards, page by page.

    `keys` are those that are asked, a shard each; `of` says how many items they have, of which the query
    matches a `part`.
    """
    found = of or setting.written(keys)
    pages, units = found.means((cost.pages, cost.units), part, setting.coming)
    times = shards * pages
    return TaskRequest(
        operation="Query",
        direction=Direction.READ,
        keys=setting.placed(keys, "point"),
        units=units / pages,
        requests=times,
        eventual=not cost.consistent,
        index=index,
        told=lambda answer: count_reads(setting, answer, times),
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
        told=lambda answer: count_reads(setting, answer, 1.0),
    )


def count_reads(setting: TrafficSetting, answer: FlowAnswer, requests: float) -> None:
    """Count reads of so many requests each, not as reads that were checked: there are no items to check."""
    setting.counts["simulated.reads"] += answer.accepted / requests
    setting.counts["simulated.read_requests"] += answer.attempts
    setting.counts["simulated.read_units"] += answer.units


@dataclass(slots=True)
class ProcessCache:
    """The cache of one process."""

    spec: CacheSpec
    _asked: tuple[Masses, str] | None = field(default=None, init=False)
    _answer: tuple[float, Masses] = field(init=False)

    def missed(self, keys: Masses, reads_per_s: float) -> tuple[float, Masses]:
        """The part of the reads that reach the table, and which keys those are of."""
        asked = keys, f"{reads_per_s:.2g}"  # a rate that changes little is no other question
        if asked != self._asked:
            self._asked, self._answer = asked, _missed(keys, self.spec, reads_per_s)
        return self._answer


def _missed(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    """The cache is taken to hold the most used keys, as many as there is room for."""
    kept = np.zeros_like(keys.shares)
    kept[np.argsort(-keys.shares)[: spec.items]] = 1.0
    even_kept = min(1.0, max(0, spec.items - len(kept)) / keys.distinct)
    named = _hits(reads_per_s * keys.shares * spec.ttl_s)
    (even,) = _hits(np.array([reads_per_s * keys.even / keys.distinct * spec.ttl_s]))
    return thinned(keys, 1.0 - kept * named, 1.0 - even_kept * float(even))


def _hits(reads: Floats) -> Floats:
    """The part of the reads of a key that its item answers, of so many reads within its time to live."""
    return np.asarray(reads / (1 + reads))


Read = Callable[[Masses, float], TaskRequest]
"""A read of these keys, which finds its item with this probability."""


@dataclass(slots=True)
class Filling:
    """The reads of one task, and its puts of what they have not found."""

    setting: TrafficSetting
    through: bool  # a cache
    _cached: ProcessCache | None = field(init=False)
    _touched: Written = field(init=False)

    def __post_init__(self) -> None:
        spec = self.setting.scenario.cache
        self._cached = ProcessCache(spec) if self.through and spec is not None else None
        self._touched = Written(self.setting.keys)

    @property
    def touched(self) -> Written:
        """Which keys were read before: each read leaves an item, if there was none. Tomorrow's are others."""
        if self._touched.keys is not self.setting.keys:
            self._touched = Written(self.setting.keys)
        return self._touched

    def reads(self, each: Sequence[tuple[float, Read]]) -> tuple[list[TaskRequest], float]:
        """The reads that reach the table, each so many times, and how many a cache answers."""
        coming, touched = self.setting.coming, self.touched
        there, found = touched.found(coming)
        absent, missing = touched.missing(coming)
        reaching = there
        if self._cached is not None:
            # Only items that are there are kept: of the others every read is a miss.
            missed, asked = self._cached.missed(self.setting.keys, coming * there)
            of_missed, found = touched.found(coming, asked)
            reaching = missed * of_missed
        made = [
            self._counted(replace(one, requests=one.requests * times * sent), sent / due)
            for due, sent, keys, is_there in ((there, reaching, found, 1.0), (absent, absent, missing, 0.0))
            if sent
            for times, read in each
            for one in (read(keys, is_there),)
        ]
        return made, (there - reaching) * fsum(times for times, _read in each)

    def put(self, times: float, item: Callable[[Masses], TaskRequest]) -> TaskRequest:
        """The puts of what so many reads have not found."""
        absent, keys = self.touched.missing(self.setting.coming)
        return replace(item(keys), requests=times * absent)

    def _counted(self, read: TaskRequest, part: float) -> TaskRequest:
        """The reads that a cache lets through: for each of them, so many others were answered by it."""
        counts, found = self.setting.counts, self.touched

        def told(answer: FlowAnswer) -> None:
            read.told(answer)
            reads = answer.attempts / part
            found.items += reads
            if self._cached is not None:
                counts["cache.hits"] += reads - answer.attempts
                counts["cache.misses"] += answer.attempts
                counts["cache.units_saved"] += (reads - answer.attempts) * read.units

        return replace(read, told=told)
