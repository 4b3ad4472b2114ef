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
Test = Callable[[Numbers, Numbers, float], NDArray[np.bool_]]
"""Logarithms before and after, a comparison in each row; whether the second are less, at a confidence."""

SEED, TRIALS, BOOTSTRAPPED = 1, 20_000, 400
CONFIDENCE, LOSS, SPREAD = 0.999, 0.10, 0.02
RESAMPLES = 4_999


def welch(before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    """Student's t with a variance for each side."""
    found = stats.ttest_ind(before, after, axis=1, equal_var=False)
    return _less(found.pvalue, before, after, confidence)


def pooled(before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    """Student's t with one variance for both sides."""
    return _less(stats.ttest_ind(before, after, axis=1).pvalue, before, after, confidence)


def paired(before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    """Student's t of differences, run by run."""
    return _less(stats.ttest_rel(before, after, axis=1).pvalue, before, after, confidence)


def trimmed(before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    """Yuen's t of means without the largest and the smallest fifth."""
    found = stats.ttest_ind(before, after, axis=1, equal_var=False, trim=0.2)
    return _less(found.pvalue, before, after, confidence)


def ranks(before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    """Mann and Whitney's, exact: a permutation test of ranks."""
    found = stats.mannwhitneyu(before, after, axis=1, method="exact")
    return _less(found.pvalue, before, after, confidence)


def bootstrap(before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    """The bias-corrected and accelerated bootstrap of the difference of means."""
    found = [
        stats.bootstrap(
            (one, two), _difference, confidence_level=confidence, method="BCa", vectorized=True,
            n_resamples=RESAMPLES, rng=np.random.default_rng(place),
        ).confidence_interval.high
        for place, (one, two) in enumerate(zip(before, after, strict=True))
    ]  # fmt: skip
    return np.array(found) < 0


TESTS: Final[dict[str, Test]] = {
    "Welch's t": welch, "pooled t": pooled, "paired t": paired, "trimmed (Yuen)": trimmed,
    "ranks (Mann-Whitney)": ranks, "bootstrap (BCa)": bootstrap,
}  # fmt: skip


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
    return float(test(before, after + np.log1p(-loss), CONFIDENCE).mean())


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


def _less(p: Numbers, before: Numbers, after: Numbers, confidence: float) -> NDArray[np.bool_]:
    less: NDArray[np.bool_] = (p <= 1 - confidence) & (after.mean(axis=1) < before.mean(axis=1))
    return less


if __name__ == "__main__":
    sys.exit(main())
