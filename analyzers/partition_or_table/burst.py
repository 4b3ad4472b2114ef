"""Estimate the burst capacity (unused capacity of the last five minutes) of a table or index.

AWS does not publish it and grants it as best effort, so it is bounded from both ends, stretch by stretch:

    likely   starts full; provisioned units come in, up to a full bucket; consumed units go out
    shown    consumed later beyond the refill: these units were there, whatever AWS grants

The likely units may never be granted. The shown units were certainly there: if they exceed the refill until
the end of a stretch, the provisioned throughput cannot have been the limit in that stretch.

    provisioned   500 500 500 500
    consumed      420 500 700 700        at the first two, 400 units were left: spent in the last two
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.evidence.settings import Steps
from keyheat.model import limits

OVERDRAWN: Final = 0.01  # of a full bucket: error of the estimate
ABOUT: Final = 1.01  # times provisioned: the difference between two clocks
TENTH: Final = 0.1  # of one partition
SAME: Final = 0.005  # greatest relative difference of two equal rates
NEAR: Final = 0.03  # greatest relative difference from the rate of whole partitions
LOWER: Final = 0.8  # of the capacity before: at or below it, the reduction is an event of its own
BEFORE_S: Final = 3_600  # seconds before a moment in which a higher capacity counts as lowered


@dataclass(frozen=True, slots=True)
class Extra:
    """Bucket depth beyond 300 s of its rate: unpublished, as observed."""

    floor_units: float = 0.0  # least depth of any table's bucket
    buffer_units: float = 0.0  # entries that may wait for an index

    def depth(self, rate: float) -> float:
        """Units in a full bucket, for a rate in units/s."""
        return max(rate * limits.BURST_S, self.floor_units) + self.buffer_units


NO_EXTRA = Extra()


@dataclass(frozen=True, slots=True)
class Bank:
    """Units of burst around a stretch of time: likely before and after, shown, and in a full bucket."""

    likely: float
    likely_after: float
    shown_after: float
    depth: float
    rate: float  # refill, units/s
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
    *,
    step_s: int,
    extra: Extra = NO_EXTRA,
    certain: Mapping[int, float] | None = None,
    highest: Callable[[float], float | None] | None = None,
) -> Mapping[int, Bank]:
    """Return the bank around each stretch of `step_s` seconds in `used` ((epoch second, units), any order).

    `certain`: measured consumption, if `used` holds estimates; `highest`: the highest possible provisioned
    rate, if the rate is unknown. A pause between two stretches refills. Stretches without a provisioned
    rate have no bank.
    """
    ordered = sorted(used)
    rates = [provisioned.at(start_s) for start_s, _ in ordered]
    measured = ordered if certain is None else sorted(certain.items())
    spent_later = _spent_later(measured, highest or provisioned.at, step_s=step_s)
    result: dict[int, Bank] = {}
    balance: float | None = None
    reached_s = 0
    for (start_s, units), rate in zip(ordered, rates, strict=True):
        if rate is None:
            balance = None
            continue
        depth = extra.depth(rate)
        likely = depth if balance is None else min(depth, balance + rate * max(0, start_s - reached_s))
        # Refill first, so that a full bucket spills: load that begins within a stretch finds it full.
        # In a stretch longer than the bucket is deep, only the end counts: its rate is taken as the mean.
        last_s = min(step_s, limits.BURST_S)
        likely_after = max(0.0, min(depth, likely + rate * last_s) - units * last_s / step_s)
        most = max(min(depth, likely + rate * step_s), rate * step_s)
        overdrawn = units > most + OVERDRAWN * max(depth, units)
        result[start_s] = Bank(likely, likely_after, spent_later.get(start_s, 0.0), depth, rate, overdrawn)
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
