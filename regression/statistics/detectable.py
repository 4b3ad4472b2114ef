"""How small a change can be told from noise, and how many runs a smaller one would need.

A change counts as worse where its interval leaves zero out and the estimate goes beyond the least effect that
anybody cares for. With a spread s of one run's logarithm and n runs on each side, the estimate scatters with
s * sqrt(2 / n) around the truth, and s itself is only estimated, as chi squared.

Effects are logarithms here, without a sign: `effect_of` and `change_of` say what they are as a change.
"""

from collections.abc import Callable
from functools import lru_cache
from math import expm1, log1p, sqrt
from statistics import NormalDist

from analyzers.measures import Better
from regression.statistics.intervals import LEAST_RUNS, critical

POWER = 0.95  # how often a change that is there should be found
MOST_RUNS = 1_000
LARGEST = 12.0  # an effect: 160,000 times as much
CLOSE = 1e-4  # how near an effect is searched
STEPS = 200  # quantiles of chi squared by which its mean is taken
NORMAL = NormalDist()


def effect_of(change: float, better: Better) -> float:
    """A change for the worse (0.1: ten percent) as an effect: less where more is better, else more."""
    return -log1p(-change) if better == "higher" else log1p(change)


def change_of(effect: float, better: Better) -> float:
    """An effect as a change for the worse, a share: 0.1 is ten percent less, or more."""
    return -expm1(-effect) if better == "higher" else expm1(effect)


def power(effect: float, *, spread: float, runs: int, confidence: float, least: float = 0.0) -> float:
    """How often an effect is decided worse with so many runs on each side; `least` is the least effect."""
    if not spread:
        return float(effect > 0 and effect >= least)
    error, freedom = spread * sqrt(2 / runs), 2 * (runs - 1)
    reach = critical(confidence, freedom) * error
    found = (NORMAL.cdf((effect - max(least, reach * part)) / error) for part in _estimates(freedom))
    return sum(found) / STEPS


def smallest_detectable(
    spread: float, *, runs: int, confidence: float, least: float = 0.0, often: float = POWER
) -> float | None:
    """The smallest effect that so many runs on each side find so often; None: only one beyond all measure.

    Raises ValueError below two runs.
    """
    if runs < LEAST_RUNS:
        raise ValueError(f"at least {LEAST_RUNS} runs on each side have a spread")
    low, high = 0.0, LARGEST
    if power(high, spread=spread, runs=runs, confidence=confidence, least=least) < often:
        return None
    while high - low > CLOSE:
        middle = (low + high) / 2
        found = power(middle, spread=spread, runs=runs, confidence=confidence, least=least)
        low, high = (low, middle) if found >= often else (middle, high)
    return high


def runs_to_find(
    effect: float, *, spread: float, confidence: float, least: float = 0.0, often: float = POWER
) -> int | None:
    """How many runs on each side find this effect so often; None where a thousand do not."""
    return _fewest(
        lambda runs: power(effect, spread=spread, runs=runs, confidence=confidence, least=least) >= often
    )


def runs_to_tell(effect: float, *, spread: float, confidence: float) -> int | None:
    """How many runs on each side make an interval that reaches no further than an effect; None: too many."""
    return _fewest(lambda runs: critical(confidence, 2 * (runs - 1)) * spread * sqrt(2 / runs) <= effect)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number of runs that is enough, where every larger one is, too."""
    if not enough(MOST_RUNS):
        return None
    low, high = LEAST_RUNS - 1, MOST_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def _estimates(freedom: int) -> tuple[float, ...]:
    """What a spread is estimated as, over the true one: the middles of so many equally likely parts."""
    from scipy.stats import chi2

    places = [(step + 0.5) / STEPS for step in range(STEPS)]
    return tuple(sqrt(value / freedom) for value in chi2.ppf(places, freedom))
