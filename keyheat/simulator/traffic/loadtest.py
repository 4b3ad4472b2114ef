"""A load test, second by second: its kinds of requests at the prices of by then.

LoadTest (plain values) --of this second--> Users, their UserTasks, and TaskRequests on keys
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from math import fsum
from typing import Final

from keyheat.model import limits
from keyheat.model.units import write_units
from keyheat.simulator.dryrun.requests import (
    PATTERN,
    IndexKey,
    KeyLaw,
    LoadTest,
    Prefix,
    RequestKind,
    Task,
    UserClass,
)
from keyheat.simulator.flow import FlowAnswer, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.cache import missed
from keyheat.simulator.traffic.keys import masses_of_law
from keyheat.simulator.traffic.operations import count_reads, delete, entries, get, own_size, put, query
from keyheat.simulator.traffic.setting import TrafficSetting, Written
from keyheat.simulator.traffic.users import (
    SMALL_ITEM,
    QueryCost,
    TaskRequest,
    Users,
    UserTask,
    grown_units,
    ignore,
    replacing_units,
    write_sizes,
)
from keyheat.words import Direction

ENTRY_BYTES: Final = 100  # of an index that does not hold the whole item: the keys of both
READS: Final = ("get", "query")


def users_of(setting: TrafficSetting, loadtest: LoadTest) -> Callable[[], list[Users]]:
    """What the users of a load test send in this second."""
    setting.begin(0.0)
    kinds = (kind for user in loadtest.users for task in user.tasks for kind in task.kinds)
    puts = (kind for kind in kinds if kind.what == "put" and kind.table is None and not kind.key.written)
    put_first = next(puts, None)
    classes = [_Class(setting, user, put_first.key if put_first else PATTERN) for user in loadtest.users]
    return lambda: [one.users() for one in classes]


@dataclass(slots=True)
class _Class:
    """The users of one class."""

    setting: TrafficSetting
    sampled: UserClass
    written: KeyLaw  # of the items that users write, and come back to
    _touched: Written = field(init=False)

    def __post_init__(self) -> None:
        self._touched = Written(self.setting.keys)

    def users(self) -> Users:
        """What they send in this second."""
        if self._touched.keys is not self.setting.keys:  # tomorrow's are others
            self._touched = Written(self.setting.keys)
        tasks = [made for task in self.sampled.tasks if (made := self._task(task)).requests]
        return Users(tasks, fixed_count=self.sampled.fixed_count, weight=self.sampled.weight)

    def _task(self, task: Task) -> UserTask:
        kinds = [kind for one in task.kinds if (kind := self._now(one)).times > 0]
        cached = self.sampled.cached and self.setting.scenario.cache is not None
        if not cached and not any(kind.if_missing for kind in kinds):
            return UserTask(list(self._all(kinds)), task.weight)
        reads = [kind for kind in kinds if kind.what in READS and kind.key == PATTERN]
        requests, spared = self._filling(reads)
        absent, keys = self._touched.missing(self.setting.coming)
        times = absent * fsum(kind.times for kind in reads)
        puts = [replace(self._put(kind, keys, new=True), requests=times) for kind in kinds if kind.if_missing]
        rest = self._all(kind for kind in kinds if kind not in reads and not kind.if_missing)
        return UserTask((*requests, *puts, *rest), task.weight, spared)

    def _now(self, kind: RequestKind) -> RequestKind:
        """The kind as often as it is sent in this second: it may begin or end in it."""
        at_s = self.setting.at_s
        until_s = at_s + 1.0 if kind.until_s is None else min(at_s + 1.0, kind.until_s)
        part = max(0.0, until_s - max(at_s, kind.from_s))
        return kind if part == 1.0 else replace(kind, times=kind.times * part)

    def _filling(self, reads: Sequence[RequestKind]) -> tuple[list[TaskRequest], float]:
        """Reads that leave an item where there was none; and how many of them a cache answers."""
        coming, touched, cache = self.setting.coming, self._touched, self.setting.scenario.cache
        there, found = touched.found(coming)
        absent, missing = touched.missing(coming)
        reaching = there
        if cache is not None and self.sampled.cached:  # of keys without an item every read is a miss
            part, asked = missed(self.setting.keys, cache, coming * there)
            of_part, found = touched.found(coming, asked)
            reaching = part * of_part
        requests = [
            self._counted(self._read(kind, keys, is_there, of=touched), kind.times * sent, sent / due)
            for due, sent, keys, is_there in ((there, reaching, found, 1.0), (absent, absent, missing, 0.0))
            if sent
            for kind in reads
        ]
        return requests, (there - reaching) * fsum(kind.times for kind in reads)

    def _counted(self, read: TaskRequest, times: float, part: float) -> TaskRequest:
        """Reads of which so large a part reaches the table: a cache answers the others."""
        counts, touched = self.setting.counts, self._touched
        cached = self.sampled.cached and self.setting.scenario.cache is not None

        def told(answer: FlowAnswer) -> None:
            read.told(answer)
            reads = answer.attempts / part
            touched.items += reads
            if cached:
                counts["cache.hits"] += reads - answer.attempts
                counts["cache.misses"] += answer.attempts
                counts["cache.units_saved"] += (reads - answer.attempts) * read.units

        return replace(read, requests=read.requests * times, told=told)

    def _all(self, kinds: Iterable[RequestKind]) -> Iterator[TaskRequest]:
        """The requests: each kind by itself, but those of one transaction on the same keys."""

        def name(kind: RequestKind) -> tuple[object, ...]:
            if not kind.together:
                return (id(kind),)
            return kind.operation, kind.table, id(self._keys(kind).points)

        for _name, group in groupby(kinds, name):
            yield from self._requests(list(group))

    def _requests(self, kinds: Sequence[RequestKind]) -> list[TaskRequest]:
        first = kinds[0]
        if first.together:
            return [self._transaction(kinds)]
        made = [
            one if first.times == 1.0 else replace(one, requests=one.requests * first.times)
            for one in self._of(first)
        ]
        return [self._batch(first, one) for one in made] if first.operation.startswith("Batch") else made

    def _of(self, kind: RequestKind) -> list[TaskRequest]:
        """One item of a kind; two requests where it may be there, or not, or a condition hold, or fail."""
        keys = self._keys(kind)
        if kind.what in READS:
            return self._reads(kind, keys)
        if kind.table is not None:
            return [self._elsewhere(kind, keys)]
        if kind.what == "put":
            return self._puts(kind, keys)
        return [delete(self.setting, keys) if kind.what == "delete" else self._update(kind, keys)]

    def _keys(self, kind: RequestKind) -> Masses:
        return masses_of_law(self.setting, self.written if kind.key.written else kind.key)

    def _reads(self, kind: RequestKind, keys: Masses) -> list[TaskRequest]:
        """A read; two where some keys have an item by now, and others have none: each has its price."""
        if not (self._single(kind) if kind.what == "query" else _may_be_there(kind)):
            return [self._read(kind, keys, kind.found)]
        written, coming = self.setting.written(keys), self.setting.coming
        parts = (1.0, written.found(coming)), (0.0, written.missing(coming))
        return [
            replace(self._read(kind, asked, there), requests=part) for there, (part, asked) in parts if part
        ]

    def _read(self, kind: RequestKind, keys: Masses, there: float, of: Written | None = None) -> TaskRequest:
        """One read, which finds its item with this probability; a query's `requests` are its pages.

        `of` says what was written, where it is not what puts on these keys were.
        """
        if kind.what == "query" and not self._single(kind):
            request = self._query(kind, keys, of)
        else:
            # A small entry costs what nothing does.
            there = 0.0 if self._found_bytes(kind) <= ENTRY_BYTES else there
            request = get(self.setting, keys, there=there, consistent=kind.consistent)
            request = replace(request, operation=kind.operation, index=kind.index)
        if not kind.reads:
            return replace(request, told=ignore)
        of_each = kind.times / kind.reads * request.requests
        return replace(request, told=partial(count_reads, self.setting, of_each))

    def _query(self, kind: RequestKind, keys: Masses, of: Written | None) -> TaskRequest:
        setting, prefix = self.setting, kind.prefix or Prefix()
        part = prefix.part
        if prefix.window_s is not None:
            part = prefix.window_s / setting.at_s if setting.at_s > prefix.ago_s else 0.0
        cost = QueryCost(
            item_bytes=self._found_bytes(kind),
            limit=kind.limit or float("inf"),
            consistent=kind.consistent,
            first_page=not kind.reads,  # only a read of a whole collection follows its pages
        )
        found = of or setting.written(setting.keys if prefix.of_drawn_key else keys)
        return query(setting, keys, cost, of=found, part=part, index=kind.index)

    def _single(self, kind: RequestKind) -> bool:
        """Whether a partition key has one item at the most."""
        table = self.setting.table
        owner = next((one for one in table.indexes if one.name == kind.index), table)
        return (owner.partition_key, owner.sort_key) == (table.partition_key, None)

    def _found_bytes(self, kind: RequestKind) -> float:
        index = next((one for one in self.setting.table.indexes if one.name == kind.index), None)
        whole = self.setting.load.mean_item_bytes
        return whole if index is None or index.projection == "ALL" else min(ENTRY_BYTES, whole)

    def _puts(self, kind: RequestKind, keys: Masses) -> list[TaskRequest]:
        if not kind.if_absent:
            return [self._put(kind, keys)]
        taken = 1.0 if kind.key.written else 0.0
        if kind.alone and not kind.key.written:
            taken = self.setting.written(keys).there(self.setting.coming)
        accepted = replace(self._put(kind, keys, new=True), requests=1 - taken)
        return [one for one in (accepted, self._failing(kind, keys, taken)) if one.requests]

    def _put(self, kind: RequestKind, keys: Masses, *, new: bool = False) -> TaskRequest:
        """A put, with the entries of indexes whose keys it chooses."""
        setting = self.setting
        chosen = {name: self._placed(one) for name, one in kind.attributes if one.present}
        by_key = setting.written(setting.keys)
        sorts = any(one.of_drawn_key for _name, one in kind.attributes)
        also = sorts and by_key is not setting.written(keys) and by_key.keys not in chosen.values()
        made = put(
            setting, keys, within=kind.within, chosen=chosen, also=(by_key,) if also else (), new=new,
            alone=kind.alone,
        )  # fmt: skip
        if made.index_writes:
            made = replace(made, index_writes=tuple(_present(made.index_writes, kind, setting)))
        return made if kind.own_bytes is None else own_size(setting, made, kind.own_bytes)

    def _placed(self, attribute: IndexKey) -> Masses:
        return self.setting.placed(masses_of_law(self.setting, attribute.key), attribute.within)

    def _failing(self, kind: RequestKind, keys: Masses, times: float) -> TaskRequest:
        """A put on a key that has an item: it costs what replacing it would, and no index entries."""
        setting = self.setting

        def told(answer: FlowAnswer) -> None:
            if kind.alone and not kind.key.written:
                setting.written(keys).told(answer)
            setting.counts["conditions.failed"] += answer.accepted
            setting.counts["conditions.failed_units"] += answer.units

        own = kind.own_bytes
        return TaskRequest(
            operation=kind.operation,
            direction=Direction.WRITE,
            keys=setting.placed(keys, setting.at_the_end),
            units=replacing_units(setting.load) if own is None else write_units(0, round(own)),
            sizes=write_sizes(setting.load, there=1.0) if own is None else (),
            requests=times,
            told=told,
        )

    def _elsewhere(self, kind: RequestKind, keys: Masses) -> TaskRequest:
        """A write to a companion: its indexes are its own."""
        load = self.setting.load
        return TaskRequest(
            operation=kind.operation,
            direction=Direction.WRITE,
            keys=self.setting.placed(keys, kind.within),
            units=load.mean_write_units if kind.own_bytes is None else write_units(0, round(kind.own_bytes)),
            table=kind.table,
        )

    def _update(self, kind: RequestKind, keys: Masses) -> TaskRequest:
        """An update in place: of the scenario's items, which it makes larger, or of its own."""
        setting, written, old = self.setting, self.setting.written(keys), kind.key.written
        there = 1.0 if old else written.there(setting.coming) if kind.alone else kind.found
        return TaskRequest(
            operation=kind.operation,
            direction=Direction.WRITE,
            keys=setting.placed(keys, kind.within),
            units=(old and grown_units(setting.load, kind.more_bytes)) or _own_units(kind),
            index_writes=tuple(self._moved(kind, keys, there)),
            told=ignore if old else written.told,
        )

    def _moved(self, kind: RequestKind, keys: Masses, there: float) -> Iterator[IndexFlow]:
        """Entries whose keys change are deleted where they were and put where they belong; others that hold
        the whole item are written again."""
        touched = {name: self._placed(one) for name, one in kind.attributes}
        whole = {one.name for one in self.setting.table.indexes if one.projection == "ALL"}
        moving = set()
        for index in self.setting.table.indexes:
            if index.local or not {index.partition_key, index.sort_key} & touched.keys():
                continue
            moving.add(index.name)
            units = _own_units(kind) if index.name in whole else SMALL_ITEM
            moved = touched.get(index.partition_key, keys)
            yield IndexFlow(index=index.name, units=units * (1 + there), keys=moved)
        if kind.key.written:
            yield from (one for one in entries(self.setting, keys, {}) if one.index in whole - moving)

    def _batch(self, kind: RequestKind, item: TaskRequest) -> TaskRequest:
        """Many items of one request, which are admitted one by one."""

        def told(answer: FlowAnswer) -> None:
            item.told(answer)
            counts = self.setting.counts
            counts["batch.requests"] += 0 if kind.beside else answer.attempts / answer.flow.items
            counts["batch.items"] += answer.attempts
            counts["batch.unprocessed"] += answer.attempts - answer.accepted

        return replace(
            item,
            operation=kind.operation,
            requests=item.requests / kind.items,
            keys=self.setting.placed(item.keys, kind.within),
            items=round(kind.items),
            within=kind.beside,
            told=told,
        )

    def _transaction(self, kinds: Sequence[RequestKind]) -> TaskRequest:
        """Items that are done together: twice the units of all, and once those of their index entries."""
        made = [(kind, item) for kind in kinds for item in self._of(kind)]
        count = fsum(kind.items for kind in kinds)
        parts = [kind.items * item.requests / count for kind, item in made]
        entries_of = [
            replace(entry, units=entry.units * part)
            for (_kind, item), part in zip(made, parts, strict=True)
            for entry in item.index_writes
        ]
        more = fsum(kind.items * _adds(kind) for kind in kinds) / count
        written, (first, item) = self.setting.written(made[0][1].keys), made[0]

        def told(answer: FlowAnswer) -> None:
            written.items += answer.accepted * more
            begun = 0 if first.beside else answer.attempts / count
            self.setting.counts["transactions.requests"] += begun + answer.conflicts
            for what in ("cancelled", "conflicts") if answer.conflicts else ():
                self.setting.counts[f"transactions.{what}"] += answer.conflicts

        placed = {one.keys.within: one for _kind, one in made}
        factor = limits.TRANSACTION_FACTOR
        return replace(
            item,
            operation=first.operation,
            keys=self.setting.placed(self._keys(first), placed.get("rising", item).keys.within),
            units=factor * fsum(one.units * part for (_kind, one), part in zip(made, parts, strict=True)),
            sizes=tuple((factor * units, part) for units, part in item.sizes) if len(made) == 1 else (),
            index_writes=tuple(_summed(entries_of)),
            requests=first.times / first.items,
            items=round(count),
            together=True,
            within=first.beside,
            told=told,
        )


