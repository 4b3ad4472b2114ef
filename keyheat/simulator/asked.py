"""What a second asks of a table: whole requests per flow, divided among partitions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyheat.model.admission import ResourceModel
from keyheat.model.table import TableModel
from keyheat.simulator.flow import Flow
from keyheat.simulator.masses import Floats
from keyheat.simulator.odds import Odds
from keyheat.simulator.shares import Shares


class Ground:
    """A table and its indexes, with the shares of their partitions, and what is known of their buckets."""

    __slots__ = ("_shares", "model", "odds")

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self.odds = Odds()
        self._shares: dict[str | None, tuple[ResourceModel, int, Shares]] = {}

    def shares(self, index: str | None) -> Shares:
        """How requests divide among the partitions that the table or an index has now."""
        resource = self.model.resource(index)
        count = len(resource.partitions)
        known = self._shares.get(index)
        if known is None or known[:2] != (resource, count):
            shares = Shares() if known is None else known[2]
            shares.set_boundaries(resource.partitions.boundaries)
            self._shares[index] = (resource, count, shares)
            return shares
        return known[2]


class Arrivals:
    """How many requests of each flow arrive in a second: at random, or evenly with the remainder kept."""

    __slots__ = ("_remainders", "_rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._remainders: dict[tuple[int, str], float] = {}

    def in_second(self, flows: Sequence[Flow]) -> list[int]:
        """Whole requests, in the order of the flows; a flow is known again by its place and operation."""
        return [self._of(place, flow) for place, flow in enumerate(flows)]

    def _of(self, place: int, flow: Flow) -> int:
        if flow.poisson:
            return int(self._rng.poisson(flow.requests))
        due = flow.requests + self._remainders.get((place, flow.operation), 0.0)
        whole = int(due + 1e-9)
        self._remainders[place, flow.operation] = due - whole
        return whole


MOST_SIZES = 8
"""Sizes that the items of one flow are sorted into."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One flow of one second, `place` being its place among the flows: items by size and by partition."""

    place: int
    flow: Flow
    requests: int
    units: Floats  # of an item, for each size
    cells: Floats  # items of each size (rows) on each partition (columns)
    mean: Floats  # and how many they are in the mean

    @classmethod
    def drawn(
        cls, place: int, flow: Flow, requests: int, ground: Ground, rng: np.random.Generator
    ) -> "Asked":
        """Items have their sizes and fall on partitions by chance, in proportion to the shares."""
        shares = ground.shares(flow.index).of(flow.keys)
        units, parts = sizes_of(flow)
        counts = rng.multinomial(requests * flow.items, parts)
        return cls(
            place=place,
            flow=flow,
            requests=requests,
            units=units,
            cells=rng.multinomial(counts, shares).astype(np.float64),
            mean=flow.requests * flow.items * np.outer(parts, shares),
        )

    @property
    def items(self) -> int:
        """Items of all requests."""
        return self.requests * self.flow.items


def sizes_of(flow: Flow) -> tuple[Floats, Floats]:
    """The units of a flow's items, and the part of the items with each; many sizes are put into a few."""
    if not flow.sizes:
        return np.array([flow.units]), np.ones(1)
    units, parts = np.array(sorted(flow.sizes), np.float64).T
    if len(units) > MOST_SIZES:
        taken = np.cumsum(units * parts) - units * parts / 2
        bins = np.minimum((taken / (units @ parts) * MOST_SIZES).astype(int), MOST_SIZES - 1)
        sums = np.bincount(bins, units * parts, MOST_SIZES), np.bincount(bins, parts, MOST_SIZES)
        kept = sums[1] > 0.0
        units, parts = sums[0][kept] / sums[1][kept], sums[1][kept]
    return units, parts / parts.sum()


def rounded(values: Floats, rng: np.random.Generator) -> Floats:
    """Whole numbers that are the values in the mean: the fraction is the chance of one more."""
    whole = np.floor(values)
    return whole + (rng.random(values.shape) < values - whole)
