"""How small a change can be told from noise, and how many runs a smaller one would need.

A change counts as worse where its interval leaves zero out and the estimate goes beyond the least effect that
anybody cares for. With a spread s of one run's logarithm and n runs on each side, the estimate scatters with
s * sqrt(2 / n) around the truth; the interval is as wide as Welch's t makes it from the two spreads that were
seen, each of which scatters as the root of chi squared. The mean over all of that is the power.

Effects are logarithms here, without a sign: `effect_of` and `change_of` say what they are as a change.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from math import expm1, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from keyheat.analysis.measures.catalogue import Better
from keyheat.regression.statistics.intervals import LEAST_RUNS

POWER = 0.95  # how often a change that is there should be found
MOST_RUNS = 1_000
LARGEST = 12.0  # an effect: 160,000 times as much
CLOSE = 1e-4  # how near an effect is searched
STEPS = 60  # equally likely parts of a spread that is seen, on each side


def effect_of(change: float, better: Better) -> float:
    """A change for the worse (0.1: ten percent) as an effect: less where more is better, else more."""
    return -log1p(-change) if better == "higher" else log1p(change)


def change_of(effect: float, better: Better) -> float:
    """An effect as a change for the worse, a share: 0.1 is ten percent less, or more."""
    return -expm1(-effect) if better == "higher" else expm1(effect)


def power(effect: float, *, spread: float, runs: int, confidence: float, least: float = 0.0) -> float:
    """How often an effect is decided worse with so many runs on each side; `least` is the least effect."""
    from scipy.special import ndtr

    if not spread:
        return float(effect > 0 and effect >= least)
    needed = np.maximum(least, _reaches(runs, confidence) * spread)
    return float(ndtr((effect - needed) / (spread * sqrt(2 / runs))).mean())


def smallest_detectable(
    spread: float, *, runs: int, confidence: float, least: float = 0.0, often: float = POWER
) -> float | None:
    """The smallest effect that so many runs on each side find so often; None: only one beyond all measure.

    Raises ValueError below two runs.
    """
    from scipy.optimize import brentq

    if runs < LEAST_RUNS:
        raise ValueError(f"at least {LEAST_RUNS} runs on each side have a spread")

    def beyond(effect: float) -> float:
        return power(effect, spread=spread, runs=runs, confidence=confidence, least=least) - often

    if beyond(LARGEST) < 0:
        return None
    return float(brentq(beyond, 0.0, LARGEST, xtol=CLOSE))


def runs_to_find(
    effect: float, *, spread: float, confidence: float, least: float = 0.0, often: float = POWER
) -> int | None:
    """How many runs on each side find this effect so often; None where a thousand do not."""
    return _fewest(
        lambda runs: power(effect, spread=spread, runs=runs, confidence=confidence, least=least) >= often
    )


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
