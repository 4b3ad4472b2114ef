"""The share of a second's demand that passes all limits: gates, partitions, and full indexes.

Each limit has a price: the least at which no more is used than there is room for. An item of u units passes
with the chance

    exp(-price * u^1.75)

A bucket near empty serves small items more often than large ones. The exponent fits buckets that are asked
item by item: within 5 % of units and throttles, for sizes from 1 to 12 and up to four times what fits
(`tests/simulator/test_tables.py`). An index that is full holds back every write alike, and a small table's
nodes lend to every item that finds them not empty: for these, u counts as 1.

Limits depend on each other, for what one of them refuses spends nothing elsewhere. Prices are therefore
settled in turn, starting from those of the second before.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyheat.model.bucket import Bucket, TokenBucket
from keyheat.model.resources import Cause, Refusal
from keyheat.simulator.demand import Demand, FlowDemand
from keyheat.simulator.flow import IndexFlow
from keyheat.simulator.masses import Floats
from keyheat.words import Direction

SECOND_S: Final = 1.0
SHARPNESS: Final = 1.75
NEWTON: Final = 20
EXACT: Final = 1e-4
ROUNDS: Final = 24
LEAST_UNITS: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Stage:
    """One refusal that requests may get from buckets that they share."""

    refusal: Refusal
    buckets: Sequence[Bucket]
    used: Floats  # what an accepted item of each row (columns) takes of each bucket (rows)
    hardness: Floats  # of each row: what the price is multiplied by
    of_index: str | None = None  # the index that holds writes back; None: asked before the partitions


@dataclass(frozen=True, slots=True)
class Limit:
    """Buckets that stages share: an account's quota limits the table and its indexes."""

    name: Refusal  # of its first stage
    rooms: Floats
    used: Floats
    hardness: Floats

    @classmethod
    def of(cls, stages: Sequence[Stage], now_s: float) -> "Limit":
        """The limit of stages with the same buckets."""
        used = sum((stage.used for stage in stages[1:]), stages[0].used)
        hardness = sum((stage.hardness for stage in stages[1:]), stages[0].hardness)
        return cls(stages[0].refusal, room(stages[0].buckets, now_s), used, hardness)

    def fits(self, accepted: Floats) -> bool:
        """Return whether there is room for these items of each row."""
        return bool(((self.used * accepted).sum(axis=1) <= self.rooms).all())

    def rise(self, accepted: Floats, price: float) -> float:
        """Return by how much the price has to rise, or may fall, if these items of each row are accepted."""
        demand = (self.used * accepted).T
        least = np.full(len(self.rooms), -price)
        return float(settled(demand, self.rooms, self.hardness[:, None], np.zeros(len(least)), least).max())


@dataclass(frozen=True, slots=True)
class Passing:
    """The part of each row that passes each stage and each partition, of what comes to it."""

    stages: Sequence[tuple[Stage, Floats]]
    served: Floats
    accepted: Floats  # items, in the mean


def room(buckets: Sequence[Bucket], now_s: float) -> Floats:
    """What each bucket can serve in the second that begins now: what it holds and what it will earn."""
    return np.array([bucket.room(now_s, SECOND_S) for bucket in buckets])


def stages_of(demand: Demand) -> list[Stage]:
    """Return all shared limits, in the order in which a request meets them."""
    stages = [stage for index in demand.blocks for stage in _gates(demand, index)]
    if demand.direction is Direction.WRITE:
        before = demand.units
        for name in demand.table.model.index_names:
            entries = _entry_units(demand, name)
            if entries.any():
                stages += _of_index(demand, name, entries, before)
                before = before + entries
    return stages


def _hardness(units: Floats, bucket: Bucket) -> Floats:
    return units**SHARPNESS if isinstance(bucket, TokenBucket) else np.ones(len(units))


def _gates(demand: Demand, index: str | None) -> Iterator[Stage]:
    """The gates of a resource, which its flows meet before its partitions."""
    mine = np.array([due.flow.index == index for due in demand.flows])[demand.owners]
    for gate in demand.lane(index).gates:
        hardness = _hardness(demand.whole, gate.bucket) * mine
        yield Stage(gate.refusal, [gate.bucket], (demand.units * mine)[None, :], hardness)


def _of_index(demand: Demand, name: str, entries: Floats, before: Floats) -> Iterator[Stage]:
    """An index without room holds back every write; of the account's quota it asks for its own entries.

    `before`: units of each row that the quota was asked for already.
    """
    resource, everyone = demand.table.model.resource(name), np.ones(len(entries))
    for gate in resource.write.gates:
        hardness = everyone
        if gate.refusal.cause is Cause.ACCOUNT:
            hardness = _hardness(before + entries, gate.bucket) - _hardness(before, gate.bucket)
        yield Stage(gate.refusal, [gate.bucket], entries[None, :], hardness, of_index=name)
    shares = demand.table.shares(name)
    used = np.zeros((len(resource.partitions), len(demand.flows)))
    for number, due in enumerate(demand.flows):
        for entry in entries_of(due, name):
            used[:, number] += entry.units * shares.of(entry.keys)
    buckets = [partition.write for partition in resource.partitions]
    yield Stage(resource.write.key_range, buckets, used[:, demand.owners], everyone, of_index=name)


