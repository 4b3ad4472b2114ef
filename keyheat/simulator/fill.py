"""How much of a demand fits through partitions and the limits of the resource as a whole.

Every request has the same chance x to pass what all share; a partition then serves what it can:

    accepted of partition p = demand_p · min(x, b_p)         b_p = what p can serve / what p is asked for

    accepted     ______ all b_p passed          x is the largest one that keeps every limit. The accepted
        |      /                                demand rises in straight lines between the b_p, so x is
        |    /                                  found exactly: no search, no iteration.
        |  /
        |/________ x
"""

from dataclasses import dataclass

import numpy as np

from keyheat.simulator.masses import Floats

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
