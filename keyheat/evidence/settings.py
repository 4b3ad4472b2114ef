"""What a table may use at a moment: settings as they were published over time, and DynamoDB's own limits."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.model import limits
from keyheat.runs.formats import Series
from keyheat.words import READ, WRITE, Direction

LARGEST: Final = 10.0**15  # a bound for values from outside, so that no sum of them overflows
OLDEST_SETTING_S: Final = 12 * 3_600  # a setting is not carried forward for longer
SAME: Final = 1e-6  # share by which an average may miss the value that all its samples had


@dataclass(frozen=True, slots=True)
class Steps:
    """A setting over time: each value holds until the next one; `always` where no series said otherwise."""

    starts_s: tuple[int, ...]
    values: tuple[float, ...]
    always: float | None
    readings: tuple["Steps", ...] = ()  # changed late and early, where that is not known

    def at(self, second: float) -> float | None:
        """Units per second in force at an epoch second; None where nobody knows."""
        place = bisect_right(self.starts_s, second) - 1
        if place >= 0:
            recent = second - self.starts_s[place] <= OLDEST_SETTING_S
            return self.values[place] if recent else self.always
        soon = bool(self.starts_s) and self.starts_s[0] - second <= limits.SETTING_PERIOD_S
        return self.values[0] if soon else self.always

    def published(self, second: float) -> bool:
        """Whether a value was published for the five minutes around an epoch second."""
        place = bisect_right(self.starts_s, second) - 1
        return place >= 0 and second - self.starts_s[place] < limits.SETTING_PERIOD_S

    def begins_late(self, second: float) -> bool:
        """Whether values are published from some time after an epoch second on, and regularly from then."""
        late = bool(self.starts_s) and self.starts_s[0] - second > 2 * limits.SETTING_PERIOD_S
        return late and len(self.starts_s) > 1


def steps(
    average: Series | None, least: Series | None, most: Series | None, always: float | None, scale: float
) -> Steps:
    """A setting from its series, read in two ways where it changed within a period."""
    bound = min(always, LARGEST) * scale if always else None
    published = _published(average, scale) or _published(most, scale)
    starts_s = tuple(sorted(published))
    values = tuple(published[at] for at in starts_s)
    lows, highs = _published(least, scale), _published(most, scale)
    within = [_within(at, place, values, lows, highs, bound) for place, at in enumerate(starts_s)]
    if all(low == high for low, high in within):
        return Steps(starts_s, values, bound)
    late, early = _late_and_early(values, within, bound)
    readings = Steps(starts_s, late, bound), Steps(starts_s, early, bound)
    return Steps(starts_s, values, bound, readings)


Published = Mapping[int, float]
"""Values by epoch second, zeros left out: CloudWatch publishes one for a mode that is not in force."""


def _published(series: Series | None, scale: float) -> dict[int, float]:
    if series is None:
        return {}
    return {int(at.timestamp()): min(value, LARGEST) * scale for at, value in series.points if value > 0}


def _within(
    at: int, place: int, values: Sequence[float], lows: Published, highs: Published, after: float | None
) -> tuple[float, float]:
    """What was in force in one period, least and most: as published, else as its neighbours tell.

    Without published extremes, a raise may have come at any moment of the first period that shows it.
    """
    value = values[place]
    if at in lows and at in highs:
        return min(lows[at], highs[at]), max(lows[at], highs[at])
    if not place:
        return value, value
    before = values[place - 1]
    following = values[place + 1] if place + 1 < len(values) else after or value
    low, high = min(before, following), max(before, following)
    margin = SAME * high
    if low + margin < value < high - margin:
        return low, high
    return (before, value) if value > before + margin else (value, value)


def _late_and_early(
    values: Sequence[float], within: Sequence[tuple[float, float]], after: float | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The values if each change came at the end of its period, and if each came at its beginning."""
    late: list[float] = []
    early: list[float] = []
    for place, (low, high) in enumerate(within):
        following = values[place + 1] if place + 1 < len(values) else after
        if place:
            rising = abs(low - late[-1]) <= abs(high - late[-1])
        else:
            rising = following is not None and abs(high - following) <= abs(low - following)
        late.append(low if rising else high)
        early.append(high if rising else low)
    return tuple(late), tuple(early)


_CEILINGS: Final[dict[Direction, int]] = {
    READ: limits.PARTITION_READ_UNITS_PER_S,
    WRITE: limits.PARTITION_WRITE_UNITS_PER_S,
}
QUOTAS: Final[dict[Direction, int]] = {
    READ: limits.TABLE_READ_UNITS_PER_S,
    WRITE: limits.TABLE_WRITE_UNITS_PER_S,
}
"""Units per second that an account allows one table with its indexes, unless the quota was raised."""


def partition_ceiling(direction: Direction, scale: float = 1.0) -> float:
    """Units per second that one partition sustains, times the scale of a local table."""
    return _CEILINGS[direction] * scale
