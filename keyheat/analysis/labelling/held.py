"""Consumption held to just what is provisioned, although burst should be in hand by all that was saved.

    provisioned   500 500 500 500        a partition is rarely full at just that rate, minute after minute:
    consumed      420 500 500 500        it is the table's limit, and its burst, best effort as it is,
    throttles       .   9   9   9        was not there

A flat line says so only where whole partitions do not serve just as much, or where the capacity was lowered
to it on the way, while the load was served before.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from keyheat.evidence.settings import Steps

EXACT: Final = 0.01  # share by which a rate may miss what is provisioned
FEWEST_S: Final = 5  # throttled seconds of a cell that show a flat line
MOST: Final = 0.8  # of them that are exact
NEAR: Final = 0.03  # share by which a rate may miss that of whole partitions
LOWER: Final = 0.8  # of what was provisioned before: so much less is a story of its own
BEFORE_S: Final = 3_600  # seconds before a moment in which a higher capacity was lowered to that of now


def exact(rate: float, capacity: float) -> bool:
    """Whether just what is provisioned was consumed."""
    return abs(rate - capacity) <= EXACT * capacity


def of_whole_partitions(rate: float, ceiling: float) -> bool:
    """Whether a rate is what a number of partitions serves at their ceiling."""
    count = round(rate / ceiling)
    return count > 0 and abs(rate - count * ceiling) <= NEAR * rate


def lowered(provisioned: Steps, second: float) -> bool:
    """Whether notably more was provisioned within the hour before."""
    now = provisioned.at(second)
    first = bisect_left(provisioned.starts_s, second - BEFORE_S)
    past = bisect_right(provisioned.starts_s, second)
    before = max(provisioned.values[first:past], default=None)
    return now is not None and before is not None and now <= LOWER * before


def held_cells(
    throttled: Mapping[int, Sequence[tuple[int, int]]],
    by_second: Mapping[int, float],
    provisioned: Steps,
    ceiling: float,
) -> frozenset[int]:
    """The cells in which nearly every throttled second consumed just what is provisioned.

    `throttled`: by cell, the throttled seconds with their throttles.
    """
    found = set()
    for cell, moments in throttled.items():
        known = [second for second, _ in moments if second in by_second]
        capacity = provisioned.at(cell)
        if not capacity or len(known) < FEWEST_S:
            continue
        flat = sum(exact(by_second[second], provisioned.at(second) or 0.0) for second in known)
        tells = lowered(provisioned, cell) or not of_whole_partitions(capacity, ceiling)
        if flat >= MOST * len(known) and tells:
            found.add(cell)
    return frozenset(found)
