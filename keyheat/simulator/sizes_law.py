"""How often an empty-running bucket has enough for a request, by the request's size.

A bucket that is asked for more than it earns hovers near empty: whatever comes next takes what there is, so
small requests are served more often than large ones, which need it to have been left alone for longer.

    a(x) = chance that it holds at least x.       up:    it earns 1 a unit of time, at any level
    The rates up and down through a level x       down:  a request of u units takes it from [max(x, u), x + u)
    are equal:                                           below x

        -a'(x) = sum over sizes u of rate_u * (a(max(x, u)) - a(x + u)),   a(0) = 1

(level crossings; P. Brill and M. Posner, "Level crossings in point processes applied to queues", Operations
Research 25, 1977, https://doi.org/10.1287/opre.25.4.662). Above the largest size a falls exponentially. From
there it follows downwards, step by step, for all buckets at once.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from keyheat.simulator.masses import Floats

STEPS_PER_SMALLEST: Final = 8
MOST_STEPS: Final = 512
NEWTON: Final = 40


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
    for _ in range(NEWTON):
        left = np.exp(-fall * units[:, None])
        value = fall - (rates * (1.0 - left)).sum(axis=0)
        fall = fall - value / np.maximum(1.0 - (rates * units[:, None] * left).sum(axis=0), 1e-9)
    return np.asarray(np.maximum(fall, np.minimum(demand - 1.0, 1e-6)))
