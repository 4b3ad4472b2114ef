"""How capacity is allocated in a second, on one lane: what its partitions serve, what its limits let pass.

Rows are the sizes of the flows' items, columns partitions. Of a row's items on a partition

    accepted = items * x * shape * served * others

x * shape is what all share lets pass: the same for all rows, but for a bucket that favours small requests;
served is the partition's part; others, of transactions, is the chance of the request's other items elsewhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyheat.model.admission import Lane, ResourceModel
from keyheat.model.bucket import Bucket, TokenBucket
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.model.resources import Refusal
from keyheat.simulator.demand import FlowDemand
from keyheat.simulator.masses import Floats
from keyheat.simulator.odds import Fill, fill, shared_out
from keyheat.simulator.shares import PartitionShares, TableShares
from keyheat.words import Direction

SECOND_S = 1.0
ROUNDS = 20
ENOUGH = 1e-3
"""Shape, served and others depend on each other: they are refined until they change by less than this."""


def room(buckets: Iterable[Bucket], now_s: float) -> Floats:
    """What each bucket can serve in the second that begins now: what it holds and what it will earn."""
    return np.array([bucket.room(now_s, SECOND_S) for bucket in buckets])


def spend(buckets: Sequence[Bucket], units: Floats, now_s: float) -> None:
    """Take what a second used."""
    for bucket, used in zip(buckets, units.tolist(), strict=True):
        if used:
            bucket.drain(used, now_s, SECOND_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimit:
    """Buckets that all requests share."""

    buckets: Sequence[Bucket]
    rooms: Floats  # what each can serve in the second
    weights: Floats  # what an accepted item of each row of the demand (columns) takes from each bucket (rows)
    refusals: tuple[tuple[Refusal, Floats], ...]
    """Who refuses, and the part of each flow's refusals that is its: several share one quota."""
    before_partitions: bool  # a gate of the resource itself, asked before its partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """How much of a second's flows is served, and by what it is limited."""

    limits: Sequence[SharedLimit]
    reached: tuple[
        tuple[SharedLimit, int], ...
    ]  # the limits that refuse, with the number of the bucket, in order
    passed: Floats  # the part of each row that comes to the partitions
    served: Floats  # the part of what comes to a partition that it serves, for each row
    refused: Floats  # the part that it refuses: of two items of a request it may have room for one
    others: Floats  # the chance of the request's items on other partitions, for each row and partition
    accepted: Floats  # items of each row on each partition, in the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneDemand:
    """What the flows of one second ask of one lane, and what its partitions have for them."""

    table: TableShares
    resource: ResourceModel
    lane: Lane
    shares: PartitionShares
    asked: Sequence[FlowDemand]
    starts: Sequence[int]  # the first row of each flow
    owners: Sequence[int]  # the flow of each row
    cells: Floats
    mean: Floats
    units: Floats  # of an item of each row
    weighted: Floats  # what it takes from its partition
    asks: Floats  # what its request asks for there
    buckets: Sequence[Bucket]
    rooms: Floats

    @classmethod
    def of(
        cls, table: TableShares, index: str | None, asked: Sequence[FlowDemand], now_s: float
    ) -> "LaneDemand":
        """The flows `asked`, which all read, or all write, the table or the same index."""
        resource = table.model.resource(index)
        reads = asked[0].flow.direction is Direction.READ
        buckets = [part.read if reads else part.write for part in resource.partitions]
        counts = [len(one.units) for one in asked]
        units = _joined([one.units for one in asked])
        weight = np.repeat([EVENTUAL_READ_WEIGHT if one.flow.eventual else 1.0 for one in asked], counts)
        return cls(
            table=table,
            resource=resource,
            lane=resource.read if reads else resource.write,
            shares=table.shares(index),
            asked=asked,
            starts=np.cumsum([0, *counts[:-1]]).tolist(),
            owners=np.repeat(np.arange(len(asked)), counts).tolist(),
            cells=_joined([one.cells for one in asked]),
            mean=_joined([one.mean for one in asked]),
            units=units,
            weighted=units * weight,
            asks=_joined([one.asks for one in asked]) * weight,
            buckets=buckets,
            rooms=room(buckets, now_s),
        )

    def by_flow(self, rows: Floats) -> Floats:
        """Sums over the rows of each flow."""
        return np.asarray(np.add.reduceat(rows, self.starts, axis=0))

    def allocation(self, limits: Sequence[SharedLimit]) -> Allocation:
        """How much of the flows fits through partitions and limits."""
        rooms = np.concatenate([limit.rooms for limit in limits] or [np.empty(0)])
        weights = np.concatenate([limit.weights for limit in limits] or [np.empty((0, len(self.units)))])
        rows = len(self.units)
        shape, others = np.ones(rows), np.ones_like(self.cells)
        reached: tuple[tuple[SharedLimit, int], ...] = ()
        alike = self._alike(limits)
        for _ in range(ROUNDS):
            offered = shape[:, None] * others
            demand = self.weighted @ (self.cells * offered)
            most = np.divide(self.rooms, demand, out=np.ones_like(demand), where=demand > 0.0)
            found = fill(self.cells * offered, most, weights, rooms)
            served = self._served(found.x * offered)
            reached = _reached(limits, found) or reached  # a shape that keeps a limit just reaches it
            if alike:
                break
            before = shape, others
            shape = self._shape(reached, served * others)
            others = self._others(served, others)
            if max(np.abs(shape - before[0]).max(), np.abs(others - before[1]).max()) < ENOUGH:
                break
        gate = bool(reached) and reached[0][0].before_partitions
        return Allocation(
            limits=limits,
            reached=reached,
            passed=found.x * shape if gate else np.ones(rows),
            served=served,
            refused=self._refused(served),
            others=others,
            accepted=self.cells * (found.x * offered) * served,
        )

    def _alike(self, limits: Sequence[SharedLimit]) -> bool:
        """Whether every item has the same chance wherever it asks."""
        if len(self.units) == 1 and not self.asked[0].flow.together:
            return True
        sizes = [self.weighted, *(limit.weights[0] for limit in limits if limit.before_partitions)]
        return all(np.ptp(each) == 0.0 for each in sizes) and not any(one.flow.together for one in self.asked)

    def _served(self, offered: Floats) -> Floats:
        """The part that each partition serves of what comes to it: of each row's items the part `offered`."""
        served = np.ones_like(self.cells)
        wanted = self.cells * offered * self.weighted[:, None]
        if len(self.asks) == 1 or np.ptp(self.asks) == 0.0:
            demand = wanted.sum(axis=0)
            short = demand > self.rooms
            served[:, short] = self.rooms[short] / demand[short]
            return served
        units, rows = np.unique(self.asks, return_inverse=True)
        earned = np.array([bucket.rate * SECOND_S for bucket in self.buckets])
        wanted = _gathered(wanted, rows)
        rates = _gathered(self.mean * offered * (self.weighted / self.asks)[:, None], rows)
        odds, used = self.table.odds.of(self.lane.key_range, units, rates, self.rooms, earned)
        short = wanted.sum(axis=0) > used * (1.0 + 1e-9)
        served[:, short] = shared_out(units, odds[:, short], wanted[:, short], used[short])[rows]
        return served

    def _shape(self, reached: Sequence[tuple[SharedLimit, int]], kept: Floats) -> Floats:
        """How much better small requests pass the gate that is reached; `kept` of them pass all others.

        An index holds back all writes alike, and so does a bucket that lends to whoever finds it not empty.
        """
        alike = np.ones(len(self.units))
        if not reached or not reached[0][0].before_partitions:
            return alike
        limit, number = reached[0]
        bucket = limit.buckets[number]
        whole = np.array([one.of_request if one.flow.together else 1 for one in self.asked])[self.owners]
        units, rows = np.unique(limit.weights[number] * whole, return_inverse=True)
        if len(units) == 1 or not isinstance(bucket, TokenBucket):
            return alike
        rates, wanted = (
            _gathered((items * kept).sum(axis=1, keepdims=True) / whole[:, None], rows)
            for items in (self.mean, self.cells)
        )
        earned = np.array([bucket.rate * SECOND_S])
        whose = self.lane.key_range, limit.refusals[0][0]
        odds, used = self.table.odds.of(whose, units, rates, limit.rooms[[number]], earned)
        passed = shared_out(units, odds, wanted * units[:, None], used)[:, 0]
        return np.asarray((passed / passed.max())[rows])

    def _others(self, served: Floats, others: Floats) -> Floats:
        """The chance that the other items of a request are served by their partitions, for each row."""
        items = np.maximum(self.by_flow(self.cells).sum(axis=1), 1.0)
        chances = self.by_flow(self.cells * served).sum(axis=1) / items
        counts = np.array([one.of_request if one.flow.together else 1 for one in self.asked])
        found = np.ones_like(self.cells) * (chances ** (counts - 1))[self.owners][:, None]
        for flow, one in enumerate(self.asked):
            if one.partner:
                row, other = self.starts[flow], self.starts[flow + one.partner]
                found[row] = _elsewhere(self.cells[other], served[other])
                found[row + 1] = 1.0
        slowly = (1.0 / counts)[self.owners][:, None]  # else it would swing: more survive, fewer are served
        return np.asarray(others ** (1.0 - slowly) * found**slowly)

    def _refused(self, served: Floats) -> Floats:
        """The part of what comes to a partition that it refuses, for each row.

        Of two items of a request the first is asked for by itself, the second beside it if that has room.
        """
        refused = 1.0 - served
        for flow, one in enumerate(self.asked):
            if one.partner > 0:
                first, second = self.starts[flow], self.starts[flow + 1]
                refused[first + 1] = refused[first]
                refused[second + 1] += refused[second] - refused[first]
        return refused


def _joined(rows: Sequence[Floats]) -> Floats:
    """Those of all flows one below the other; most often there is one flow."""
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def _elsewhere(items: Floats, served: Floats) -> Floats:
    """The part of items that is served on all partitions but one, for each."""
    asked, accepted = (each.sum() - each for each in (items, items * served))
    return np.asarray(np.divide(accepted, asked, out=np.ones_like(asked), where=asked > 0.0))


def _reached(limits: Sequence[SharedLimit], found: Fill) -> tuple[tuple[SharedLimit, int], ...]:
    places = [(limit, number) for limit in limits for number in range(len(limit.buckets))]
    return tuple(places[number] for number in found.limits)


def _gathered(values: Floats, rows: npt.NDArray[np.intp]) -> Floats:
    """Sums over the rows that have the same size."""
    sums = np.zeros((int(rows.max()) + 1, values.shape[1]))
    np.add.at(sums, rows, values)
    return sums