def _own_units(kind: RequestKind) -> float:
    return write_units(0, round(kind.own_bytes or 1))


def _may_be_there(kind: RequestKind) -> bool:
    """Whether what a read finds is a matter of how much was written by then."""
    return kind.alone and not kind.key.written and not kind.just_written


def _adds(kind: RequestKind) -> int:
    """By how many items a table has more then."""
    return {"put": 0 if kind.key.written else 1, "delete": -1}.get(kind.what, 0)


def _present(flows: Iterable[IndexFlow], kind: RequestKind, setting: TrafficSetting) -> Iterator[IndexFlow]:
    """Entries of a sparse index: only items that have its key make one."""
    of = dict(kind.attributes)
    keys = {one.name: one.partition_key for one in setting.table.indexes}
    for flow in flows:
        attribute = of.get(keys[flow.index])
        if attribute is None or attribute.present:
            yield flow if attribute is None else replace(flow, units=flow.units * attribute.present)


def _summed(flows: Iterable[IndexFlow]) -> Iterator[IndexFlow]:
    """The entries in each index, together."""
    by_index: dict[str, IndexFlow] = {}
    for flow in flows:
        before = by_index.get(flow.index)
        by_index[flow.index] = flow if before is None else replace(before, units=before.units + flow.units)
    return iter(by_index.values())
