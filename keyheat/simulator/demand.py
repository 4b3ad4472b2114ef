"""What the flows of a second ask for: how many requests arrive, of what sizes, and on which partitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from keyheat.simulator.flow import Flow, sent_together
from keyheat.simulator.masses import Floats
from keyheat.simulator.shares import Places, TableShares


class FlowArrivals:
    """How many requests of each flow arrive in a second: at random, or evenly with the remainder kept."""

    __slots__ = ("_remainders", "_rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._remainders: dict[tuple[int, str], float] = {}

    def in_second(self, flows: Sequence[Flow]) -> list[int]:
        """Whole requests, in the order of the flows; a flow is known again by its place and operation."""
        found: list[int] = []
        for places in sent_together(flows):
            found += [self._of(places[0], flows[places[0]])] * len(places)
        return found

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
class FlowDemand:
    """One flow of one second, `place` being its place among the flows: items by size and by partition.

    Of two unlike items of a transaction each is a flow, and the other one `partner` flows from it. Those that
    fall on one partition ask it for both at once: a row of their own, the second one.
    """

    place: int
    flow: Flow
    requests: int
    units: Floats  # of an item, for each size
    cells: Floats  # items of each size (rows) on each partition (columns)
    mean: Floats  # and how many they are in the mean
    asks: Floats  # units that the request asks for where such an item is, for each row
    partner: int = 0

    @classmethod
    def drawn(
        cls, place: int, flow: Flow, requests: int, table: TableShares, rng: np.random.Generator
    ) -> "FlowDemand":
        """Items have their sizes and fall on partitions by chance, in proportion to the shares."""
        shares = table.shares(flow.index).of(flow.keys)
        units, parts = sizes_of(flow)
        counts = rng.multinomial(requests * flow.items, parts)
        return cls(
            place=place,
            flow=flow,
            requests=requests,
            units=units,
            cells=rng.multinomial(counts, shares).astype(np.float64),
            mean=flow.requests * flow.items * np.outer(parts, shares),
            asks=units,
        )

    @classmethod
    def pair(
        cls,
        places: Sequence[int],
        flows: Sequence[Flow],
        requests: int,
        table: TableShares,
        rng: np.random.Generator,
    ) -> "tuple[FlowDemand, FlowDemand]":
        """The two unlike items of so many transactions, on one partition or on two."""
        one, other = (flows[place] for place in places)
        shares, others = (table.shares(flow.index).of(flow.keys) for flow in (one, other))
        alone, elsewhere = shares * (1.0 - others), others * (1.0 - shares)
        items = rng.multinomial(requests, shares)
        both = rng.binomial(items, np.clip(others, 0.0, 1.0))
        apart = requests - int(both.sum())
        rest = rng.multinomial(apart, elsewhere / elsewhere.sum()) if apart else both * 0

        def demand(place: int, partner: int, cells: Sequence[Places], mean: Floats) -> FlowDemand:
            flow = flows[place]
            return cls(
                place=place,
                flow=flow,
                requests=requests,
                units=np.full(2, flow.units),
                cells=np.array(cells, np.float64),
                mean=flow.requests * np.array([mean, shares * others]),
                asks=np.array([flow.units, one.units + other.units]),
                partner=partner,
            )

        return (
            demand(places[0], 1, [items - both, both], alone),
            demand(places[1], -1, [rest, both], elsewhere),
        )

    @property
    def of_request(self) -> int:
        """Items of one request: of a transaction, all that have to be served together."""
        return 2 if self.partner else self.flow.items

    @property
    def items(self) -> int:
        """Items of all requests."""
        return self.requests * self.flow.items


def sizes_of(flow: Flow) -> tuple[Floats, Floats]:
    """The units of a flow's items, and the part of the items with each; many sizes are put into a few."""
    return _sizes(flow.sizes) if flow.sizes else (np.array([flow.units]), np.ones(1))


@lru_cache(maxsize=64)  # a load has the same sizes in every second, and nobody changes the arrays
def _sizes(sizes: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    units, parts = np.array(sorted(sizes), np.float64).T
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
