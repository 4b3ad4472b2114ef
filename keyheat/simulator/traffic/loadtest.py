"""A load test as a rehearsal has learnt it, second by second: its kinds of requests at the prices of by then.

RehearsedLoadTest (plain values) --of this second--> Users, their UserTasks, and TaskRequests on keys
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import groupby
from math import fsum
from typing import Final

from keyheat.model import limits
from keyheat.model.units import write_units
from keyheat.simulator.flow import FlowAnswer, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.simulator.rehearsal import mix
from keyheat.simulator.rehearsal.mix import IndexKey, RequestKind
from keyheat.simulator.traffic.keys import masses_of_text
from keyheat.simulator.traffic.operations import (
    Filling,
    count_reads,
    delete,
    entries,
    get,
    own_size,
    put,
    query,
)
from keyheat.simulator.traffic.setting import TrafficSetting, Written
from keyheat.simulator.traffic.users import (
    SMALL_ITEM,
    LoadTest,
    QueryCost,
    TaskRequest,
    Users,
    UserTask,
    grown_units,
    nobody,
    replacing_units,
    write_sizes,
)
from keyheat.words import Direction

ENTRY_BYTES: Final = 100  # of an index that does not hold the whole item: the keys of both


def learnt(setting: TrafficSetting, loadtest: mix.RehearsedLoadTest) -> LoadTest:
    """What the users of a load test send in this second."""
    setting.counts.update(loadtest.counts)
    behaviours = dict.fromkeys(one.simulated_as for one in loadtest.users if one.simulated_as)
    behaved = [_function(name)(setting) for name in behaviours]
    writers = _first_put(loadtest)
    plain = [_Class(setting, one, writers) for one in loadtest.users if not one.simulated_as]
    return lambda: [*(users for make in behaved for users in make()), *(one.users() for one in plain)]


def _function(name: str) -> Callable[[TrafficSetting], LoadTest]:
    """What stands for users whose requests follow from answers: they name it themselves."""
    module, _, function = name.partition(":")
    made: Callable[[TrafficSetting], LoadTest] = getattr(import_module(module), function)
    return made


def _first_put(loadtest: mix.RehearsedLoadTest) -> mix.Text:
    """How the keys of items are made that users write, and come back to."""
    kinds = (kind for one in loadtest.users for task in one.tasks for kind in task.kinds)
    written = [kind for kind in kinds if kind.what == "put" and kind.table is None and not kind.known]
    return written[0].key if written else mix.Text(made="{key}")


@dataclass(slots=True)
class _Class:
    """The users of one class."""

    setting: TrafficSetting
    learnt: mix.UserClass
    written: mix.Text
    _filling: dict[str, Filling] = field(default_factory=dict)

    def users(self) -> Users:
        """What they send in this second."""
        tasks = [made for task in self.learnt.tasks if (made := self._task(task)).requests]
        return Users(tasks, fixed_count=self.learnt.fixed_count, weight=self.learnt.weight)

    def _task(self, task: mix.RehearsedTask) -> UserTask:
        kinds = [kind for one in task.kinds if (kind := self._now(one)).times > 0]
        through = self.learnt.cached and self.setting.scenario.cache is not None
        if through or any(kind.if_missing for kind in kinds):
            return self._filled(task, kinds, through=through)
        requests = [request for group in self._together(kinds) for request in self._requests(group)]
        return UserTask(requests, task.weight)

    def _now(self, kind: RequestKind) -> RequestKind:
        """The kind as often as it is sent in this second: it may begin or end in it."""
        at_s = self.setting.at_s
        until_s = at_s + 1.0 if kind.until_s is None else min(at_s + 1.0, kind.until_s)
        part = max(0.0, until_s - max(at_s, kind.from_s))
        return kind if part == 1.0 else replace(kind, times=kind.times * part)

    def _filled(self, task: mix.RehearsedTask, kinds: Sequence[RequestKind], *, through: bool) -> UserTask:
        """A task that reads, maybe through a cache, and puts what it has not found."""
        reads = [kind for kind in kinds if kind.what in ("get", "query") and kind.key.made == "{key}"]
        others = [kind for kind in kinds if kind not in reads and not kind.if_missing]
        puts = [kind for kind in kinds if kind.if_missing]
        filling = self._filling.setdefault(task.name, Filling(self.setting, through=through))
        asked, spared = filling.reads(
            [(kind.times, partial(self._read, kind, of=filling.touched)) for kind in reads]
        )
        times = fsum(kind.times for kind in reads)
        fills = [filling.put(times, partial(self._put, one, new=True)) for one in puts]
        rest = (request for group in self._together(others) for request in self._requests(group))
        return UserTask((*asked, *fills, *rest), task.weight, spared)

    def _together(self, kinds: Iterable[RequestKind]) -> Iterator[list[RequestKind]]:
        """Each kind by itself, but those of one transaction on the same keys."""

        def name(kind: RequestKind) -> tuple[object, ...]:
            if not kind.together:
                return (id(kind),)
            return kind.operation, kind.table, id(self._keys(kind).points)

        for _name, group in groupby(kinds, name):
            yield list(group)

    def _requests(self, kinds: Sequence[RequestKind]) -> list[TaskRequest]:
        first = kinds[0]
        if first.operation.startswith("Transact"):
            return [self._transaction(kinds)]
        made = self._of(first)
        if not first.operation.startswith("Batch"):
            return [_as_often(one, first.times) for one in made]
        times = first.times / first.items
        return [self._batch(first, replace(one, requests=one.requests * times)) for one in made]

    def _of(self, kind: RequestKind) -> list[TaskRequest]:
        """One item of a kind; two requests where it may be there, or not, or a condition hold, or fail."""
        keys = self._keys(kind)
        if kind.what in ("get", "query"):
            return self._reads(kind, keys)
        if kind.table is not None:
            return [self._elsewhere(kind, keys)]
        if kind.what == "put":
            return self._puts(kind, keys)
        return [delete(self.setting, keys) if kind.what == "delete" else self._update(kind, keys)]

    def _keys(self, kind: RequestKind) -> Masses:
        return masses_of_text(self.setting, self.written if kind.key.known else kind.key)

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
            made = self._query(kind, keys, of)
            return replace(made, told=self._counted(kind, made.requests))
        if self._found_bytes(kind) <= ENTRY_BYTES:
            there = 0.0  # a small entry costs what nothing does
        made = get(self.setting, keys, there=there, consistent=kind.consistent)
        return replace(made, operation=kind.operation, index=kind.index, told=self._counted(kind, 1.0))

    def _counted(self, kind: RequestKind, pages: float) -> Callable[[FlowAnswer], None]:
        """Reads are counted as an application knows them, of however many requests each."""
        if not kind.reads:
            return nobody
        requests = kind.times / kind.reads * pages
        return lambda answer: count_reads(self.setting, answer, requests)

    def _query(self, kind: RequestKind, keys: Masses, of: Written | None) -> TaskRequest:
        setting, prefix = self.setting, kind.prefix or mix.Prefix()
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
        written = self.setting.written(keys)
        taken = 1.0 if kind.known else written.there(self.setting.coming) if kind.alone else 0.0
        made = replace(self._put(kind, keys, new=True), requests=1 - taken)
        return [one for one in (made, self._failing(kind, keys, taken)) if one.requests]

    def _put(self, kind: RequestKind, keys: Masses, *, new: bool = False) -> TaskRequest:
        """A put, with the entries of indexes whose keys it chooses."""
        setting = self.setting
        chosen = {name: self._placed(one) for name, one in kind.attributes if one.present}
        by_key = setting.written(setting.keys)
        sorts = any(one.of_drawn_key for _name, one in kind.attributes)
        told = by_key is not setting.written(keys) and sorts and by_key.keys not in chosen.values()
        made = put(
            setting, keys, within=kind.within, chosen=chosen, also=(by_key,) if told else (), new=new,
            alone=kind.alone,
        )  # fmt: skip
        if made.index_writes:
            made = replace(made, index_writes=tuple(_present(made.index_writes, kind, setting)))
        return made if kind.own_bytes is None else own_size(setting, made, kind.own_bytes)

    def _placed(self, attribute: IndexKey) -> Masses:
        return self.setting.placed(masses_of_text(self.setting, attribute.text), attribute.within)

    def _failing(self, kind: RequestKind, keys: Masses, times: float) -> TaskRequest:
        """A put on a key that has an item: it costs what replacing it would, and no index entries."""
        setting = self.setting

        def told(answer: FlowAnswer) -> None:
            if kind.alone and not kind.known:
                setting.written(keys).told(answer)
            setting.counts["conditions.failed"] += answer.accepted
            setting.counts["conditions.failed_units"] += answer.units

        failing = TaskRequest(
            operation=kind.operation,
            direction=Direction.WRITE,
            keys=setting.placed(keys, setting.at_the_end),
            units=replacing_units(setting.load),
            sizes=write_sizes(setting.load, there=1.0),
            requests=times,
            told=told,
        )
        if kind.own_bytes is None:
            return failing
        return replace(failing, units=write_units(0, round(kind.own_bytes)), sizes=())

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
        setting, written = self.setting, self.setting.written(keys)
        touched = {name: self._placed(one) for name, one in kind.attributes}
        there = 1.0 if kind.known else written.there(setting.coming) if kind.alone else kind.found
        stated = grown_units(setting.load, kind.more_bytes) if kind.known else 0.0
        return TaskRequest(
            operation=kind.operation,
            direction=Direction.WRITE,
            keys=setting.placed(keys, kind.within),
            units=stated or write_units(0, round(kind.own_bytes or 1)),
            index_writes=tuple(self._moved(kind, keys, touched, there)),
            told=nobody if kind.known else written.told,
        )

    def _moved(
        self, kind: RequestKind, keys: Masses, touched: dict[str, Masses], there: float
    ) -> Iterator[IndexFlow]:
        """Entries whose keys change are deleted where they were and put where they belong; others that hold
        the whole item are written again."""
        whole = {one.name for one in self.setting.table.indexes if one.projection == "ALL"}
        moving = set()
        for index in self.setting.table.indexes:
            if index.local or not {index.partition_key, index.sort_key} & touched.keys():
                continue
            moving.add(index.name)
            moved = touched.get(index.partition_key, keys)
            units = write_units(0, round(kind.own_bytes or 1)) if index.name in whole else SMALL_ITEM
            yield IndexFlow(index=index.name, units=units * (1 + there), keys=moved)
        if kind.known:
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
            self.setting.counts["transactions.requests"] += begun + (0 if first.beside else answer.conflicts)
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


def _as_often(request: TaskRequest, times: float) -> TaskRequest:
    return request if times == 1.0 else replace(request, requests=request.requests * times)


def _may_be_there(kind: RequestKind) -> bool:
    """Whether what a read finds is a matter of how much was written by then."""
    return kind.alone and not kind.known and not kind.just_written


def _adds(kind: RequestKind) -> int:
    """By how many items a table has more then."""
    return {"put": 0 if kind.known else 1, "delete": -1}.get(kind.what, 0)


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
