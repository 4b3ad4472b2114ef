"""What one resource, the table or an index, asks of a request before it serves it.

    request -> account quota -> on-demand maximum -> provisioned throughput -> partition -> served
               (on-demand mode: the first two)       (provisioned mode)

Reads and writes have a lane each, with buckets of their own. The gates of a lane hold for the resource as a
whole: a partition may serve anything up to its own ceiling as long as they hold, which is what AWS calls
instant adaptive capacity. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html

An on-demand table serves up to twice its previous peak at once; a higher peak is followed, minutes later,
by partitions for twice that one. Until then DynamoDB refuses with key-range reasons. Warm throughput never
falls, not even when the billing mode changes. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from dataclasses import dataclass, field
from math import inf
from random import Random

from keyheat.model import limits
from keyheat.model.behaviour import Behaviour
from keyheat.model.bucket import Backlog, Bucket, TokenBucket
from keyheat.model.meter import LaneMeter
from keyheat.model.minutes import CapacitySetting, ResourceMinutes
from keyheat.model.nodes import MaximumBucket, Surroundings, provisioned_bucket
from keyheat.model.partitions import (
    Partition,
    PartitionKind,
    Partitions,
    provisioned_partitions,
    warm_partitions,
)
from keyheat.model.resources import (
    NO_THROUGHPUT,
    ON_DEMAND_START,
    TABLE_QUOTA,
    Cause,
    IndexCapacity,
    Refusal,
    TableCapacity,
    highest,
)
from keyheat.words import Capacity, Direction


@dataclass(slots=True)
class Growth:
    """The warm throughput of one resource and the growth that is on its way; rates are before `scale`."""

    warm: Capacity
    behaviour: Behaviour
    rng: Random
    looked_s: float
    target: Capacity = field(default_factory=Capacity)
    due_s: float = inf

    def raise_to(self, warm: Capacity) -> None:
        self.warm = highest(self.warm, warm)

    def due(self, meters: tuple[LaneMeter, ...], scale: float, now_s: float) -> bool:
        """Look at the minutes closed since the last look; True when growth decided on earlier is complete."""
        first = int(self.looked_s // limits.MINUTE_S)
        past = int(now_s // limits.MINUTE_S)
        if past > first:
            self.looked_s = now_s
            peaks = Capacity(**{m.direction.value: _twice_peak(m, scale, range(first, past)) for m in meters})
            self.target = highest(self.target, peaks)
            if self.due_s == inf and highest(self.warm, self.target) != self.warm:
                self.due_s = now_s + self.rng.uniform(*self.behaviour.growth_delay_s)
        if now_s < self.due_s:
            return False
        self.raise_to(self.target)
        self.due_s = inf
        return True


def _twice_peak(meter: LaneMeter, scale: float, minutes: range) -> float:
    tallies = meter.consumed.tallies
    peak = max((tallies[minute].sum for minute in minutes if minute in tallies), default=0.0)
    return limits.ON_DEMAND_PEAK_FACTOR * peak / limits.MINUTE_S / scale


Part = TableCapacity | IndexCapacity
"""The capacity of one resource, units per second before `scale`."""


@dataclass(frozen=True, slots=True)
class LimitGate:
    """A bucket for the resource as a whole, and what to say when it is empty."""

    bucket: Bucket
    refusal: Refusal


@dataclass(slots=True)
class Lane:
    key_range: Refusal
    meter: LaneMeter
    gates: tuple[LimitGate, ...] = ()

    def refusing(self, units: float, now_s: float) -> Refusal | None:
        """The first gate that would refuse; None where all would let the request pass. Spends nothing."""
        for gate in self.gates:
            if not gate.bucket.allows(units, now_s):
                return gate.refusal
        return None

    def spend(self, units: float, now_s: float) -> None:
        for gate in self.gates:
            gate.bucket.take(units, now_s)


@dataclass(slots=True)
class ResourceModel:
    """The table itself or one global secondary index: two lanes over one set of partitions."""

    index: str | None
    around: Surroundings
    partitions: Partitions
    growth: Growth
    read: Lane
    write: Lane
    record: ResourceMinutes
    rates: Part
    on_demand: bool
    blocker: Partition | None = field(default=None)

    @classmethod
    def new(
        cls,
        index: str | None,
        rates: Part,
        around: Surroundings,
        *,
        on_demand: bool,
        now_s: float,
        has_lsi: bool = False,
        record: ResourceMinutes | None = None,
    ) -> "ResourceModel":
        """A resource just created, with full buckets; `record` continues that of an earlier namesake."""
        kind = PartitionKind(
            behaviour=around.behaviour, scale=around.scale, has_lsi=has_lsi, of_index=index is not None
        )
        warm = _capability(rates, on_demand=on_demand)
        count = warm_partitions(warm)
        if not on_demand and rates.provisioned is not None:
            count = max(count, provisioned_partitions(rates.provisioned))
        if record is None:
            meters = (LaneMeter(index, Direction.READ, now_s), LaneMeter(index, Direction.WRITE, now_s))
            record = ResourceMinutes(index, meters)
        resource = cls(
            index=index,
            around=around,
            partitions=Partitions(count, kind, now_s=now_s, rng=around.rng),
            growth=Growth(warm, around.behaviour, around.rng, now_s),
            read=Lane(Refusal(index, Direction.READ, Cause.KEY_RANGE), record.meters[0]),
            write=Lane(Refusal(index, Direction.WRITE, Cause.KEY_RANGE), record.meters[1]),
            record=record,
            rates=rates,
            on_demand=on_demand,
        )
        resource.set(rates, now_s, on_demand=on_demand)
        return resource

    def set(self, rates: Part, now_s: float, *, on_demand: bool) -> None:
        """Change the capacity: saved units stay, partitions only split, warm throughput only rises."""
        self.rates, self.on_demand = rates, on_demand
        self.growth.raise_to(_capability(rates, on_demand=on_demand))
        if not on_demand and rates.provisioned is not None:
            self.partitions.spread(provisioned_partitions(rates.provisioned), now_s)
        self.partitions.spread(warm_partitions(self.growth.warm), now_s)
        self.read.gates = self._gates(Direction.READ, self.read, now_s)
        self.write.gates = self._gates(Direction.WRITE, self.write, now_s)
        self.record.settings.append(
            CapacitySetting(
                now_s, None if on_demand else rates.provisioned, rates.max_on_demand if on_demand else None
            )
        )

    def advance(self, now_s: float) -> None:
        """Keep the second before; on-demand growth: once a minute, look at the peak, and do what is due."""
        self.partitions.note(now_s)
        if self.on_demand and self.growth.due(self.record.meters, self.around.scale, now_s):
            self.partitions.spread(warm_partitions(self.growth.warm), now_s)

    def _gates(self, direction: Direction, lane: Lane, now_s: float) -> tuple[LimitGate, ...]:
        kept = {gate.refusal.cause: gate.bucket for gate in lane.gates}
        gates = []
        if self.on_demand:
            refusal = Refusal(self.index, direction, Cause.ACCOUNT)
            gates.append(LimitGate(self.around.account[direction], refusal))
            limit, cause = self.rates.max_on_demand, Cause.MAX_ON_DEMAND
        else:
            limit, cause = self.rates.provisioned, Cause.PROVISIONED
        rate = (limit or NO_THROUGHPUT).of(direction)
        if rate is not None:
            bucket = self._bucket(direction, rate, kept.get(cause), now_s)
            gates.append(LimitGate(bucket, Refusal(self.index, direction, cause)))
        return tuple(gates)

    def _bucket(self, direction: Direction, rate: float, kept: Bucket | None, now_s: float) -> Bucket:
        """The bucket for the capacity that the resource was given; `kept` is the one that it had."""
        around = self.around
        behaviour, scale = around.behaviour, around.scale
        buffered = self.index is not None and direction is Direction.WRITE
        if not self.on_demand and not buffered:
            return provisioned_bucket(kept, rate, around, now_s)
        depth = behaviour.saved_units(rate, index_writes=buffered, on_demand=self.on_demand)
        rate, depth = rate * scale, depth * scale
        if kept is not None:
            return kept.resized(rate=rate, depth=depth, now_s=now_s)
        if not buffered:
            return MaximumBucket(
                rate,
                depth,
                depth,
                now_s,
                large_units=depth / scale,
                recovery_s=behaviour.quota_depth_s,
                caller=around.caller,
                ready_s=[now_s] * behaviour.maximum_nodes,
            )
        full = TokenBucket.full(rate=rate, depth=depth, now_s=now_s)
        least, most = behaviour.index_rest_units
        return Backlog(bucket=full, rest=(least * scale, most * scale), rng=around.rng)


def account_buckets(
    account: Capacity, behaviour: Behaviour, scale: float, now_s: float
) -> dict[Direction, TokenBucket]:
    """The quota of a table together with its indexes, one bucket per direction."""
    buckets = {}
    for direction in Direction:
        quota = account.of(direction)
        rate = (TABLE_QUOTA.of(direction) or 0.0 if quota is None else quota) * scale
        buckets[direction] = TokenBucket.full(rate=rate, depth=rate * behaviour.quota_depth_s, now_s=now_s)
    return buckets


def _capability(rates: Part, *, on_demand: bool) -> Capacity:
    """The rates that a resource can serve at once."""
    start = ON_DEMAND_START if on_demand else (rates.provisioned or NO_THROUGHPUT)
    return highest(start, rates.warm or NO_THROUGHPUT)