def entries_of(due: FlowDemand, index: str) -> list[IndexFlow]:
    """What the writes of a flow put into an index."""
    return [entry for entry in due.flow.index_writes if entry.index == index]


def _entry_units(demand: Demand, index: str) -> Floats:
    """Units that an item of each row takes from an index."""
    each = [sum(entry.units for entry in entries_of(due, index)) for due in demand.flows]
    return np.array(each, np.float64)[demand.owners]


class Prices:
    """The prices of a table's limits, as they were settled for the last second."""

    __slots__ = ("_partitions", "_shared")

    def __init__(self) -> None:
        self._shared: dict[Refusal, float] = {}
        self._partitions: dict[Hashable, Floats] = {}

    def passing(self, demand: Demand, rooms: Floats, now_s: float) -> Passing:
        """How much of the demand passes all limits; `rooms` are those of its partitions."""
        stages = stages_of(demand)
        names = {id(stage.buckets[0]): stage.refusal for stage in reversed(stages)}
        by_bucket = [[stage for stage in stages if id(stage.buckets[0]) == bucket] for bucket in names]
        limits = [Limit.of(each, now_s) for each in by_bucket]
        price = {limit.name: self._shared.get(limit.name, 0.0) for limit in limits}
        whose = demand.direction, tuple(demand.blocks), len(rooms)
        at_partitions = self._partitions.get(whose, np.zeros(len(rooms)))
        hardness = ((demand.units * demand.weights) ** SHARPNESS)[:, None]
        weighted = demand.cells * (demand.units * demand.weights)[:, None]
        others, items = np.ones(len(demand.units)), demand.cells.sum(axis=1)
        free = not (at_partitions.any() or any(price.values()))
        if free and (weighted.sum(axis=0) <= rooms).all() and all(limit.fits(items) for limit in limits):
            return Passing([(stage, others) for stage in stages], np.ones_like(demand.cells), demand.cells)
        for _ in range(ROUNDS):
            exponent = sum((price[each.name] * each.hardness for each in limits), np.zeros(len(others)))
            shared = np.exp(-exponent) * others
            at_partitions = settled(weighted * shared[:, None], rooms, hardness, at_partitions)
            served = np.exp(-hardness * at_partitions)
            before = accepted = (demand.cells * served).sum(axis=1) * shared
            for limit in limits:
                rise = limit.rise(accepted, price[limit.name])
                price[limit.name] += rise
                accepted = accepted * np.exp(-rise * limit.hardness)
            elsewhere = np.sqrt(others * _others(demand, served))  # half way: else it would swing
            changed = np.abs(accepted - before).sum() / max(before.sum(), 1.0)
            others, moved = elsewhere, max(changed, np.abs(elsewhere - others).max())
            if moved < EXACT:
                break
        self._shared |= price
        self._partitions[whose] = at_partitions
        passed = [(stage, np.exp(-price[names[id(stage.buckets[0])]] * stage.hardness)) for stage in stages]
        return Passing(passed, served, demand.cells * served * shared[:, None])


def _others(demand: Demand, served: Floats) -> Floats:
    """The chance that the other items of a row's request are served by their partitions."""
    if not any(each.flow.together for each in demand.flows):
        return np.ones(len(served))
    items = np.maximum(demand.by_flow(demand.cells).sum(axis=1), 1.0)
    chances = demand.by_flow(demand.cells * served).sum(axis=1) / items
    numbers = {each.position: number for number, each in enumerate(demand.flows)}
    each = [
        chances[number] ** (each.of_request - 1) if each.partner is None else chances[numbers[each.partner]]
        for number, each in enumerate(demand.flows)
    ]
    return np.array(each)[demand.owners]


def settled(
    demand: Floats, rooms: Floats, hardness: Floats, start: Floats, least: Floats | float = 0.0
) -> Floats:
    """The price of each column, `least` or more, at which what is wanted (rows) fits into its room.

    The logarithm of what is used falls ever more slowly with the price, so Newton's steps never go too far.
    """
    price, rooms = np.maximum(start, least), np.maximum(rooms, LEAST_UNITS)
    if (price <= least).all() and (demand.sum(axis=0) <= rooms).all() and not np.any(least):
        return np.asarray(price)
    for _ in range(NEWTON):
        served = demand * np.exp(-hardness * price)
        used = np.maximum(served.sum(axis=0), LEAST_UNITS * LEAST_UNITS)
        slope = np.maximum((served * hardness).sum(axis=0) / used, LEAST_UNITS)
        over = np.log(used / rooms)
        price = np.maximum(price + over / slope, least)
        if (((over > -EXACT) | (price <= least)) & (over < EXACT)).all():
            break
    return np.asarray(price)
