"""The demand of one second, and the share of it that passes all limits: gates, partitions, full indexes.

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
from functools import lru_cache
from typing import Final

import numpy as np

from keyheat.model.admission import Lane
from keyheat.model.bucket import Bucket, TokenBucket
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.model.resources import Cause, Refusal
from keyheat.simulator.flow import Flow, IndexFlow, sent_together
from keyheat.simulator.masses import Floats, Places, TableShares
from keyheat.words import Direction

MOST_SIZES: Final = 8
"""Sizes that the items of one flow are sorted into."""
SECOND_S: Final = 1.0
SHARPNESS: Final = 1.75
NEWTON: Final = 20
EXACT: Final = 1e-4
ROUNDS: Final = 24
LEAST_UNITS: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FlowDemand:
    """The requests of one flow in one second.

    `of_request` counts the items that are written together, and `together` their units, 0 where items are
    admitted one by one; `partner` is the place of the flow that has a transaction's other item, if that is
    another one.
    """

    position: int
    flow: Flow
    requests: int
    of_request: int
    together: float
    partner: int | None

    @property
    def items(self) -> int:
        return self.requests * self.flow.items

    def entries(self, index: str) -> list[IndexFlow]:
        """What its writes put into an index."""
        return [entry for entry in self.flow.index_writes if entry.index == index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """All reads, or all writes, of one second. A row is one size of one flow's items, a column a partition.

    `blocks` are the resources that are asked, each with its columns: the table, and indexes that are read.
    """

    table: TableShares
    direction: Direction
    flows: Sequence[FlowDemand]
    blocks: dict[str | None, slice]
    owners: Places  # the flow of each row
    units: Floats  # of an item of each row
    whole: Floats  # of all that its request asks for at once
    weights: Floats  # of a unit, at a partition
    cells: Floats  # items
    buckets: Sequence[Bucket]  # of the partitions

    def lane(self, index: str | None) -> Lane:
        """Return the lane of a resource."""
        resource = self.table.model.resource(index)
        return resource.read if self.direction is Direction.READ else resource.write

    def by_flow(self, values: Floats) -> Floats:
        """Sums over the rows of each flow."""
        starts = np.searchsorted(self.owners, np.arange(len(self.flows)))
        return np.asarray(np.add.reduceat(values, starts, axis=0))

    def stages(self) -> Iterator["Stage"]:
        """All shared limits, in the order in which a request meets them."""
        for index in self.blocks:
            mine = np.array([due.flow.index == index for due in self.flows])[self.owners]
            for gate in self.lane(index).gates:
                hardness = _hardness(self.whole, gate.bucket) * mine
                yield Stage(gate.refusal, [gate.bucket], (self.units * mine)[None, :], hardness)
        before = self.units  # of each row, that the account's quota was asked for already
        for name in self.table.model.index_names if self.direction is Direction.WRITE else ():
            each = [sum(entry.units for entry in due.entries(name)) for due in self.flows]
            entries = np.array(each, np.float64)[self.owners]
            if entries.any():
                yield from self._of_index(name, entries, before)
                before = before + entries

    def _of_index(self, name: str, entries: Floats, before: Floats) -> Iterator["Stage"]:
        """An index without room holds back every write; it asks the account's quota for its own entries."""
        resource, everyone = self.table.model.resource(name), np.ones(len(entries))
        for gate in resource.write.gates:
            hardness = everyone
            if gate.refusal.cause is Cause.ACCOUNT:
                hardness = _hardness(before + entries, gate.bucket) - _hardness(before, gate.bucket)
            yield Stage(gate.refusal, [gate.bucket], entries[None, :], hardness, of_index=name)
        shares = self.table.shares(name)
        used = np.zeros((len(resource.partitions), len(self.flows)))
        for number, due in enumerate(self.flows):
            for entry in due.entries(name):
                used[:, number] += entry.units * shares.of(entry.keys)
        buckets = [partition.write for partition in resource.partitions]
        yield Stage(resource.write.key_range, buckets, used[:, self.owners], everyone, of_index=name)


