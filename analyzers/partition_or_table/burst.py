"""How much burst a table or index had in hand: unused capacity of the last five minutes; and whether it came.

Nobody publishes it, so it is followed from both ends, stretch by stretch:

    likely   full to begin with; what is provisioned comes in, up to a full bucket; what is consumed goes out
    least    nothing to begin with; the same, and never less than what was later spent beyond what came in

Where there was some at least, the provisioned throughput cannot have been the limit. Burst is best effort, so
that consumption may be held to just what is provisioned, although there should be some by all that was saved.

    provisioned   500 500 500 500        a partition is rarely full at just that rate, minute after minute:
    consumed      420 500 500 500        it is the table's limit, and its burst was not there
    throttles       .   9   9   9

A flat line says so only where whole partitions do not serve just as much, or where the capacity was lowered
to it on the way, while the load was served before.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.evidence.settings import Steps
from keyheat.model import limits

OVERDRAWN: Final = 0.01  # of a full bucket: by so much an estimate may miss
EXACT: Final = 0.01  # share by which a rate may miss what is provisioned
FEWEST_S: Final = 5  # throttled seconds of a cell that show a flat line
MOST: Final = 0.8  # of them that are exact
NEAR: Final = 0.03  # share by which a rate may miss that of whole partitions
LOWER: Final = 0.8  # of what was provisioned before: so much less is a story of its own
BEFORE_S: Final = 3_600  # seconds before a moment in which a higher capacity was lowered to that of now


@dataclass(frozen=True, slots=True)
class Extra:
    """Depth that a bucket has beyond 300 s of its rate: unpublished, as observed."""

    floor_units: float = 0.0  # the least depth of any table's bucket
    buffer_units: float = 0.0  # entries that may wait for an index

    def depth(self, rate: float) -> float:
        """Units that a full bucket holds, for a rate in units/s."""
        return max(rate * limits.BURST_S, self.floor_units) + self.buffer_units


NO_EXTRA = Extra()


@dataclass(frozen=True, slots=True)
class Bank:
    """Units of burst in hand before and after a stretch of time, at least and likely; a full bucket's."""

    least: float
    likely: float
    least_after: float
    likely_after: float
    depth: float
    rate: float  # at which it is refilled
    overdrawn: bool = False  # whether more was consumed than can have been there: the reading is wrong

    def spent_before(self, share: float) -> bool:
        """Whether likely at most `share` of a full bucket was left when the stretch began."""
        return self.likely <= share * self.depth

    def spent_after(self, share: float) -> bool:
        """Whether likely at most `share` of a full bucket was left when the stretch ended."""
        return self.likely_after <= share * self.depth


def banks(
    used: Iterable[tuple[int, float]], provisioned: Steps, *, step_s: int, extra: Extra = NO_EXTRA
) -> Mapping[int, Bank]:
    """The bank around each stretch of `step_s` seconds in `used` ((epoch second, units consumed), any order).

    A pause between two stretches refills. Stretches whose provisioned capacity is unknown have no bank.
    """
    ordered = sorted(used)
    rates = [provisioned.at(start_s) for start_s, _ in ordered]
    needed = _needed(ordered, rates, step_s=step_s, extra=extra)
    found: dict[int, Bank] = {}
    held: tuple[float, float] | None = None
    reached_s = 0
    for (start_s, units), rate, (need, need_after) in zip(ordered, rates, needed, strict=True):
        if rate is None:
            held = None
            continue
        depth = extra.depth(rate)
        least, likely = held or (0.0, depth)
        earned = rate * max(0, start_s - reached_s) if held else 0.0
        likely = min(depth, likely + earned)
        least = min(likely, max(need, least + earned))
        # Refilled first, so that a full bucket spills: load that begins within a stretch found it full.
        # Of a stretch longer than what is saved up, the last part counts: it is taken to be like the others.
        last_s = min(step_s, limits.BURST_S)
        likely_after = max(0.0, min(depth, likely + rate * last_s) - units * last_s / step_s)
        least_after = min(likely_after, max(need_after, min(depth, least + rate * step_s) - units))
        most = max(min(depth, likely + rate * step_s), rate * step_s)
        overdrawn = units > most + OVERDRAWN * max(depth, units)
        found[start_s] = Bank(least, likely, least_after, likely_after, depth, rate, overdrawn)
        held, reached_s = (least_after, likely_after), start_s + step_s
    return found


def _needed(
    ordered: Sequence[tuple[int, float]], rates: Sequence[float | None], *, step_s: int, extra: Extra
) -> list[tuple[float, float]]:
    """What must have been in hand before and after each stretch, by what was spent from then on."""
    found: list[tuple[float, float]] = []
    need, next_s = 0.0, 0
    for (start_s, units), rate in zip(reversed(ordered), reversed(rates), strict=True):
        if rate is None:
            need, after = 0.0, 0.0
        else:
            after = max(0.0, need - rate * max(0, next_s - start_s - step_s))
            need = min(extra.depth(rate), max(0.0, after + units - rate * step_s))
        found.append((need, after))
        next_s = start_s
    return found[::-1]


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
