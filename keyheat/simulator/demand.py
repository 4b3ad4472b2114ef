"""The demand of one second: number and sizes of requests, and their partitions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from keyheat.model.admission import Lane
from keyheat.model.bucket import Bucket
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.simulator.flow import Flow, sent_together
from keyheat.simulator.masses import Floats, Places, TableShares
from keyheat.words import Direction

MOST_SIZES: Final = 8
"""Sizes that the items of one flow are sorted into."""


class FlowArrivals:
    """How many requests of each flow arrive in a second: at random, or evenly with the remainder kept."""

    __slots__ = ("_remainders", "_rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._remainders: dict[tuple[int, str], float] = {}

    def in_second(self, flows: Sequence[Flow]) -> list[int]:
        """Whole requests of each flow; flows of one second and the next match by place and operation."""
        counts: list[int] = []
        for positions in sent_together(flows):
            counts += [self._of(positions[0], flows[positions[0]])] * len(positions)
        return counts

    def _of(self, number: int, flow: Flow) -> int:
        if flow.poisson:
            return int(self._rng.poisson(flow.requests))
        due = flow.requests + self._remainders.get((number, flow.operation), 0.0)
        whole = int(due + 1e-9)
        self._remainders[number, flow.operation] = due - whole
        return whole


@dataclass(frozen=True, slots=True)
class FlowDemand:
    """The requests of one flow in one second.

    `of_request` counts the items that are written together; `partner` is the place of the flow that has a
    transaction's other item, if that is another one.
    """

    position: int
    flow: Flow
    requests: int
    of_request: int = 1
    partner: int | None = None

    @property
    def items(self) -> int:
        return self.requests * self.flow.items


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
    blocks = _blocks(table, [due.flow.index for due in demands])
    columns = sum(block.stop - block.start for block in blocks.values())
    sizes = [sizes_of(due.flow) for due in demands]
    owners = np.repeat(np.arange(len(demands)), [len(units) for units, _parts in sizes])
    cells = np.zeros((len(owners), columns))
    for number, (due, (_units, parts)) in enumerate(zip(demands, sizes, strict=True)):
        counts = rng.multinomial(due.items, parts)
        shares = table.shares(due.flow.index).of(due.flow.keys)
        cells[owners == number, blocks[due.flow.index]] = rng.multinomial(counts, shares)
    units = np.concatenate([units for units, _parts in sizes])
    together = np.array([_units_together(due, flows) for due in demands])[owners]
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
            flow = flows[position]
            if flow.direction is direction:
                of_request = max(flow.items, len(positions)) if flow.together else 1
                other = partner if partner != position else None
                yield FlowDemand(position, flow, requests[position], of_request, other)


def _units_together(due: FlowDemand, flows: Sequence[Flow]) -> float:
    """Units of all items of a transaction; 0 of other requests, whose items are admitted one by one."""
    if not due.flow.together:
        return 0.0
    return due.flow.units * due.flow.items + (0.0 if due.partner is None else flows[due.partner].units)


def _blocks(table: TableShares, indexes: Sequence[str | None]) -> dict[str | None, slice]:
    blocks: dict[str | None, slice] = {}
    start = 0
    for index in dict.fromkeys(indexes):
        end = start + len(table.model.resource(index).partitions)
        blocks[index] = slice(start, end)
        start = end
    return blocks


def sizes_of(flow: Flow) -> tuple[Floats, Floats]:
    """The units of a flow's items, and the part of the items with each; many sizes are put into a few."""
    return _sizes(flow.sizes) if flow.sizes else (np.array([flow.units]), np.ones(1))


@lru_cache(maxsize=64)  # a load has the same sizes in every second; the arrays are never changed
def _sizes(sizes: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    units, parts = np.array(sorted(sizes), np.float64).T
    if len(units) > MOST_SIZES:
        taken = np.cumsum(units * parts) - units * parts / 2
        bins: Places = np.minimum((taken / (units @ parts) * MOST_SIZES).astype(int), MOST_SIZES - 1)
        sums = np.bincount(bins, units * parts, MOST_SIZES), np.bincount(bins, parts, MOST_SIZES)
        kept = sums[1] > 0.0
        units, parts = sums[0][kept] / sums[1][kept], sums[1][kept]
    return units, parts / parts.sum()


def rounded(values: Floats, rng: np.random.Generator) -> Floats:
    """Whole numbers that are the values in the mean: the fraction is the chance of one more."""
    whole = np.floor(values)
    return whole + (rng.random(values.shape) < values - whole)