def demand_of(
    table: TableShares,
    direction: Direction,
    flows: Sequence[Flow],
    requests: Sequence[int],
    rng: np.random.Generator,
) -> Demand | None:
    """The flows of one direction, divided at random among the partitions that there are now."""
    demands = list(_demands(direction, flows, requests))
    if not demands:
        return None
    blocks: dict[str | None, slice] = {}
    columns = 0
    for index in dict.fromkeys(due.flow.index for due in demands):
        first, columns = columns, columns + len(table.model.resource(index).partitions)
        blocks[index] = slice(first, columns)
    sizes = [
        _sizes(due.flow.sizes) if due.flow.sizes else (np.array([due.flow.units]), np.ones(1))
        for due in demands
    ]
    owners = np.repeat(np.arange(len(demands)), [len(units) for units, _parts in sizes])
    cells = np.zeros((len(owners), columns))
    for number, (due, (_units, parts)) in enumerate(zip(demands, sizes, strict=True)):
        counts = rng.multinomial(due.items, parts)
        shares = table.shares(due.flow.index).of(due.flow.keys)
        cells[owners == number, blocks[due.flow.index]] = rng.multinomial(counts, shares)
    units = np.concatenate([units for units, _parts in sizes])
    together = np.array([due.together for due in demands])[owners]
    return Demand(
        table=table,
        direction=direction,
        flows=demands,
        blocks=blocks,
        owners=owners,
        units=units,
        whole=np.where(together > 0.0, together, units),
        weights=np.array([EVENTUAL_READ_WEIGHT if due.flow.eventual else 1.0 for due in demands])[owners],
        cells=cells,
        buckets=[
            partition.read if direction is Direction.READ else partition.write
            for index in blocks
            for partition in table.model.resource(index).partitions
        ],
    )


def _demands(direction: Direction, flows: Sequence[Flow], requests: Sequence[int]) -> Iterator[FlowDemand]:
    for positions in sent_together(flows):
        for position, partner in zip(positions, reversed(positions), strict=True):
            flow, other = flows[position], partner if partner != position else None
            if flow.direction is direction:
                of_request, together = 1, 0.0
                if flow.together:
                    of_request = max(flow.items, len(positions))
                    together = flow.units * flow.items + (0.0 if other is None else flows[other].units)
                yield FlowDemand(position, flow, requests[position], of_request, together, other)


@lru_cache(maxsize=64)  # a load has the same sizes in every second; the arrays are never changed
def _sizes(sizes: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    """The units of a flow's items, and the part of the items with each; many sizes are put into a few."""
    units, parts = np.array(sorted(sizes), np.float64).T
    if len(units) > MOST_SIZES:
        taken = np.cumsum(units * parts) - units * parts / 2
        bins: Places = np.minimum((taken / (units @ parts) * MOST_SIZES).astype(int), MOST_SIZES - 1)
        sums = np.bincount(bins, units * parts, MOST_SIZES), np.bincount(bins, parts, MOST_SIZES)
        kept = sums[1] > 0.0
        units, parts = sums[0][kept] / sums[1][kept], sums[1][kept]
    return units, parts / parts.sum()


@dataclass(frozen=True, slots=True)
class Stage:
    """One refusal that requests may get from buckets that they share."""

    refusal: Refusal
    buckets: Sequence[Bucket]
    used: Floats  # what an accepted item of each row (columns) takes of each bucket (rows)
    hardness: Floats  # of each row: what the price is multiplied by
    of_index: str | None = None  # the index that holds writes back; None: asked before the partitions


def _hardness(units: Floats, bucket: Bucket) -> Floats:
    return units**SHARPNESS if isinstance(bucket, TokenBucket) else np.ones(len(units))


@dataclass(frozen=True, slots=True)
class _Limit:
    """Buckets that stages share: an account's quota limits the table and its indexes."""

    name: Refusal  # of its first stage
    rooms: Floats
    used: Floats
    hardness: Floats

    @classmethod
    def of(cls, stages: Sequence[Stage], now_s: float) -> "_Limit":
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


class Prices:
    """The prices of a table's limits, as they were settled for the last second."""

    __slots__ = ("_partitions", "_shared")

    def __init__(self) -> None:
        self._shared: dict[Refusal, float] = {}  # by the first stage of each limit
        self._partitions: dict[Hashable, Floats] = {}

    def passing(self, demand: Demand, now_s: float) -> Passing:
        """How much of the demand passes all limits."""
        stages, rooms = list(demand.stages()), room(demand.buckets, now_s)
        names = {id(stage.buckets[0]): stage.refusal for stage in reversed(stages)}
        limits = [_Limit.of([each for each in stages if id(each.buckets[0]) == at], now_s) for at in names]
        price = {limit.name: self._shared.get(limit.name, 0.0) for limit in limits}
        whose = demand.direction, tuple(demand.blocks), len(rooms)
        at_partitions = self._partitions.get(whose, np.zeros(len(rooms)))
        weighted = demand.cells * (demand.units * demand.weights)[:, None]
        others, items = np.ones(len(demand.units)), demand.cells.sum(axis=1)
        free = not (at_partitions.any() or any(price.values()))
        if free and (weighted.sum(axis=0) <= rooms).all() and all(limit.fits(items) for limit in limits):
            return Passing([(stage, others) for stage in stages], np.ones_like(demand.cells), demand.cells)
        hardness = ((demand.units * demand.weights) ** SHARPNESS)[:, None]
        for _ in range(ROUNDS):
            exponent = sum((price[each.name] * each.hardness for each in limits), np.zeros(len(items)))
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
