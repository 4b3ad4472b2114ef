"""What a few noisy numbers tell: how far two groups of runs are apart, and how many runs would do."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, log1p, sqrt
from statistics import fmean, variance

import numpy as np
from numpy.typing import NDArray

from keyheat.analysis.measures import Better

LEAST_RUNS = 2  # on each side: one run has no spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """After over before. `spread` is the standard deviation of one run's logarithm, nearly its CV."""

    ratio: float
    low: float
    high: float
    spread: float


def ratio_of(
    before: Sequence[float],
    after: Sequence[float],
    *,
    confidence: float,
    paired: bool = False,
    least_spread: float = 0.0,
) -> Ratio:
    """The ratio of two groups of positive numbers, and the interval that holds it with `confidence`.

    `least_spread` is what is known of the spread beforehand, such as from the resolution of a clock: no side
    is believed to have less. Raises ValueError where a side has fewer than two numbers, or paired ones differ
    in count.
    """
    if min(len(before), len(after)) < LEAST_RUNS:
        raise ValueError(f"at least {LEAST_RUNS} runs on each side have a spread")
    first, last = [log(value) for value in before], [log(value) for value in after]
    apart = fmean(last) - fmean(first)
    if paired:
        changes = [two - one for one, two in zip(first, last, strict=True)]
        of_changes = max(variance(changes), 2 * least_spread**2)
        error, freedom, spread = sqrt(of_changes / len(changes)), len(changes) - 1.0, sqrt(of_changes / 2)
    else:
        error, freedom, spread = _welch(first, last, least_spread**2)
    reach = critical(confidence, freedom) * error
    return Ratio(ratio=exp(apart), low=_exp(apart - reach), high=_exp(apart + reach), spread=spread)


def _welch(first: Sequence[float], last: Sequence[float], least: float) -> tuple[float, float, float]:
    """Standard error, degrees of freedom, and the spread of one run."""
    parts = [(max(variance(side), least) / len(side), len(side) - 1) for side in (first, last)]
    total = sum(part for part, _ in parts)
    spread = sqrt(fmean([part * (free + 1) for part, free in parts]))
    if not total:
        return 0.0, float(min(free for _, free in parts)), spread
    return sqrt(total), total**2 / sum(part**2 / free for part, free in parts), spread


@lru_cache(maxsize=4096)
def critical(confidence: float, freedom: float) -> float:
    """How many standard errors an interval reaches to each side: the quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf


MOST_RUNS = 1_000
STEPS = 60  # equally likely parts of a spread that is seen, on each side


def effect_of(change: float, better: Better) -> float:
    """A change for the worse (0.1: ten percent) as an effect: less where more is better, else more."""
    return -log1p(-change) if better == "higher" else log1p(change)


def runs_to_tell(effect: float, *, spread: float, confidence: float) -> int | None:
    """How many runs on each side make an interval that mostly reaches no further than an effect."""
    return _fewest(lambda runs: float(np.median(_reaches(runs, confidence))) * spread <= effect)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number of runs that is enough, where every larger one is, too."""
    if not enough(MOST_RUNS):
        return None
    return LEAST_RUNS + bisect_left(range(LEAST_RUNS, MOST_RUNS), True, key=enough)


@lru_cache(maxsize=256)
def _reaches(runs: int, confidence: float) -> NDArray[np.float64]:
    """How far the interval reaches to each side, in true spreads, for each two spreads that may be seen."""
    from scipy.special import stdtrit
    from scipy.stats import chi2

    seen = chi2.ppf((np.arange(STEPS) + 0.5) / STEPS, runs - 1) / (runs - 1)
    first, last = np.meshgrid(seen, seen)
    freedom = (runs - 1) * (first + last) ** 2 / (first**2 + last**2)
    reaches: NDArray[np.float64] = stdtrit(freedom, (1 + confidence) / 2) * np.sqrt((first + last) / runs)
    return reaches
