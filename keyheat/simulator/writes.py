"""The writes of one second: the table's gates and partitions, and every index that may hold them back."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from keyheat.model.admission import Gate, ResourceModel
from keyheat.model.resources import Cause, Refusal
from keyheat.simulator.asked import Asked, Ground
from keyheat.simulator.flow import Answer, IndexFlow
from keyheat.simulator.front import Filled, Front, Limit, room
from keyheat.simulator.masses import Floats
from keyheat.simulator.settle import settle
from keyheat.words import Direction


def serve_writes(
    ground: Ground, asked: Sequence[Asked], now_s: float, rng: np.random.Generator
) -> dict[int, Answer]:
    """What becomes of the writes, by the places of their flows."""
    if not asked:
        return {}
    front = Front.of(ground, None, asked, now_s)
    gates = [_gate(front, gate, now_s) for gate in front.lane.gates]
    indexes = [limit for name in ground.model.index_names for limit in _index(front, name, now_s)]
    filled = front.filled([*gates, *indexes])
    answers = settle(front, filled, now_s, rng)
    for one in asked:
        for entry in one.flow.index_writes:
            count = answers[one.place].accepted
            meter = ground.model.resource(entry.index).write.meter
            meter.accepted_many(count, count * entry.units, now_s)
    _heat_up(front, filled, now_s, rng)
    return answers


def _gate(front: Front, gate: Gate, now_s: float) -> Limit:
    """A gate of the table. The account's quota is the indexes' too: whose units are refused, refuses."""
    weights = front.units
    refusals = [(gate.refusal, np.ones(len(front.asked)))]
    if gate.refusal.cause is Cause.ACCOUNT:
        weights, refusals = _shared_quota(front, gate)
    return Limit(
        buckets=[gate.bucket],
        rooms=room([gate.bucket], now_s),
        weights=weights[None, :],
        refusals=tuple(refusals),
        before_partitions=True,
    )


def _shared_quota(front: Front, gate: Gate) -> tuple[Floats, list[tuple[Refusal, Floats]]]:
    """What a write takes from the quota with all its entries, and who refuses how large a part of the writes.

    The quota hovers between nothing and a whole write's units. The table refuses where not even its own are
    there, and else the index whose entry is too much.
    """
    counts = np.maximum(front.by_flow(front.mean.sum(axis=1)), 1e-12)
    up_to = [front.by_flow(front.mean.sum(axis=1) * front.units) / counts]
    refusals = [gate.refusal]
    weights = front.units
    for name in front.ground.model.index_names:
        entries = _entry_units(front.asked, name)
        weights = weights + entries[front.owners]
        up_to.append(up_to[-1] + entries)
        refusals.append(Refusal(name, Direction.WRITE, Cause.ACCOUNT))
    levels, places = np.unique(np.concatenate(up_to), return_inverse=True)
    whole = places.reshape(len(up_to), -1)[-1]
    rates = np.zeros((len(levels), 1))
    np.add.at(rates[:, 0], whole, counts)
    whose = gate.refusal, "levels"
    missing = 1.0 - front.ground.odds.hovering(whose, levels, rates / gate.bucket.rate).chances[:, 0]
    lacking = missing[places].reshape(len(up_to), -1)
    parts = np.diff(lacking, axis=0, prepend=0.0) / np.maximum(lacking[-1], 1e-12)
    parts[0] = np.where(lacking[-1] > 0.0, parts[0], 1.0)
    return weights, list(zip(refusals, parts, strict=True))


def _index(front: Front, name: str, now_s: float) -> Iterator[Limit]:
    """The gates and partitions of one index. One that is out of room holds back every write to the table."""
    resource = front.ground.model.resource(name)
    units = _entry_units(front.asked, name)
    if not units.any():
        return
    everyone = np.ones(len(front.asked))
    for gate in resource.write.gates:
        if gate.refusal.cause is not Cause.ACCOUNT:
            yield Limit(
                buckets=[gate.bucket],
                rooms=room([gate.bucket], now_s),
                weights=units[front.owners][None, :],
                refusals=((gate.refusal, everyone),),
                before_partitions=False,
            )
    shares = front.ground.shares(name)
    weights = np.zeros((len(resource.partitions), len(front.asked)))
    for number, one in enumerate(front.asked):
        for entry in _entries(one, name):
            weights[:, number] += entry.units * shares.of(entry.keys)
    buckets = [part.write for part in resource.partitions]
    yield Limit(
        buckets=buckets,
        rooms=room(buckets, now_s),
        weights=weights[:, front.owners],
        refusals=((resource.write.key_range, everyone),),
        before_partitions=False,
    )


def _entries(one: Asked, index: str) -> list[IndexFlow]:
    return [entry for entry in one.flow.index_writes if entry.index == index]


def _entry_units(asked: Sequence[Asked], index: str) -> Floats:
    """Units that one item of each flow takes from an index."""
    return np.array([sum(entry.units for entry in _entries(one, index)) for one in asked], np.float64)


def _heat_up(front: Front, filled: Filled, now_s: float, rng: np.random.Generator) -> None:
    """Tell the partitions of indexes that hold back the table; those hot for long enough split."""
    hot: dict[str, list[int]] = {}
    for limit, number in filled.reached:
        refusal = limit.refusals[0][0]
        if refusal.index is not None and refusal.cause is Cause.KEY_RANGE:
            hot.setdefault(refusal.index, []).append(number)
    for name, numbers in hot.items():
        resource = front.ground.model.resource(name)
        count = resource.write.meter.open.refused.get(Cause.KEY_RANGE, 0) if _now(resource, now_s) else 0
        parts = np.bincount(numbers, minlength=len(resource.partitions)) * (count / len(numbers))
        resource.partitions.missed(Direction.WRITE, parts.tolist())
        for number in sorted(numbers, reverse=True):
            drawn = partial(_drawn, front, name, number, now_s, rng)
            resource.partitions.throttled(number, drawn, now_s)


def _now(resource: ResourceModel, now_s: float) -> bool:
    """Whether the second that its writes are counted in is this one."""
    return resource.write.meter.open.start_s == int(now_s)


def _drawn(
    front: Front, index: str, number: int, now_s: float, rng: np.random.Generator, count: int
) -> list[bytes]:
    """Positions of refused entries on one partition of an index, of all flows in proportion."""
    shares = front.ground.shares(index)
    entries = [
        (one.items * shares.of(entry.keys)[number], entry)
        for one in front.asked
        for entry in _entries(one, index)
    ]
    parts = np.array([part for part, _entry in entries])
    counts = rng.multinomial(count, parts / parts.sum()).tolist()
    return [
        at
        for (_part, entry), some in zip(entries, counts, strict=True)
        for at in shares.positions(entry.keys, number, some, now_s, rng)
    ]
