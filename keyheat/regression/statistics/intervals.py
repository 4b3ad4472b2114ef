"""How far two groups of runs are apart: the ratio of their geometric means, with an interval around it.

Logarithms of what was measured are compared with Welch's t (or, run by run, with the t of paired
differences). A load test is repeated three to ten times; so few numbers allow no bootstrap and no ranks at
the levels that a whole suite needs. docs/regression-statistics.md has what was tried.

    |------------ low ===== ratio ===== high ------|      after / before; 1: nothing changed

Welch, B. L. (1947), Biometrika 34, 28-35, doi:10.1093/biomet/34.1-2.28
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, sqrt
from statistics import fmean, variance

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
