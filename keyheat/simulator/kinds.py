"""A load test, second by second: the flows of each task at the costs of that second.

LoadTest (plain values) --this second--> TaskFlows of each user class --> Flow, Flow ...
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import fsum
from typing import Any, Final

from keyheat.model import limits
from keyheat.scenario.sizes import ItemSize, UniformSize, UnitCost, unit_cost
from keyheat.simulator.flow import Flow, FlowAnswer, IndexFlow
from keyheat.simulator.loadtest import (
    PATTERN,
    KeyLaw,
    LoadTest,
    Prefix,
    RequestKind,
    Task,
    UserClass,
)
from keyheat.simulator.masses import Masses, Within
from keyheat.simulator.setting import ENTRY_BYTES, TrafficSetting, own_units
from keyheat.simulator.written import QueryCost, Written, cached
from keyheat.words import Direction

READS: Final = ("get", "query")


@dataclass(slots=True)
class TaskFlows:
    """What one execution of a task sends in this second, in the mean."""

    flows: Sequence[Flow]
    weight: float  # the share of the executions
    spared: float = 0.0  # requests that a cache answers

    @property
    def due(self) -> float:
        """Requests of the load that one execution stands for."""
        return fsum(flow.requests for flow in self.flows if not flow.within) + self.spared


class UserTasks:
    """The users of one class; `written` is the law of the keys that all users write and come back to."""

    def __init__(
        self, setting: TrafficSetting, sampled: UserClass, written: KeyLaw, put_share: float
    ) -> None:
        self._setting, self._sampled, self._law = setting, sampled, written
        self._put_share = put_share  # of all requests of the load
        self._cache = setting.scenario.cache if sampled.cached else None
        self._touched = Written(setting.keys)  # keys that a read-through has filled

    @classmethod
    def of(cls, setting: TrafficSetting, loadtest: LoadTest) -> "list[UserTasks]":
        """All classes of users of a load test."""
        setting.begin(0.0)
        tasks = [task for user in loadtest.users for task in user.tasks]
        kinds = [(kind, task.weight * kind.times) for task in tasks for kind in task.kinds]
        puts = [(kind, times) for kind, times in kinds if kind.what == "put" and kind.table is None]
        written = next((kind.key for kind, _times in puts if not kind.key.written), PATTERN)
        share = fsum(times for _kind, times in puts) / (fsum(times for _kind, times in kinds) or 1.0)
        return [cls(setting, user, written, share) for user in loadtest.users]

    def tasks(self) -> list[TaskFlows]:
        """What each task sends in this second, of those that send any requests."""
        if self._touched.keys is not self._setting.keys:  # the pattern's keys of the next day
            self._touched = Written(self._setting.keys)
        tasks = [task for each in self._sampled.tasks if (task := self._task(each)).flows]
        whole = fsum(task.weight for task in tasks)
        for task in tasks:
            task.weight /= whole or 1.0
        return tasks

    def _task(self, task: Task) -> TaskFlows:
        at_s, kinds = self._setting.at_s, []
        for kind in task.kinds:  # it may begin or end in this second
            until_s = at_s + 1.0 if kind.until_s is None else min(at_s + 1.0, kind.until_s)
            share = max(0.0, until_s - max(at_s, kind.from_s))
            if kind.times * share > 0:
                kinds.append(kind if share == 1.0 else replace(kind, times=kind.times * share))
        if self._cache is None and not any(kind.if_missing for kind in kinds):
            return TaskFlows(list(self._all(kinds)), task.weight)
        reads = [kind for kind in kinds if kind.what in READS and kind.key == PATTERN]
        flows, spared = self._filling(reads)
        absent, keys = self._touched.missing(self._setting.coming)
        times = absent * fsum(kind.times for kind in reads)
        flows += [
            replace(self._put(kind, keys, new=True), requests=times) for kind in kinds if kind.if_missing
        ]
        flows += self._all(kind for kind in kinds if kind not in reads and not kind.if_missing)
        return TaskFlows(flows, task.weight, spared)

    def _filling(self, reads: Sequence[RequestKind]) -> tuple[list[Flow], float]:
        """Reads that leave an item where there was none; and how many of them a cache answers."""
        coming, touched = self._setting.coming, self._touched
        there, present = touched.present(coming)
        absent, missing = touched.missing(coming)
        reaching = there
        if self._cache is not None:  # of keys without an item every read is a miss
            uncached, reread = cached(self._setting.keys, self._cache, coming * there)
            of_part, present = touched.present(coming, reread)
            reaching = uncached * of_part
        flows = [
            self._counted(self._read(kind, keys, exists, touched), kind.times * sent, sent / due)
            for due, sent, keys, exists in ((there, reaching, present, 1.0), (absent, absent, missing, 0.0))
            if sent
            for kind in reads
        ]
        return flows, (there - reaching) * fsum(kind.times for kind in reads)

    def _counted(self, read: Flow, times: float, share: float) -> Flow:
        """Reads of which this part reaches the table: a cache answers the others."""
        counts, touched = self._setting.counts, self._touched

        def on_answer(answer: FlowAnswer) -> None:
            read.on_answer(answer)
            reads = answer.attempts / share
            touched.items += reads
            if self._cache is not None:
                counts["cache.hits"] += reads - answer.attempts
                counts["cache.misses"] += answer.attempts
                counts["cache.units_saved"] += (reads - answer.attempts) * read.units

        return replace(read, requests=read.requests * times, on_answer=on_answer)

    def _all(self, kinds: Iterable[RequestKind]) -> Iterator[Flow]:
        """The flows: of each kind by itself, of a transaction those on the same keys together."""

        def name(kind: RequestKind) -> tuple[object, ...]:
            return (kind.operation, kind.table, id(self._keys(kind).points)) if kind.together else (id(kind),)

        for _name, group in groupby(kinds, name):
            first, *others = group
            if first.together:
                yield self._transaction([first, *others])
                continue
            for flow in self._of(first):
                repeated = replace(flow, requests=flow.requests * first.times) if first.times != 1.0 else flow
                yield self._batch(first, repeated) if first.operation.startswith("Batch") else repeated

    def _of(self, kind: RequestKind) -> list[Flow]:
        """One item of a kind; two flows where it may be there or not, or a condition may fail."""
        keys = self._keys(kind)
        if kind.what in READS:
            return self._reads(kind, keys)
        if kind.table is not None:
            cost = unit_cost(self._size(kind), limits.WRITE_UNIT_BYTES)
            return [self._write(kind, keys, cost._replace(sizes=()))]
        match kind.what:
            case "put":
                return self._puts(kind, keys)
            case "delete":
                return [self._delete(kind, keys)]
            case _:
                return [self._update(kind, keys)]

    def _size(self, kind: RequestKind) -> ItemSize:
        """The size of the items that it writes: its own, or the scenario's."""
        size_bytes = round(kind.own_bytes or 0)
        return UniformSize(size_bytes, size_bytes) if size_bytes else self._setting.load.item_size()

    def _keys(self, kind: RequestKind) -> Masses:
        return self._setting.keys_of(self._law if kind.key.written else kind.key)

    def _write(
        self, kind: RequestKind, keys: Masses, cost: UnitCost, *, within: Within | None = None, **more: Any
    ) -> Flow:
        return Flow(
            operation=kind.operation, direction=Direction.WRITE, units=cost.units, sizes=cost.sizes,
            table=kind.table, keys=self._setting.placed(keys, within or kind.within), **more,
        )  # fmt: skip

    def _reads(self, kind: RequestKind, keys: Masses) -> list[Flow]:
        """A read; two where some keys have an item by now and others do not: each has its price."""
        by_then = kind.alone and not kind.key.written and not kind.just_written
        if not (self._setting.is_single(kind) if kind.what == "query" else by_then):
            return [self._read(kind, keys, kind.exists_share)]
        written, coming = self._setting.written(keys), self._setting.coming
        parts = (1.0, written.present(coming)), (0.0, written.missing(coming))
        return [replace(self._read(kind, some, there), requests=due) for there, (due, some) in parts if due]

    def _read(self, kind: RequestKind, keys: Masses, there: float, of: Written | None = None) -> Flow:
        """One read, which finds its item with this probability; a query's `requests` are its pages.

        `of`: what was written; None: what puts wrote on these keys.
        """
        if kind.what == "query" and not self._setting.is_single(kind):
            flow = self._query(kind, keys, of)
        else:
            flow = self._get(kind, keys, 0.0 if self._setting.item_bytes_of(kind) <= ENTRY_BYTES else there)
        if not kind.reads:
            return flow
        counts, of_each = self._setting.counts, kind.times / kind.reads * flow.requests

        def on_answer(answer: FlowAnswer) -> None:
            counts["simulated.reads"] += answer.accepted / of_each
            counts["simulated.read_requests"] += answer.attempts
            counts["simulated.read_units"] += answer.units

        return replace(flow, on_answer=on_answer)

    def _get(self, kind: RequestKind, keys: Masses, there: float) -> Flow:
        factor = 1.0 if kind.consistent else limits.EVENTUAL_READ_FACTOR  # a read of nothing costs as much
        units, sizes = unit_cost(self._setting.load.item_size(), limits.READ_UNIT_BYTES, factor=factor)
        return self._read_flow(
            kind, keys,
            units=there * units + (1 - there) * factor, sizes=sizes if there == 1.0 else (),
        )  # fmt: skip

    def _query(self, kind: RequestKind, keys: Masses, of: Written | None) -> Flow:
        """One read of a collection, page by page."""
        setting, prefix = self._setting, kind.prefix or Prefix()
        cost = QueryCost(
            item_bytes=self._setting.item_bytes_of(kind),
            limit=kind.limit or float("inf"),
            consistent=kind.consistent,
            first_page=not kind.reads,  # only a read of a whole collection follows its pages
        )
        written = of or setting.written(setting.keys if prefix.of_drawn_key else keys)
        coming = setting.coming * self._put_share
        pages, units = written.means((cost.pages, cost.units), prefix.share, coming)
        return self._read_flow(kind, keys, units=units / pages, requests=pages)

    def _read_flow(self, kind: RequestKind, keys: Masses, **more: Any) -> Flow:
        return Flow(
            operation=kind.operation, direction=Direction.READ, keys=self._setting.placed(keys, "point"),
            eventual=not kind.consistent, index=kind.index, **more,
        )  # fmt: skip

    def _puts(self, kind: RequestKind, keys: Masses) -> list[Flow]:
        if not kind.if_absent:
            return [self._put(kind, keys)]
        by_key, taken = kind.alone and not kind.key.written, 1.0 if kind.key.written else 0.0
        if by_key:
            taken = self._setting.written(keys).there(self._setting.coming)
        new = replace(self._put(kind, keys, new=True), requests=1 - taken)
        return [flow for flow in (new, self._failing(kind, keys, taken, by_key=by_key)) if flow.requests]

    def _put(self, kind: RequestKind, keys: Masses, *, new: bool = False) -> Flow:
        """A put, with its index entries; where the partition key alone names an item, it may replace one."""
        setting, written = self._setting, self._setting.written(keys)
        there = written.there(setting.coming) if kind.alone and not new else 0.0
        size = self._size(kind)
        writes = tuple(setting.entries(keys, size, there, kind.attributes))
        lists = [written, *(setting.written(each.keys) for each in writes)]
        if any(each.of_drawn_key for _name, each in kind.attributes):
            lists.append(setting.written(setting.keys))

        def on_answer(answer: FlowAnswer) -> None:
            for each in {id(each): each for each in lists}.values():
                each.on_answer(answer)

        return self._write(
            kind, keys, setting.put_cost(size, there), index_writes=writes, on_answer=on_answer,
        )  # fmt: skip

    def _failing(self, kind: RequestKind, keys: Masses, times: float, *, by_key: bool) -> Flow:
        """A put on a key that has an item: it costs what replacing it would, and no index entries."""
        setting, size = self._setting, self._size(kind)

        def on_answer(answer: FlowAnswer) -> None:
            if by_key:
                setting.written(keys).on_answer(answer)
            setting.counts["conditions.failed"] += answer.accepted
            setting.counts["conditions.failed_units"] += answer.units

        return self._write(
            kind, keys, unit_cost(size, limits.WRITE_UNIT_BYTES, there=1.0), requests=times,
            within="rising" if setting.table.sort_key else "point", on_answer=on_answer,
        )  # fmt: skip

    def _delete(self, kind: RequestKind, keys: Masses) -> Flow:
        """A delete of an item that is there, and of its index entries."""
        setting, written = self._setting, self._setting.written(keys)
        size = setting.load.item_size()

        def on_answer(answer: FlowAnswer) -> None:
            written.items -= answer.accepted

        return self._write(
            kind, keys, setting.put_cost(size), within="random" if setting.table.sort_key else "point",
            index_writes=tuple(setting.entries(keys, size)), on_answer=on_answer,
        )  # fmt: skip

    def _update(self, kind: RequestKind, keys: Masses) -> Flow:
        """An update in place: of the scenario's items, which it makes larger, or of its own."""
        setting, written, old = self._setting, self._setting.written(keys), kind.key.written
        there = 1.0 if old else written.there(setting.coming) if kind.alone else kind.exists_share
        units = own_units(kind)
        if old:
            size, more_bytes = setting.load.item_size(), kind.more_bytes
            units = unit_cost(size, limits.WRITE_UNIT_BYTES, more_bytes=more_bytes).units
        write = self._write(kind, keys, UnitCost(units), index_writes=tuple(setting.moved(kind, keys, there)))
        return write if old else replace(write, on_answer=written.on_answer)

    def _batch(self, kind: RequestKind, item: Flow) -> Flow:
        """Many items of one request, which are admitted one by one."""
        counts = self._setting.counts

        def count(answer: FlowAnswer) -> None:
            item.on_answer(answer)
            counts["batch.requests"] += 0 if kind.beside else answer.attempts / answer.flow.items
            counts["batch.items"] += answer.attempts
            counts["batch.unprocessed"] += answer.attempts - answer.accepted

        keys = self._setting.placed(item.keys, kind.within)
        requests = item.requests / kind.items
        return replace(
            item, requests=requests, keys=keys, items=round(kind.items), within=kind.beside, on_answer=count
        )

    def _transaction(self, kinds: Sequence[RequestKind]) -> Flow:
        """Items that are done together: twice the units of all, and once those of their index entries."""
        items = [(kind, item) for kind in kinds for item in self._of(kind)]
        count = fsum(kind.items for kind in kinds)
        parts = [kind.items * item.requests / count for kind, item in items]
        by_index: dict[str, IndexFlow] = {}
        for (_kind, item), share in zip(items, parts, strict=True):
            for entry in item.index_writes:
                before = by_index.get(entry.index)
                units = entry.units * share + (before.units if before else 0.0)
                by_index[entry.index] = replace(before or entry, units=units)
        placed = {each.keys.within: each for _kind, each in items}
        (first, item), factor = items[0], limits.TRANSACTION_FACTOR
        return replace(
            item,
            keys=self._setting.placed(self._keys(first), placed.get("rising", item).keys.within),
            units=factor * fsum(each.units * of for (_kind, each), of in zip(items, parts, strict=True)),
            sizes=tuple((factor * units, share) for units, share in item.sizes) if len(items) == 1 else (),
            index_writes=tuple(by_index.values()),
            requests=first.times / first.items,
            items=round(count),
            together=True,
            within=first.beside,
            on_answer=self._on_transaction(kinds, item.keys, count),
        )

    def _on_transaction(
        self, kinds: Sequence[RequestKind], keys: Masses, count: float
    ) -> Callable[[FlowAnswer], None]:
        written, counts, first = self._setting.written(keys), self._setting.counts, kinds[0]
        new = (kind for kind in kinds if not (kind.what == "put" and kind.key.written))
        more = fsum(kind.items * {"put": 1, "delete": -1}.get(kind.what, 0) for kind in new) / count

        def on_answer(answer: FlowAnswer) -> None:
            written.items += answer.accepted * more
            begun = 0 if first.beside else answer.attempts / count
            counts["transactions.requests"] += begun + answer.conflicts
            for what in ("cancelled", "conflicts") if answer.conflicts else ():
                counts[f"transactions.{what}"] += answer.conflicts

        return on_answer
