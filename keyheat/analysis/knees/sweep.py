"""The knee of a sweep: the smallest number of shards from which more of them bring nothing.

    accepted units/s            N is enough where
        |        8____16        1. at most 1 % of the writes are throttled with N shards, and
        |     4/                2. no larger N of the sweep accepts over 5 % more units per second.
        |  2/
        |1/                     The knee is the smallest N that is enough.
        +-----------------> N

A run that says nothing about the table (its generator was the limit) is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

THROTTLED_MOST: Final = 0.01
RISE_MOST: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One valid run of a sweep."""

    shards: int
    accepted_per_s: float  # write units
    throttled_share: float  # of the writes


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Where the sweep stops gaining; None where no number of shards in it was enough."""

    point: Point | None
    best: Point  # the point that accepted most; the smallest number of shards among equals


def knee_of(points: Sequence[Point]) -> Knee | None:
    """The knee of a sweep; None where it has no point."""
    if not points:
        return None
    ordered = sorted(points, key=lambda point: point.shards)
    enough = (
        point
        for place, point in enumerate(ordered)
        if point.throttled_share <= THROTTLED_MOST and not _rises(point, ordered[place + 1 :])
    )
    best = max(ordered, key=lambda point: (point.accepted_per_s, -point.shards))
    return Knee(point=next(enough, None), best=best)


def _rises(point: Point, larger: Sequence[Point]) -> bool:
    return any(one.accepted_per_s > point.accepted_per_s * (1 + RISE_MOST) for one in larger)
