"""Statistics of noisy numbers: the change between two groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import fmean, variance
from typing import Final

import numpy as np

LEAST_RUNS: Final = 2  # on each side: one run has no spread
MOST_RUNS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A relative change and its confidence interval; `spread` is that of one run's logarithm."""

    change: float
    low: float
    high: float
    spread: float


def interval_of(
    before: Sequence[float], after: Sequence[float], level: float, *, least_spread: float = 0.0,
    paired: bool = False,
) -> Interval:  # fmt: skip
    """Interval of the change between two groups of positive numbers, by Student's t on logarithms.

    For pairs it is the narrower one of groups and of differences, each with half of the error.
    `least_spread`, the resolution of a clock, is the minimum spread of a number. Each side has `LEAST_RUNS`
    or more.
    """
    if paired:
        both = [_interval(before, after, (1 + level) / 2, least_spread, paired=way) for way in (False, True)]
        return min(both, key=lambda x: (1 + x.high) / (1 + x.low) if x.low > -1 else inf)
    return _interval(before, after, level, least_spread, paired=False)


def _interval(
    before: Sequence[float], after: Sequence[float], level: float, least_spread: float, *, paired: bool
) -> Interval:
    """Welch's t for groups, Student's t of the differences for pairs."""
    from scipy.special import stdtrit  # an extra, and slow to load

    first, last = ([log(number) for number in side] for side in (before, after))
    groups = [[now - was for was, now in zip(first, last, strict=True)]] if paired else [first, last]
    least = least_spread**2 * (2 if paired else 1)
    variances = [max(variance(group), least) for group in groups]
    parts = [spread / len(group) for spread, group in zip(variances, groups, strict=True)]
    weights = (share**2 / (len(group) - 1) for share, group in zip(parts, groups, strict=True))
    freedom = sum(parts) ** 2 / sum(weights) if sum(parts) else 1.0
    reach = float(stdtrit(freedom, (1 + level) / 2)) * sqrt(sum(parts))
    apart = fmean(last) - fmean(first)
    return Interval(
        change=_change_of(apart), low=_change_of(apart - reach), high=_change_of(apart + reach),
        spread=sqrt(fmean(variances) / (2 if paired else 1)),
    )  # fmt: skip


def _change_of(apart: float) -> float:
    return exp(apart) - 1 if apart < 700 else inf


def repetitions_to_tell(effect: float, spread: float, level: float) -> int | None:
    """Fewest runs per side whose interval usually extends no further than the effect."""
    from scipy.special import stdtrit

    runs = np.arange(LEAST_RUNS, MOST_RUNS + 1)
    enough = stdtrit(2 * runs - 2, (1 + level) / 2) * spread * np.sqrt(2 / runs) <= log(1 + effect)
    return int(runs[enough.argmax()]) if enough.any() else None
