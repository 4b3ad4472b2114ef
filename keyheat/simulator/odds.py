"""Who gets what from a bucket that has too little for all: the odds of each size of request.

They are worked out from the rates at which the sizes arrive, and again only once those have changed.

A bucket that is asked for more than it earns hovers near empty: whatever comes next takes what there is, so
small requests are served more often than large ones, which need it to have been left alone for longer.

    a(x) = chance that it holds at least x.       up:    it earns 1 a unit of time, at any level
    The rates up and down through a level x       down:  a request of u units takes it from [max(x, u), x + u)
    are equal:                                           below x

        -a'(x) = sum over sizes u of rate_u * (a(max(x, u)) - a(x + u)),   a(0) = 1

(level crossings; P. Brill and M. Posner, "Level crossings in point processes applied to queues", Operations
Research 25, 1977, https://doi.org/10.1287/opre.25.4.662). Above the largest size a falls exponentially. From
there it follows downwards, step by step, for all buckets at once.

Every request has the same chance x to pass what all share; a partition then serves what it can:

    accepted of partition p = demand_p · min(x, b_p)         b_p = what p can serve / what p is asked for

    accepted     ______ all b_p passed          x is the largest one that keeps every limit. The accepted
        |      /                                demand rises in straight lines between the b_p, so x is
        |    /                                  found exactly: no search, no iteration.
        |  /
        |/________ x
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyheat.simulator.masses import Floats

STEPS_PER_SMALLEST: Final = 8
MOST_STEPS: Final = 512
HOVERING_NEWTON: Final = 40


@dataclass(frozen=True, slots=True)
class Hovering:
    """What is known of buckets that hover near empty."""

    chances: Floats  # of each size (rows) at each bucket (columns) to find enough
    levels: Floats  # what each bucket holds in the mean


def hovering(units: Floats, rates: Floats) -> Hovering:
    """The chance of each size (rows) at each bucket (columns) to find enough, and what the bucket then holds.

    `units` are the sizes, above 0; `rates` the requests of each size per unit that the bucket earns. Where a
    bucket earns more than it is asked for, every chance is 1 and the level, being no limit, is given as 0.
    """
    short = units @ rates > 1.0 + 1e-9
    found = Hovering(np.ones_like(rates), np.zeros(rates.shape[1]))
    if short.any():
        found.chances[:, short], found.levels[short] = _below(units, rates[:, short])
    return found


def _below(units: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Down from above all sizes."""
    largest = float(units.max())
    step = max(float(units.min()) / STEPS_PER_SMALLEST, largest / MOST_STEPS)
    top = int(np.ceil(largest / step))
    fall = _fall(units, rates)
    levels = np.arange(2 * top + 2) * step
    holds = np.exp(-fall * (levels[:, None] - top * step))  # right above the largest size; below, from there
    jumps = units / step
    for place in range(top - 1, -1, -1):
        slope = _slope(holds, rates, jumps, place + 1)
        holds[place] = holds[place + 1] + step * slope
        holds[place] = holds[place + 1] + step / 2 * (slope + _slope(holds, rates, jumps, place))
    level = (holds[:top].sum(axis=0) * step + holds[top] / fall) / holds[0]
    return np.asarray(_at(holds, jumps) / holds[0]), np.asarray(level)


def _slope(holds: Floats, rates: Floats, jumps: Floats, place: int) -> Floats:
    """-a' at a level."""
    return np.asarray(
        (rates * (_at(holds, np.maximum(place, jumps)) - _at(holds, place + jumps))).sum(axis=0)
    )


def _at(holds: Floats, places: Floats) -> Floats:
    """a between the levels."""
    below = np.minimum(places.astype(np.int64), len(holds) - 2)
    part = (places - below)[:, None]
    return np.asarray(holds[below] * (1.0 - part) + holds[below + 1] * part)


def _fall(units: Floats, rates: Floats) -> Floats:
    """How steeply a falls above all sizes: the root of fall = sum of rate * (1 - exp(-fall * u)), above 0."""
    demand = units @ rates
    fall = rates.sum(axis=0)  # above the root, and the function is concave: Newton comes down to it
    for _ in range(HOVERING_NEWTON):
        left = np.exp(-fall * units[:, None])
        value = fall - (rates * (1.0 - left)).sum(axis=0)
        fall = fall - value / np.maximum(1.0 - (rates * units[:, None] * left).sum(axis=0), 1e-9)
    return np.asarray(np.maximum(fall, np.minimum(demand - 1.0, 1e-6)))


CHANGED: Final = 0.05
"""Part by which sizes or their demand may differ before the odds are worked out again."""
LEAST_ODDS: Final = 1e-9
SLOPE: Final = 1e-3  # large ones come last where the odds make no difference
NEWTON: Final = 60
EXACT: Final = 1e-6


