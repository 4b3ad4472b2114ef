"""The reads and writes of one second as a fluid: gates, partitions, and indexes that hold writes back."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from keyheat.model.admission import LimitGate, ResourceModel
from keyheat.model.resources import Cause, Refusal
from keyheat.simulator.accounting import account
from keyheat.simulator.allocation import SECOND_S, Allocation, LaneDemand, SharedLimit, room
from keyheat.simulator.demand import FlowDemand
from keyheat.simulator.flow import FlowAnswer, IndexFlow
from keyheat.simulator.masses import Floats
from keyheat.simulator.odds import fill, shared_out
from keyheat.simulator.shares import TableShares
from keyheat.words import Direction


def serve_writes(
    table: TableShares, asked: Sequence[FlowDemand], now_s: float, rng: np.random.Generator
) -> dict[int, FlowAnswer]:
    """What becomes of the writes, by the places of their flows."""
    if not asked:
        return {}
    demand = LaneDemand.of(table, None, asked, now_s)
    gates = [_gate(demand, gate, now_s) for gate in demand.lane.gates]
    indexes = [limit for name in table.model.index_names for limit in _index(demand, name, now_s)]
    allocation = demand.allocation([*gates, *indexes])
    answers = account(demand, allocation, now_s, rng)
    for one in asked:
        for entry in one.flow.index_writes:
            count = answers[one.place].accepted
            meter = table.model.resource(entry.index).write.meter
            meter.accepted_many(count, count * entry.units, now_s)
    _heat_up(demand, allocation, now_s, rng)
    return answers


def _gate(demand: LaneDemand, gate: LimitGate, now_s: float) -> SharedLimit:
    """A gate of the table. The account's quota is the indexes' too: whose units are refused, refuses."""
    weights = demand.units
    refusals = [(gate.refusal, np.ones(len(demand.asked)))]
    if gate.refusal.cause is Cause.ACCOUNT and demand.table.model.index_names:
        weights, refusals = _shared_quota(demand, gate)
    return SharedLimit(
        buckets=[gate.bucket],
        rooms=room([gate.bucket], now_s),
        weights=weights[None, :],
        refusals=tuple(refusals),
        before_partitions=True,
    )


def _shared_quota(demand: LaneDemand, gate: LimitGate) -> tuple[Floats, list[tuple[Refusal, Floats]]]:
    """What a write takes from the quota with all its entries, and who refuses how large a part of the writes.

    The quota hovers between nothing and a whole write's units. The table refuses where not even its own are
    there, and else the index whose entry is too much.
    """
    counts = np.maximum(demand.by_flow(demand.mean.sum(axis=1)), 1e-12)
    up_to = [demand.by_flow(demand.mean.sum(axis=1) * demand.units) / counts]
    refusals = [gate.refusal]
    weights = demand.units
    for name in demand.table.model.index_names:
        entries = _entry_units(demand.asked, name)
        weights = weights + entries[demand.owners]
        up_to.append(up_to[-1] + entries)
        refusals.append(Refusal(name, Direction.WRITE, Cause.ACCOUNT))
    levels, places = np.unique(np.concatenate(up_to), return_inverse=True)
    whole = places.reshape(len(up_to), -1)[-1]
    rates = np.zeros((len(levels), 1))
    np.add.at(rates[:, 0], whole, counts)
    whose = gate.refusal, "levels"
    missing = 1.0 - demand.table.odds.hovering(whose, levels, rates / gate.bucket.rate).chances[:, 0]
    lacking = missing[places].reshape(len(up_to), -1)
    parts = np.diff(lacking, axis=0, prepend=0.0) / np.maximum(lacking[-1], 1e-12)
    parts[0] = np.where(lacking[-1] > 0.0, parts[0], 1.0)
    return weights, list(zip(refusals, parts, strict=True))


def _index(demand: LaneDemand, name: str, now_s: float) -> Iterator[SharedLimit]:
    """The gates and partitions of one index. One that is out of room holds back every write to the table."""
    resource = demand.table.model.resource(name)
    units = _entry_units(demand.asked, name)
    if not units.any():
        return
    everyone = np.ones(len(demand.asked))
    for gate in resource.write.gates:
        if gate.refusal.cause is not Cause.ACCOUNT:
            yield SharedLimit(
                buckets=[gate.bucket],
                rooms=room([gate.bucket], now_s),
                weights=units[demand.owners][None, :],
                refusals=((gate.refusal, everyone),),
                before_partitions=False,
            )
    shares = demand.table.shares(name)
    weights = np.zeros((len(resource.partitions), len(demand.asked)))
    for number, one in enumerate(demand.asked):
        for entry in _entries(one, name):
            weights[:, number] += entry.units * shares.of(entry.keys)
    buckets = [part.write for part in resource.partitions]
    yield SharedLimit(
        buckets=buckets,
        rooms=room(buckets, now_s),
        weights=weights[:, demand.owners],
        refusals=((resource.write.key_range, everyone),),
        before_partitions=False,
    )


def _entries(one: FlowDemand, index: str) -> list[IndexFlow]:
    return [entry for entry in one.flow.index_writes if entry.index == index]


def _entry_units(asked: Sequence[FlowDemand], index: str) -> Floats:
    """Units that one item of each flow takes from an index."""
    return np.array([sum(entry.units for entry in _entries(one, index)) for one in asked], np.float64)


def _heat_up(demand: LaneDemand, allocation: Allocation, now_s: float, rng: np.random.Generator) -> None:
    """Tell the partitions of indexes that hold back the table; those hot for long enough split."""
    hot: dict[str, list[int]] = {}
    for limit, number in allocation.reached:
        refusal = limit.refusals[0][0]
        if refusal.index is not None and refusal.cause is Cause.KEY_RANGE:
            hot.setdefault(refusal.index, []).append(number)
    for name, numbers in hot.items():
        resource = demand.table.model.resource(name)
        count = resource.write.meter.open.refused.get(Cause.KEY_RANGE, 0) if _now(resource, now_s) else 0
        parts = np.bincount(numbers, minlength=len(resource.partitions)) * (count / len(numbers))
        resource.partitions.missed(Direction.WRITE, parts.tolist())
        for number in sorted(numbers, reverse=True):
            drawn = partial(_drawn, demand, name, number, now_s, rng)
            resource.partitions.throttled(number, drawn, now_s)


def _now(resource: ResourceModel, now_s: float) -> bool:
    """Whether the second that its writes are counted in is this one."""
    return resource.write.meter.open.start_s == int(now_s)


def _drawn(
    demand: LaneDemand, index: str, number: int, now_s: float, rng: np.random.Generator, count: int
) -> list[bytes]:
    """Positions of refused entries on one partition of an index, of all flows in proportion."""
    shares = demand.table.shares(index)
    entries = [
        (one.items * shares.of(entry.keys)[number], entry)
        for one in demand.asked
        for entry in _entries(one, index)
    ]
    parts = np.array([part for part, _entry in entries])
    counts = rng.multinomial(count, parts / parts.sum()).tolist()
    return [
        at
        for (_part, entry), some in zip(entries, counts, strict=True)
        for at in shares.positions(entry.keys, number, some, now_s, rng)
    ]


NEARLY: Final = 1e-6  # share of the quota by which the sum of its parts may miss it


def serve_reads(
    table: TableShares, asked: Sequence[FlowDemand], now_s: float, rng: np.random.Generator
) -> dict[int, FlowAnswer]:
    """What becomes of the reads, by the places of their flows."""
    by_index: dict[str | None, list[FlowDemand]] = {}
    for one in asked:
        by_index.setdefault(one.flow.index, []).append(one)
    demands = [LaneDemand.of(table, index, some, now_s) for index, some in by_index.items()]
    answers: dict[int, FlowAnswer] = {}
    for demand, allocation in zip(demands, _allocations(demands, now_s), strict=True):
        answers |= account(demand, allocation, now_s, rng)
    return answers


def _allocations(demands: Sequence[LaneDemand], now_s: float) -> list[Allocation]:
    """Each resource by itself; where together they are over the quota that they share, each gets its part."""
    alone = [demand.allocation(_limits(demand, now_s)) for demand in demands]
    quotas = (
        [gate.bucket for gate in demands[0].lane.gates if gate.refusal.cause is Cause.ACCOUNT]
        if demands
        else []
    )
    if len(demands) < 2 or not quotas:
        return alone
    left = float(room(quotas, now_s)[0])
    parts = _parts(demands, alone, left)
    if sum(parts) < left * (1 - NEARLY):  # the quota refuses nobody: each has its own limits only
        return alone
    return [
        demand.allocation(_limits(demand, now_s, part)) for demand, part in zip(demands, parts, strict=True)
    ]


def _parts(demands: Sequence[LaneDemand], alone: Sequence[Allocation], quota: float) -> list[float]:
    """How much of the quota each resource uses. It is asked first, by all alike; small reads find enough more
    often than large ones."""
    units = [np.repeat(demand.units, demand.cells.shape[1]) for demand in demands]
    wanted = [demand.cells.ravel() * each for demand, each in zip(demands, units, strict=True)]
    most = [
        np.divide(
            allocation.accepted, demand.cells, out=np.ones_like(demand.cells), where=demand.cells > 0
        ).ravel()
        for demand, allocation in zip(demands, alone, strict=True)
    ]
    shape = _shape(demands, alone, quota)
    shapes = [shape[np.searchsorted(shape[:, 0], each), 1] for each in units]
    thinned = np.concatenate([asked * part for asked, part in zip(wanted, shapes, strict=True)])
    limits = np.concatenate(most) / np.maximum(np.concatenate(shapes), 1e-12)
    found = fill(thinned[None, :], limits, np.ones((1, 1)), np.array([quota]))
    return [
        float(asked @ np.minimum(part, found.x * by_size))
        for asked, part, by_size in zip(wanted, most, shapes, strict=True)
    ]


def _shape(demands: Sequence[LaneDemand], alone: Sequence[Allocation], quota: float) -> Floats:
    """How much better small reads pass the quota: each size, and its part of the smallest one's chance."""
    sizes = np.unique(np.concatenate([demand.units for demand in demands]))
    bucket = next(gate.bucket for gate in demands[0].lane.gates if gate.refusal.cause is Cause.ACCOUNT)
    asked, rates = np.zeros(len(sizes)), np.zeros(len(sizes))
    for demand, allocation in zip(demands, alone, strict=True):
        kept = np.divide(
            allocation.accepted, demand.cells, out=np.ones_like(demand.cells), where=demand.cells > 0
        )
        places = np.searchsorted(sizes, demand.units)
        np.add.at(asked, places, allocation.accepted.sum(axis=1))
        np.add.at(rates, places, (demand.mean * kept).sum(axis=1))
    odds, used = demands[0].table.odds.of(
        "quota of reads", sizes, rates[:, None], np.array([quota]), np.array([bucket.rate * SECOND_S])
    )
    if sizes @ asked > used[0] > 0.0:
        odds = shared_out(sizes, odds, (asked * sizes)[:, None], used)
    return np.column_stack([sizes, odds[:, 0] / odds.max()])


def _limits(demand: LaneDemand, now_s: float, quota: float | None = None) -> list[SharedLimit]:
    """The gates of the lane; `quota` is the part of the account's that is this resource's."""
    return [
        SharedLimit(
            buckets=[gate.bucket],
            rooms=(
                room([gate.bucket], now_s)
                if quota is None or gate.refusal.cause is not Cause.ACCOUNT
                else np.array([quota])
            ),
            weights=demand.units[None, :],
            refusals=((gate.refusal, np.ones(len(demand.asked))),),
            before_partitions=True,
        )
        for gate in demand.lane.gates
    ]
