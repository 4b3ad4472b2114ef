"""Statistics of noisy numbers: the change between two groups, and level shifts in a series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import fmean, variance
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# Two groups

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


# A series

LEAST: Final = 3  # values on each side of a change
SIGNIFICANCE: Final = 0.01  # how often a series without a change has one
SHUFFLES: Final = 499
FAR: Final = 4.0  # standard deviations from the median; values beyond are equal
DEVIATION: Final = 1.4826  # of normal numbers, in median absolute deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A shift of a series' level: `index` is the first value of the new level.

    `before` and `after` are the medians of the stretches up to the neighbouring changes.
    """

    index: int
    before: float
    after: float

    @property
    def change(self) -> float | None:
        """Relative change; None from a level of 0."""
        return self.after / self.before - 1 if self.before else None


def change_points(values: Sequence[float], *, seed: int = 0) -> tuple[ChangePoint, ...]:
    """Find level shifts in a series, in order of time; a series needs six values.

    Divisive, like E-divisive: find the index where the values before it differ most from any stretch after
    it; it is a change if such a difference is rare among shuffled series; then search both parts. An outlier
    counts as at most `FAR` deviations from the median, and a level needs `LEAST` sessions, so that one or two
    bad sessions are no change, and hide none.

    Matteson, D. S. and James, N. A. (2014), Journal of the American Statistical Association 109, 334-345,
    doi:10.1080/01621459.2013.849605

    `seed` shuffles: equal series have equal changes. Raises ValueError for a value that is not a number.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a series must have numbers only: leave out sessions without one")
    places = sorted(_split(numbers, 0, len(numbers), np.random.default_rng(seed)))
    levels = [float(np.median(stretch)) for stretch in np.split(numbers, places)] if len(numbers) else []
    return tuple(
        ChangePoint(index=index, before=before, after=after)
        for index, (before, after) in zip(places, pairwise(levels), strict=True)
    )


def _split(values: Numbers, start: int, end: int, rng: np.random.Generator) -> Iterator[int]:
    """Changes between two indexes."""
    if end - start < 2 * LEAST:
        return
    scores = _scores(values[start:end])
    index, greatest = _greatest_difference(scores)
    as_great = 1  # the series itself; stop once the difference is not rare
    for _ in range(SHUFFLES):
        as_great += _greatest_difference(rng.permutation(scores))[1] >= greatest - 1e-9
        if as_great > SIGNIFICANCE * (SHUFFLES + 1):
            return
    yield start + index
    yield from _split(values, start, start + index, rng)
    yield from _split(values, start + index, end, rng)


def _scores(values: Numbers) -> Numbers:
    """Distance of each value from the median, in robust standard deviations, at most `FAR`."""
    apart = values - np.median(values)
    deviation = DEVIATION * float(np.median(np.abs(apart)))
    scores: Numbers = np.clip(apart / deviation, -FAR, FAR) if deviation else np.sign(apart) * FAR
    return scores


def _greatest_difference(scores: Numbers) -> tuple[int, float]:
    """The index where the values before and those of any stretch after it differ most, and that difference.

    The stretch may end anywhere, so that a level that was left again is found.
    """
    index, end, weight = _stretches(len(scores))
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    differences = np.abs(sums[index] / index - (sums[end] - sums[index]) / (end - index)) * weight
    best = int(np.argmax(differences))
    return int(index[best]), float(differences[best])


@lru_cache(maxsize=8)
def _stretches(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
    """All indexes and ends of stretches, with the weight of their sizes in a difference of means."""
    index, end = np.meshgrid(
        np.arange(LEAST, count - LEAST + 1), np.arange(2 * LEAST, count + 1), indexing="ij"
    )
    kept = end - index >= LEAST
    index, end = index[kept], end[kept]
    return index, end, np.sqrt(index * (end - index) / end)