class Odds:
    """The odds at the buckets of a table as they were last worked out, by who asks."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Floats, Floats, Hovering]] = {}

    def of(
        self, whose: Hashable, units: Floats, rates: Floats, rooms: Floats, earned: Floats
    ) -> tuple[Floats, Floats]:
        """The part of each size (rows) that each bucket (columns) serves in a second, and the room it uses.

        `rates` are requests per second in the mean, `rooms` what the buckets can serve in the second, and
        `earned` the part of it that they earn in it. What they hold above the level at which they hover
        serves all sizes alike, and the level stays.
        """
        found = self.hovering(whose, units, rates / earned)
        used = np.maximum(rooms - found.levels, 0.0)
        demand = units @ rates
        spare = np.divide(used - earned, demand - earned, out=np.ones_like(demand), where=demand > earned)
        alike = np.clip(spare, 0.0, 1.0)
        return alike + (1.0 - alike) * found.chances, used

    def hovering(self, whose: Hashable, units: Floats, rates: Floats) -> Hovering:
        """What is known of buckets that hover, of rates that are about these: per unit that is earned."""
        known = self._known.get(whose)
        if known is None or known[1].shape != rates.shape or not _alike(known[0], units):
            found = hovering(units, rates)
            self._known[whose] = units, rates, found
            return found
        _units, before, found = known
        moved = np.abs(rates - before) * units[:, None]
        stale = moved.sum(axis=0) > CHANGED * (units @ before)
        if stale.any():
            before, chances, levels = before.copy(), found.chances.copy(), found.levels.copy()
            before[:, stale] = rates[:, stale]
            newer = hovering(units, rates[:, stale])
            chances[:, stale], levels[stale] = newer.chances, newer.levels
            found = Hovering(chances, levels)
            self._known[whose] = units, before, found
        return found


def _alike(known: Floats, units: Floats) -> bool:
    return bool((np.abs(known - units) <= CHANGED * units).all())


def shared_out(units: Floats, odds: Floats, wanted: Floats, rooms: Floats) -> Floats:
    """The odds at each bucket raised to the power at which it serves exactly its room.

    `wanted` are units of each size (rows) at each bucket (columns), more in all than there is room for. More
    demand than usual is at the cost of the large ones: whoever is always served still is.
    """
    logs = np.log(np.maximum(odds, LEAST_ODDS)) - (units / units.max())[:, None] * SLOPE
    powers = np.zeros(len(rooms))
    for _ in range(NEWTON):  # the sum falls ever more slowly, so the steps never go too far
        served = wanted * np.exp(powers * logs)
        over = served.sum(axis=0) - rooms
        if (over <= EXACT * rooms + 1e-9).all():
            break
        powers += np.maximum(over, 0.0) / np.maximum(-(served * logs).sum(axis=0), 1e-300)
    return np.asarray(np.exp(powers * logs))


ALIKE = 1e-9
"""Limits that are reached at the same x, but for rounding, refuse the same requests."""


@dataclass(frozen=True, slots=True)
class Fill:
    """The chance to pass what all share, and the limits that make it less than 1, if any do."""

    x: float
    limits: tuple[int, ...] = ()


def fill(requests: Floats, most: Floats, weights: Floats, limits: Floats) -> Fill:
    """The largest x up to 1 that keeps every limit.

    `requests` are those of each flow (rows) on each partition (columns), `most` the part that each partition
    can serve; a limit bounds the sum over flows of `weights` (a row for each limit) times accepted requests.
    """
    if not len(limits) or weights.max(initial=0.0) == 0.0:
        return Fill(1.0)
    most = np.minimum(most, 1.0)
    asked = weights @ (requests @ most)
    broken = np.flatnonzero(asked > limits * (1.0 + 1e-12))
    if not len(broken):
        return Fill(1.0)
    order = np.argsort(most)
    knots = np.concatenate([[0.0], most[order], [1.0]])
    ordered = requests[:, order]
    served = np.cumsum(ordered * knots[1:-1], axis=1)  # by the partitions up to a knot, which are full there
    waiting = requests.sum(axis=1, keepdims=True) - np.cumsum(ordered, axis=1)
    accepted = np.zeros((len(requests), len(knots)))
    accepted[:, 1:-1] = served + waiting * knots[1:-1]
    accepted[:, -1] = served[:, -1] + waiting[:, -1]
    found = np.array([_where(knots, weights[n] @ accepted, max(0.0, limits[n])) for n in broken])
    x = float(found.min())
    return Fill(x, tuple(int(n) for n in broken[found <= x * (1.0 + ALIKE)]))


def _where(knots: Floats, values: Floats, limit: float) -> float:
    """The place between the knots where a rising line of straight pieces reaches a limit."""
    beyond = int(np.argmax(values > limit))
    if beyond == 0:
        return 0.0
    low, high = values[beyond - 1], values[beyond]
    return float(knots[beyond - 1] + (limit - low) / (high - low) * (knots[beyond] - knots[beyond - 1]))
