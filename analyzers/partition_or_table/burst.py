"""How much burst a table or index had in hand: unused capacity of the last five minutes; and whether it came.

Nobody publishes it, and it is best effort, so it is followed from both ends, stretch by stretch:

    likely   full to begin with; what is provisioned comes in, up to a full bucket; what is consumed goes out
    shown    what was later consumed beyond what came in: so much was there, whatever AWS grants

What was saved by estimate may never come. What was shown was there for certain: where it is more than comes
in until the end of a stretch, the provisioned throughput cannot have been the limit in that stretch.

    provisioned   500 500 500 500
    consumed      420 500 700 700        at the first two, 400 units were in hand: spent in the last two
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.evidence.settings import Steps
from keyheat.model import limits

OVERDRAWN: Final = 0.01  # of a full bucket: by so much an estimate may miss
ABOUT: Final = 1.01  # times what is provisioned: so little more is the same by another clock
TENTH: Final = 0.1  # of one partition
SAME: Final = 0.005  # share by which two rates may differ that are the same
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
    """Units of burst by estimate before and after a stretch of time, and what was shown; a full bucket's."""

    likely: float
    likely_after: float
    shown_after: float
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
    used: Iterable[tuple[int, float]],
    provisioned: Steps,
    *,
    step_s: int,
    extra: Extra = NO_EXTRA,
    own: Mapping[int, float] | None = None,
    highest: Callable[[float], float | None] | None = None,
) -> Mapping[int, Bank]:
    """The bank around each stretch of `step_s` seconds in `used` ((epoch second, units consumed), any order).

    `own`: what was consumed for certain, where `used` holds estimates; `highest`: the most that can have been
    provisioned, where that is not known. A pause between two stretches refills. Stretches whose provisioned
    capacity is unknown have no bank.
    """
    ordered = sorted(used)
    rates = [provisioned.at(start_s) for start_s, _ in ordered]
    certain = ordered if own is None else sorted(own.items())
    shown = _shown(certain, highest or provisioned.at, step_s=step_s)
    found: dict[int, Bank] = {}
    held: float | None = None
    reached_s = 0
    for (start_s, units), rate in zip(ordered, rates, strict=True):
        if rate is None:
            held = None
            continue
        depth = extra.depth(rate)
        likely = depth if held is None else min(depth, held + rate * max(0, start_s - reached_s))
        # Refilled first, so that a full bucket spills: load that begins within a stretch found it full.
        # Of a stretch longer than what is saved up, the last part counts: it is taken to be like the others.
        last_s = min(step_s, limits.BURST_S)
        likely_after = max(0.0, min(depth, likely + rate * last_s) - units * last_s / step_s)
        most = max(min(depth, likely + rate * step_s), rate * step_s)
        overdrawn = units > most + OVERDRAWN * max(depth, units)
        found[start_s] = Bank(likely, likely_after, shown.get(start_s, 0.0), depth, rate, overdrawn)
        held, reached_s = likely_after, start_s + step_s
    return found


def _shown(
    ordered: Sequence[tuple[int, float]], provisioned_at: Callable[[float], float | None], *, step_s: int
) -> Mapping[int, float]:
    """By stretch: units that must have been in hand after it, since they were spent from then on."""
    found: dict[int, float] = {}
    before, next_s = 0.0, 0
    for start_s, units in reversed(ordered):
        rate = provisioned_at(start_s)
        if rate is None:
            before = 0.0
            continue
        after = max(0.0, before - rate * max(0, next_s - start_s - step_s))
        before, next_s = max(0.0, after + units - ABOUT * rate * step_s), start_s
        found[start_s] = after
    return found


def of_whole_partitions(rate: float, ceiling: float, capacity: float) -> bool:
    """Whether a rate is what a number of partitions serves, rather than what is provisioned."""
    count = round(rate / ceiling)
    off = abs(rate - count * ceiling)
    near = off <= min(NEAR * rate, TENTH * ceiling)  # of many partitions, any rate is near some number
    return count > 0 and near and off <= max(abs(rate - capacity), SAME * rate)


def lowered(provisioned: Steps, second: float) -> bool:
    """Whether notably more was provisioned within the hour before."""
    now = provisioned.at(second)
    first = bisect_left(provisioned.starts_s, second - BEFORE_S)
    past = bisect_right(provisioned.starts_s, second)
    before = max(provisioned.values[first:past], default=None)
    return now is not None and before is not None and now <= LOWER * before
