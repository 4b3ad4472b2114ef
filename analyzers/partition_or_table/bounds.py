"""What excludes a limit, whatever the unknowns are: inequalities, and the burst capacity that they rest on.

    a partition throttles only after it has served its ceiling within about a second
        units of two seconds, with all that others may have consumed then  <  the ceiling:   not a partition
    a table without burst serves its refill and no more
        units consumed later beyond the refill  >  the refill of a second:                   not the table
    a table that throttles has served its refill
        units of the second, with all that others may have consumed then   <  provisioned:   not the table

AWS does not publish burst capacity (unused capacity of the last five minutes) and grants it as best effort.
So it is bounded from both ends, stretch by stretch:

    likely   starts full; provisioned units come in, up to a full bucket; consumed units go out
    shown    consumed later beyond the refill: these units were there, whatever AWS grants

    provisioned   500 500 500 500
    consumed      420 500 700 700        at the first two, 400 units were left: spent in the last two
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.track import EvidenceTrack
from keyheat.evidence.settings import Steps
from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT
from keyheat.words import WRITE, Constraint

FEW: Final = 0.9  # of the units that one partition serves in a second: fewer hardly empty one
BELOW: Final = 0.93  # of the provisioned throughput: our seconds do not start with the table's
OVERDRAWN: Final = 0.01  # of a full bucket: error of the estimate
ABOUT: Final = 1.01  # times provisioned: the difference between two clocks
TENTH: Final = 0.1  # of one partition
SAME: Final = 0.005  # greatest relative difference of two equal rates
NEAR: Final = 0.03  # greatest relative difference from the rate of whole partitions
LOWER: Final = 0.8  # of the capacity before: at or below it, the reduction is an event of its own
BEFORE_S: Final = 3_600  # seconds before a moment in which a higher capacity counts as lowered

PROVED: Final[Mapping[str, Constraint]] = {
    "seconds-too-few-units": "partition",
    "minutes-too-few-units": "partition",
    "on-demand-small-maximum": "partition",
    "seconds-below-provisioned": "table",
    "seconds-burst-in-hand": "table",
    "minutes-below-provisioned": "table",
    "minutes-burst-in-hand": "table",
}
"""By rule: the constraint excluded by the inequality that decided."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An inequality, less < more, in units or units/s; a label shows both sides."""

    less: float
    more: float

    @property
    def holds(self) -> bool:
        return self.less < self.more


def not_a_partition(two_seconds: float, others: float, ceiling: float) -> Bound:
    """Bound for "no partition was full"; `two_seconds`: most units of two seconds in a row."""
    return Bound(two_seconds + others, FEW * ceiling)


def later_spent(shown_after: float, capacity: float, request_units: float, span_s: int) -> Bound:
    """Bound for "the table was not empty": it held `shown_after` units after a throttled span of `span_s`."""
    return Bound(capacity * span_s + 2 * request_units, shown_after)


def given_at_least(capacity: float, request_units: float) -> float:
    """Least units that a table at its limit served in one of the seconds around a throttle."""
    return BELOW * capacity - request_units


@dataclass(frozen=True, slots=True)
class Bank:
    """Units of burst around a stretch of time: likely before and after, shown, and in a full bucket."""

    likely: float
    likely_after: float
    shown_after: float
    depth: float
    overdrawn: bool = False  # more was consumed than the bucket can have held: the reading is wrong

    def spent_before(self, share: float) -> bool:
        """Whether at most `share` of a full bucket was likely left when the stretch began."""
        return self.likely <= share * self.depth

    def spent_after(self, share: float) -> bool:
        """Whether at most `share` of a full bucket was likely left when the stretch ended."""
        return self.likely_after <= share * self.depth


def banks(
    used: Iterable[tuple[int, float]],
    provisioned: Steps,
    track: EvidenceTrack,
    *,
    step_s: int,
    measured: Iterable[tuple[int, float]],
) -> Mapping[int, Bank]:
    """Return the bank around each stretch of `step_s` seconds in `used` ((epoch second, units), any order).

    `measured` is `used` without estimates. A pause between two stretches refills. Stretches without a
    provisioned rate have no bank. Unpublished, as observed: no table's bucket is shallower than a floor, and
    entries may wait for an index.
    """
    floor_units, waiting_units = DEFAULT.burst_floor_units * track.scale, 0.0
    if track.index is not None and track.direction == WRITE:
        waiting_units = DEFAULT.index_buffer_units * track.scale

    def highest_at(at: float) -> float | None:
        """The highest possible rate; None where it was on demand, be it for a part of the cell."""
        on_demand = track.on_demand_at(at + track.step_s - 1)
        return None if on_demand else track.provisioned.highest_at(at)

    spent_later = _spent_later(sorted(measured), highest_at, step_s=step_s)
    result: dict[int, Bank] = {}
    balance: float | None = None
    reached_s = 0
    for start_s, units in sorted(used):
        rate = provisioned.at(start_s)
        if rate is None:
            balance = None
            continue
        depth = max(rate * limits.BURST_S, floor_units) + waiting_units
        likely = depth if balance is None else min(depth, balance + rate * max(0, start_s - reached_s))
        # Refill first, so that a full bucket spills: load that begins within a stretch finds it full.
        # In a stretch longer than the bucket is deep, only the end counts: its rate is taken as the mean.
        last_s = min(step_s, limits.BURST_S)
        likely_after = max(0.0, min(depth, likely + rate * last_s) - units * last_s / step_s)
        most = max(min(depth, likely + rate * step_s), rate * step_s)
        overdrawn = units > most + OVERDRAWN * max(depth, units)
        result[start_s] = Bank(likely, likely_after, spent_later.get(start_s, 0.0), depth, overdrawn)
        balance, reached_s = likely_after, start_s + step_s
    return result


def _spent_later(
    ordered: Sequence[tuple[int, float]], provisioned_at: Callable[[float], float | None], *, step_s: int
) -> Mapping[int, float]:
    """By stretch: units that must have been left after it, since they were spent from then on."""
    result: dict[int, float] = {}
    before, next_s = 0.0, 0
    for start_s, units in reversed(ordered):
        rate = provisioned_at(start_s)
        if rate is None:
            before = 0.0
            continue
        after = max(0.0, before - rate * max(0, next_s - start_s - step_s))
        before, next_s = max(0.0, after + units - ABOUT * rate * step_s), start_s
        result[start_s] = after
    return result


def of_whole_partitions(rate: float, ceiling: float, capacity: float) -> bool:
    """Whether a number of partitions serve a rate more exactly than the provisioned capacity does."""
    count = round(rate / ceiling)
    off = abs(rate - count * ceiling)
    near = off <= min(NEAR * rate, TENTH * ceiling)  # of many partitions, any rate is near some number
    return count > 0 and near and off <= max(abs(rate - capacity), SAME * rate)


def lowered(provisioned: Steps, second: float) -> bool:
    """Whether notably more was provisioned within the last hour."""
    now = provisioned.at(second)
    first = bisect_left(provisioned.starts_s, second - BEFORE_S)
    past = bisect_right(provisioned.starts_s, second)
    before = max(provisioned.values[first:past], default=None)
    return now is not None and before is not None and now <= LOWER * before
