"""One table as its requests meet it: `TableModel.admit_read`, `admit_write` and `admit_together`.

The model is asked with the time as an argument and knows no clock. It admits a request and records what it
consumed, or refuses it and says why; a refused request spends nothing.
"""

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Any

from keyheat.model.admission import ResourceModel, account_buckets
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.minutes import Minutes, ResourceMinutes, decision_rows
from keyheat.model.nodes import Caller, Surroundings
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT, Partitions, plain
from keyheat.model.resources import IndexCapacity, Refusal, TableCapacity
from keyheat.model.transactions import IndexWrite, JointAdmission, Op
from keyheat.words import Capacity, Direction

__all__ = ["Capacity", "IndexCapacity", "IndexWrite", "Op", "TableCapacity", "TableModel"]


class TableModel:
    """A table, its global secondary indexes, and everything they have admitted and refused."""

    __slots__ = ("_around", "_due_s", "_indexes", "_records", "_table", "capacity", "minutes")

    def __init__(
        self,
        capacity: TableCapacity,
        *,
        now_s: float,
        scale: float = 1.0,
        seed: int = 0,
        behaviour: Behaviour = DEFAULT,
    ) -> None:
        """A new table with full buckets.

        `scale` multiplies every rate limit and every bucket depth; `seed` decides what AWS does at an
        unpublished moment, such as how long a hot partition takes to split.
        """
        self._around = Surroundings(
            behaviour=behaviour,
            scale=scale,
            rng=Random(seed),
            account=account_buckets(capacity.account, behaviour, scale, now_s),
            caller=Caller(),
        )
        self._due_s = -inf
        self._records: dict[str | None, ResourceMinutes] = {}
        self._indexes: dict[str, ResourceModel] = {}
        self.capacity = capacity
        self._table = self._new_resource(None, capacity, now_s)
        for index in capacity.indexes:
            self._indexes[index.name] = self._new_resource(index.name, index, now_s)
        self.minutes = Minutes(self._records.values())

    def admit_read(
        self, position: bytes, units: float, now_s: float, *,
        index: str | None = None, eventual: bool = False, connection: int | None = None,
    ) -> Refusal | None:  # fmt: skip
        """Serve a read of `units` at a position, or say why not. Raises `KeyError` for an unknown index.

        `connection`: the number of the connection that it came on (`nodes`).
        """
        self._around.caller.connection = connection
        resource = self._table if index is None else self._indexes[index]
        if now_s >= self._due_s:
            self.advance(now_s)
            resource.partitions.look(position, now_s)
        lane = resource.read
        refusal = lane.refusing(units, now_s)
        if refusal is None:
            bucket = resource.partitions.at(position).read
            if bucket.take(units * EVENTUAL_READ_WEIGHT if eventual else units, now_s):
                lane.spend(units, now_s)
                lane.meter.accepted(units, now_s)
                return None
            refusal = lane.key_range
            resource.partitions.refused(position, now_s, Direction.READ)
        lane.meter.refused(refusal.cause, now_s)
        return refusal

    def admit_write(
        self, position: bytes, units: float, now_s: float, index_writes: Sequence[IndexWrite] = (), *,
        connection: int | None = None,
    ) -> Refusal | None:  # fmt: skip
        """Serve a write of `units` at a position together with its index entries, or say why not."""
        self._around.caller.connection = connection
        if now_s >= self._due_s:
            self.advance(now_s)
            self._table.partitions.look(position, now_s)
        if self._indexes:
            plan = JointAdmission(now_s)
            refusal = plan.answer_write(self._table, self._indexes, position, units, index_writes)
            if refusal is None:
                plan.carry_out()
            return refusal
        lane = self._table.write
        refusal = lane.refusing(units, now_s)
        if refusal is None:
            if self._table.partitions.at(position).write.take(units, now_s):
                lane.spend(units, now_s)
                lane.meter.accepted(units, now_s)
                return None
            refusal = lane.key_range
            self._table.partitions.refused(position, now_s, Direction.WRITE)
        lane.meter.refused(refusal.cause, now_s)
        return refusal

    def admit_together(
        self, ops: Sequence[Op], now_s: float, *, connection: int | None = None
    ) -> list[Refusal | None]:
        """Serve all of these or none: where any is refused, nothing is spent. One answer per op, in order."""
        self._around.caller.connection = connection
        if now_s >= self._due_s:
            self.advance(now_s)
        plan = JointAdmission(now_s)
        answers = [plan.answer(self._table, self._indexes, op) for op in ops]
        if all(answer is None for answer in answers):
            plan.carry_out()
        return answers

    def change_capacity(self, capacity: TableCapacity, now_s: float) -> None:
        """UpdateTable: new rates, another billing mode, indexes made or dropped; partitions stay or split."""
        if capacity.account != self.capacity.account:
            for direction, bucket in account_buckets(
                capacity.account, self._around.behaviour, self._around.scale, now_s
            ).items():
                account_bucket = self._around.account[direction]
                account_bucket.rate, account_bucket.depth = bucket.rate, bucket.depth
        self.capacity = capacity
        self._table.set(capacity, now_s, on_demand=capacity.on_demand)
        for name in self._indexes.keys() - {index.name for index in capacity.indexes}:
            del self._indexes[name]
            self._records[name].end(now_s)
        for index in capacity.indexes:
            if index.name in self._indexes:
                self._indexes[index.name].set(index, now_s, on_demand=capacity.on_demand)
            else:
                self._indexes[index.name] = self._new_resource(index.name, index, now_s)

    def grown(self, position: bytes, bytes_delta: float, now_s: float) -> None:
        """Say that stored data grew or shrank: partitions split at 10 GB."""
        self._table.partitions.grown(position, bytes_delta, now_s)

    @property
    def partitions(self) -> Partitions:
        """The table's own partitions, which streams follow."""
        return self._table.partitions

    def partition_count(self, index: str | None = None) -> int:
        """How many partitions the table or an index has. Raises `KeyError` for an unknown index."""
        return len(self.resource(index).partitions)

    def decisions(self) -> list[dict[str, Any]]:
        return decision_rows(self._records.values())

    def partition_record(self) -> list[dict[str, Any]]:
        """What each partition of the table and of its indexes served and refused, step by step."""
        return [
            {"index": index, **plain(resource.partitions.log, resource.partitions)}
            for index in (None, *self.index_names)
            for resource in (self.resource(index),)
        ]

    def warm_throughput(self, index: str | None = None) -> tuple[float, float]:
        """What the table or an index can serve at once: reads and writes per second, before `scale`."""
        warm = self.resource(index).growth.warm
        return warm.read or 0.0, warm.write or 0.0

    def resource(self, index: str | None = None) -> ResourceModel:
        """The table itself, or an index. Raises `KeyError` for an unknown index."""
        return self._table if index is None else self._indexes[index]

    @property
    def index_names(self) -> tuple[str, ...]:
        """The global secondary indexes that there are now, in the order in which a write asks them."""
        return tuple(self._indexes)

    def _new_resource(
        self, index: str | None, capacity: TableCapacity | IndexCapacity, now_s: float
    ) -> ResourceModel:
        record = self._records.get(index)
        if record is not None:
            for meter in record.meters:
                meter.until_s = inf
        resource = ResourceModel.new(
            index,
            capacity,
            self._around,
            on_demand=self.capacity.on_demand,
            now_s=now_s,
            has_lsi=index is None and self.capacity.has_lsi,
            record=record,
        )
        self._records[index] = resource.record
        return resource

    def advance(self, now_s: float) -> None:
        """Carry out what has become due, such as growth; admitting does so by itself once a second."""
        self._due_s = int(now_s) + 1.0
        for resource in (self._table, *self._indexes.values()):
            resource.advance(now_s)
