"""Which test decides a statistical gate: false alarms and losses found, of six of them, on drawn numbers.

python -m benchmarks.intervals, about a minute; docs/regress.md has the table in words.

Each test judges one gate at the level that it has among ten of a suite (99.9 %), with five and with ten runs
on each side. Noise is drawn three ways: normal; lognormal, skewed as latencies are; and normal, but one run
in ten is three times as slow or as fast, as on a machine that others use, too.
"""

import sys
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

Numbers = NDArray[np.float64]
Test = Callable[[Numbers, Numbers], Numbers]
"""Logarithms before and after, a comparison in each row; how likely a difference like it is by chance."""

SEED, TRIALS, BOOTSTRAPPED = 1, 20_000, 400
CONFIDENCE, LOSS, SPREAD = 0.999, 0.10, 0.02
RESAMPLES = 4_999


def bootstrap(before: Numbers, after: Numbers) -> Numbers:
    """The bias-corrected and accelerated bootstrap of the difference of means: 0 where it is below zero."""
    found = [
        stats.bootstrap(
            (one, two), _difference, confidence_level=CONFIDENCE, method="BCa", vectorized=True,
            n_resamples=RESAMPLES, rng=np.random.default_rng(place),
        ).confidence_interval.high
        for place, (one, two) in enumerate(zip(before, after, strict=True))
    ]  # fmt: skip
    return np.array([float(high >= 0) for high in found])


TESTS: Final[dict[str, Test]] = {
    "Welch's t": lambda one, two: stats.ttest_ind(one, two, axis=1, equal_var=False).pvalue,
    "pooled t": lambda one, two: stats.ttest_ind(one, two, axis=1).pvalue,
    "paired t": lambda one, two: stats.ttest_rel(one, two, axis=1).pvalue,
    "trimmed (Yuen)": lambda one, two: stats.ttest_ind(one, two, axis=1, equal_var=False, trim=0.2).pvalue,
    "ranks (Mann-Whitney)": lambda one, two: stats.mannwhitneyu(one, two, axis=1, method="exact").pvalue,
    "bootstrap (BCa)": bootstrap,
}
"""Student's t with a variance for each side, with one for both, of pairs, without the largest and smallest
fifth; a permutation test of ranks."""


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return rng.normal(0.0, SPREAD, shape)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    """Lognormal even as a logarithm, with the same spread."""
    drawn = rng.lognormal(0.0, 1.0, shape)
    scaled: Numbers = (drawn - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e) * SPREAD
    return scaled


def disturbed(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    """Normal, and one run in ten is far out on either side."""
    far = rng.random(shape) < 0.1
    drawn: Numbers = normal(rng, shape) + far * rng.choice([-1.0, 1.0], shape) * np.log(3)
    return drawn


NOISES: Final = {"normal": normal, "skewed": skewed, "disturbed": disturbed}


def measured(test: Test, noise: str, runs: int, trials: int, loss: float) -> float:
    """How often a test says that there is less, where so much is lost."""
    rng = np.random.default_rng(SEED)
    before, after = (NOISES[noise](rng, (trials, runs)) for _ in range(2))
    after = after + np.log1p(-loss)
    likely = test(before, after)
    return float(((likely <= 1 - CONFIDENCE) & (_difference(before, after, 1) < 0)).mean())


def main() -> int:
    """Measure and print."""
    table = Table(title=f"One gate at {CONFIDENCE:.1%}, spread {SPREAD:.0%}", title_justify="left")
    headings = [f"{noise}, {runs} runs" for runs in (5, 10) for noise in NOISES]
    for heading in ("", *headings):
        table.add_column(heading)
    for name, test in TESTS.items():
        cells = [
            " / ".join(
                f"{measured(test, noise, runs, BOOTSTRAPPED if test is bootstrap else TRIALS, loss):.2%}"
                for loss in (0.0, LOSS)
            )
            for runs in (5, 10)
            for noise in NOISES
        ]
        table.add_row(name, *cells)
    console = Console(width=160)
    console.print(table)
    console.print(f"false alarms (at most {(1 - CONFIDENCE) / 2:.2%} are meant) / losses of {LOSS:.0%} found")
    return 0


def _difference(before: Numbers, after: Numbers, axis: int) -> Numbers:
    difference: Numbers = after.mean(axis=axis) - before.mean(axis=axis)
    return difference


if __name__ == "__main__":
    sys.exit(main())
