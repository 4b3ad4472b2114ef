"""Limits of a table over time: published settings, and DynamoDB's own limits."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from keyheat.model import limits
from keyheat.runs.formats import Series

LARGEST: Final = 10.0**15  # bounds external values so that sums do not overflow
OLDEST_SETTING_S: Final = 12 * 3_600  # longest time to carry a setting forward
SAME: Final = 1e-6  # relative error of an average of equal samples
SERVED: Final = 0.01  # relative difference of what a throttled minute consumed from what was in force
SUSTAINED: Final = 1.25  # times a capacity: a throttled minute that took more was served by burst


Rates = Mapping[int, float]
"""Units per second by epoch second."""
NO_RATES: Final[Rates] = {}


@dataclass(frozen=True, slots=True)
class Steps:
    """A setting over time: each value holds until the next; `always` applies without a series."""

    starts_s: tuple[int, ...]
    values: tuple[float, ...]
    always: float | None
    readings: tuple["Steps", ...] = ()  # for unknown change times: late, then early
    sampled: bool = False  # published without true extremes: perhaps as it was when a period began

    def at(self, second: float) -> float | None:
        """Units per second in force at an epoch second; None if unknown."""
        index = bisect_right(self.starts_s, second) - 1
        if index >= 0:
            recent = second - self.starts_s[index] <= OLDEST_SETTING_S
            return self.values[index] if recent else self.always
        soon = bool(self.starts_s) and self.starts_s[0] - second <= limits.SETTING_PERIOD_S
        return self.values[0] if soon else self.always

    def highest_at(self, second: float) -> float | None:
        """Most units per second that can be in force; a sampled raise may come before it is published."""
        possible = self, *self.readings
        rates = [rate for each in possible if (rate := each.at(second)) is not None]
        if self.sampled:
            for each in possible:
                following = bisect_right(each.starts_s, second)
                next_s = each.starts_s[following : following + 1]
                if next_s and next_s[0] - second <= limits.SETTING_PERIOD_S:
                    rates.append(each.values[following])
        return max(rates, default=None)

    def published(self, second: float) -> bool:
        """Whether a value was published for the five minutes around an epoch second."""
        index = bisect_right(self.starts_s, second) - 1
        return index >= 0 and second - self.starts_s[index] < limits.SETTING_PERIOD_S

    def begins_late(self, second: float) -> bool:
        """Whether values are published regularly, but only from some time after an epoch second."""
        late = bool(self.starts_s) and self.starts_s[0] - second > 2 * limits.SETTING_PERIOD_S
        return late and len(self.starts_s) > 1


def steps(
    average: Series | None,
    least: Series | None,
    most: Series | None,
    always: float | None,
    scale: float,
    throttled_per_s: Rates = NO_RATES,
) -> Steps:
    """Build a setting from its series, with two readings if it changed within a period.

    `throttled_per_s`: units/s consumed by the start of the throttled cell.
    """
    bound = min(always, LARGEST) * scale if always else None
    published = _published(average, scale) or _published(most, scale)
    starts_s = tuple(sorted(published))
    values = tuple(published[at] for at in starts_s)
    lows, highs = _published(least, scale), _published(most, scale)
    # Extremes that never differ, though the capacity changes, may be those of one sample in each period.
    sampled = least is None or most is None or lows == highs
    constant = _in_force(published, starts_s, throttled_per_s)
    constant -= {at for at in lows.keys() & highs.keys() if lows[at] != highs[at]}  # a change was published
    within = [
        (value, value) if at in constant else _within(at, index, values, lows, highs, bound)
        for index, (at, value) in enumerate(zip(starts_s, values, strict=True))
    ]
    raised = {
        at: below
        for at, (low, high), (_, below) in zip(starts_s[1:], within[1:], within, strict=False)
        if low == high > below * (1 + SAME) and at in throttled_per_s and at not in constant
    }
    if not raised and all(low == high for low, high in within):
        return Steps(starts_s, values, bound, sampled=sampled)
    late, early = _late_and_early(values, within, bound)
    # The average of a period with a change was never in force: the value before holds to the period's end.
    values = tuple(
        before if low < value < high else value
        for value, before, (low, high) in zip(values, late, within, strict=True)
    )
    readings = _with_first_minute(Steps(starts_s, late, bound), raised), Steps(starts_s, early, bound)
    return Steps(starts_s, values, bound, readings, sampled)


def _with_first_minute(late: Steps, raised: Rates) -> Steps:
    """The reading in which a raise came within the first minute of the period for which it is published.

    `raised`: what was in force before each.
    """
    if not raised:
        return late
    values = dict(zip(late.starts_s, late.values, strict=True))
    for at, below in raised.items():
        values[at + limits.MINUTE_S] = values[at]
        values[at] = below
    starts_s = tuple(sorted(values))
    return replace(late, starts_s=starts_s, values=tuple(values[at] for at in starts_s))


def since_throttled(setting: Steps, throttled_per_s: Rates) -> Steps:
    """Let a change begin with the first throttled cell that consumed about as much as the new value.

    `throttled_per_s`: units/s consumed by the start of the cell; what burst served shows neither value.
    """
    values = dict(zip(setting.starts_s, setting.values, strict=True))
    for cell, rate in throttled_per_s.items() if setting.readings else ():
        before, after = (reading.at(cell) for reading in setting.readings)
        if before is None or after is None or rate > SUSTAINED * max(before, after):
            continue
        if abs(rate - after) < abs(rate - before):
            values[cell] = after
    starts_s = tuple(sorted(values))
    return replace(setting, starts_s=starts_s, values=tuple(values[at] for at in starts_s))


def _published(series: Series | None, scale: float) -> dict[int, float]:
    """The positive values: CloudWatch publishes zero for a mode that is not in force."""
    if series is None:
        return {}
    return {int(at.timestamp()): min(value, LARGEST) * scale for at, value in series.points if value > 0}


def _in_force(published: Rates, starts_s: Sequence[int], throttled_per_s: Rates) -> set[int]:
    """The periods whose average two throttled cells or more consumed: no change within one gives that."""
    served = Counter[int]()
    for cell, rate in throttled_per_s.items():
        at = starts_s[max(0, bisect_right(starts_s, cell) - 1)] if starts_s else cell
        close = at in published and abs(rate - published[at]) <= SERVED * published[at]
        served[at] += close and 0 <= cell - at < limits.SETTING_PERIOD_S
    return {at for at, cells in served.items() if cells >= 2}


def _within(
    at: int, index: int, values: Sequence[float], lows: Rates, highs: Rates, after: float | None
) -> tuple[float, float]:
    """Least and most in force in one period: as published, else inferred from its neighbours.

    Without published extremes, a raise may have come at any moment of the first period with the new value.
    """
    value = values[index]
    if at in lows and at in highs:
        return min(lows[at], highs[at]), max(lows[at], highs[at])
    if not index:
        return value, value
    before = values[index - 1]
    following = values[index + 1] if index + 1 < len(values) else after or value
    low, high = min(before, following), max(before, following)
    margin = SAME * high
    if low + margin < value < high - margin:
        return low, high
    return (before, value) if value > before + margin else (value, value)


def _late_and_early(
    values: Sequence[float], within: Sequence[tuple[float, float]], after: float | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The values if each change came at the end of its period, and at its start."""
    late: list[float] = []
    early: list[float] = []
    for index, (low, high) in enumerate(within):
        following = values[index + 1] if index + 1 < len(values) else after
        if index:
            rising = abs(low - late[-1]) <= abs(high - late[-1])
        else:
            rising = following is not None and abs(high - following) <= abs(low - following)
        late.append(low if rising else high)
        early.append(high if rising else low)
    return tuple(late), tuple(early)
