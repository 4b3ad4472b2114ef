"""Requests that are served together or not at all: asked one by one, spent at the end.

A transaction needs this, and so does one write with its index entries: several of them may want the same
bucket, so what was promised to the earlier ones counts when the later ones are asked.

Index entries are propagated through a bounded buffer, so an index may fall behind by as much as the buffer
holds (its write buckets are that much deeper). Once that is used up, every write to the base table is refused
with the index's reason, also one that would not touch the index, until the buffer has drained a little
(`Backlog`). Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keyheat.model.admission import Lane, ResourceModel
from keyheat.model.bucket import LEAST_UNITS, Bucket
from keyheat.model.meter import LaneMeter
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.model.resources import Cause, Refusal
from keyheat.words import Direction


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """One entry that a base-table write puts into or removes from an index."""

    index: str
    position: bytes
    units: float


def holding_back(index: ResourceModel, now_s: float) -> Refusal | None:
    """Why the index refuses even a write that does not touch it; None while its buffer has room."""
    for gate in index.write.gates:
        if gate.refusal.cause is not Cause.ACCOUNT and not gate.bucket.allows(LEAST_UNITS, now_s):
            return gate.refusal
    if index.blocker is not None:
        if not index.blocker.write.allows(LEAST_UNITS, now_s):
            return index.write.key_range
        index.blocker = None
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One read or write of a transaction; `index` is the index that is read, None for the table."""

    direction: Direction
    position: bytes
    units: float
    index: str | None = None
    index_writes: tuple[IndexWrite, ...] = ()
    eventual: bool = False


@dataclass(slots=True)
class JointAdmission:
    """What several requests would spend together at one time, until all of them have been asked."""

    now_s: float
    buckets: dict[int, Bucket] = field(default_factory=dict)
    promised: dict[int, float] = field(default_factory=dict)
    served: list[tuple[LaneMeter, float]] = field(default_factory=list)

    def answer(self, table: ResourceModel, indexes: Mapping[str, ResourceModel], op: Op) -> Refusal | None:
        """Plan one request: None, or why it is refused. A refusal is recorded as a throttle event at once."""
        promised = self.promised.copy()
        if op.direction is Direction.WRITE:
            refusal = self.answer_write(table, indexes, op.position, op.units, op.index_writes)
        else:
            resource = table if op.index is None else indexes[op.index]
            weight = EVENTUAL_READ_WEIGHT if op.eventual else 1.0
            refusal = self._ask(resource, resource.read, op.position, op.units, weight)
        if refusal is not None:
            self.promised = promised
        return refusal

    def answer_write(
        self,
        table: ResourceModel,
        indexes: Mapping[str, ResourceModel],
        position: bytes,
        units: float,
        index_writes: Sequence[IndexWrite],
    ) -> Refusal | None:
        """Plan one write with its index entries, as `answer` does, but a refusal leaves promises behind."""
        refusal = self._ask(table, table.write, position, units, 1.0)
        if refusal is None:
            # Every index is asked, since each one that refuses counts a throttle event of its own.
            for index in indexes.values():
                held_back = self._answer_of_index(index, index_writes)
                refusal = refusal or held_back
        return refusal

    def carry_out(self) -> None:
        """Spend and record everything that was planned, after nothing was refused."""
        for name, units in self.promised.items():
            self.buckets[name].take(units, self.now_s)
        for meter, units in self.served:
            meter.accepted(units, self.now_s)

    def _answer_of_index(self, index: ResourceModel, writes: Sequence[IndexWrite]) -> Refusal | None:
        refusal = holding_back(index, self.now_s)
        if refusal is not None:
            index.write.meter.refused(refusal.cause, self.now_s)
            if index.blocker is not None and refusal is index.write.key_range:
                index.blocker.refused(Direction.WRITE, 1.0)
            return refusal
        for write in writes:
            if write.index == index.index:
                refusal = self._ask(index, index.write, write.position, write.units, 1.0)
                if refusal is not None:
                    return refusal
        return None

    def _ask(
        self, resource: ResourceModel, lane: Lane, position: bytes, units: float, weight: float
    ) -> Refusal | None:
        for gate in lane.gates:
            if not self._holds(gate.bucket, units):
                lane.meter.refused(gate.refusal.cause, self.now_s)
                return gate.refusal
        partition = resource.partitions.at(position)
        ceiling = partition.read if lane is resource.read else partition.write
        if not self._holds(ceiling, units * weight):
            resource.partitions.refused(position, self.now_s, lane.key_range.direction)
            if lane is resource.write:
                resource.blocker = partition
            lane.meter.refused(lane.key_range.cause, self.now_s)
            return lane.key_range
        for gate in lane.gates:
            self._promise(gate.bucket, units)
        self._promise(ceiling, units * weight)
        if resource.index is not None and lane is resource.write and not self._holds(ceiling, units):
            resource.blocker = partition  # full with this write, it holds back every other one
        self.served.append((lane.meter, units))
        return None

    def _holds(self, bucket: Bucket, units: float) -> bool:
        return bucket.allows(self.promised.get(id(bucket), 0.0) + units, self.now_s)

    def _promise(self, bucket: Bucket, units: float) -> None:
        self.buckets[id(bucket)] = bucket
        self.promised[id(bucket)] = self.promised.get(id(bucket), 0.0) + units


@dataclass(slots=True)
class OngoingTransactions:
    """The items of one table on which transactions are under way, each for `lasts_s`; 0: none ever is.

    A transaction prepares its items and then commits them. Meanwhile DynamoDB refuses, and does not queue,
    another transaction on one of them and a plain write of one of them:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
    """

    lasts_s: float = 0.0
    _ends: deque[tuple[float, bytes]] = field(default_factory=deque)
    _items: set[bytes] = field(default_factory=set)

    def meets(self, item: bytes, now_s: float) -> bool:
        """Whether a request for the item at this time, which is no earlier than the last one, meets one."""
        while self._ends and self._ends[0][0] <= now_s:
            self._items.discard(self._ends.popleft()[1])
        return item in self._items

    def begin(self, items: Iterable[bytes], now_s: float) -> None:
        """One is under way on these items, none of which meets another."""
        if self.lasts_s > 0:
            for item in items:
                self._ends.append((now_s + self.lasts_s, item))
                self._items.add(item)
