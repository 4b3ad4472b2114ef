"""How small a change shows: formulas held against drawn numbers."""

import numpy as np
import pytest

from keyheat.regression.intervals import (
    change_of,
    effect_of,
    power,
    ratio_of,
    runs_to_find,
    runs_to_tell,
    smallest_detectable,
)


def drawn_power(effect: float, spread: float, runs: int, confidence: float, least: float) -> float:
    """How often a loss is found among 2,000 drawn comparisons, decided as gates are."""
    rng = np.random.default_rng(5)
    logs = rng.normal(0, spread, (2_000, 2, runs))
    logs[:, 1] -= effect
    ratios = [ratio_of(one[0].tolist(), one[1].tolist(), confidence=confidence) for one in np.exp(logs)]
    return sum(ratio.high < 1 and ratio.ratio <= np.exp(-least) for ratio in ratios) / len(ratios)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "spread", "runs", "least"), [(0.1, 0.02, 5, 0.0), (0.2, 0.02, 3, 0.0), (0.06, 0.02, 10, 0.05)]
)
def test_power_is_what_drawn_comparisons_show(effect: float, spread: float, runs: int, least: float) -> None:
    expected = power(effect, spread=spread, runs=runs, confidence=0.999, least=least)
    assert drawn_power(effect, spread, runs, 0.999, least) == pytest.approx(expected, abs=0.03)


def test_the_smallest_effect_is_found_as_often_as_was_asked() -> None:
    smallest = smallest_detectable(0.02, runs=5, confidence=0.999, least=0.05)
    assert smallest is not None
    assert power(smallest, spread=0.02, runs=5, confidence=0.999, least=0.05) == pytest.approx(0.95, abs=0.01)
    assert smallest > 0.05


def test_the_runs_that_are_needed_are_the_fewest_that_are_enough() -> None:
    needed = runs_to_find(0.1, spread=0.05, confidence=0.999)
    assert needed is not None
    enough, few = (power(0.1, spread=0.05, runs=count, confidence=0.999) for count in (needed, needed - 1))
    assert few < 0.95 <= enough
    assert runs_to_find(0.001, spread=1.0, confidence=0.999) is None
    told = runs_to_tell(0.1, spread=0.05, confidence=0.999)
    assert told is not None
    assert told < needed


def test_without_noise_any_effect_shows() -> None:
    assert power(0.01, spread=0, runs=2, confidence=0.99) == 1
    assert power(0.01, spread=0, runs=2, confidence=0.99, least=0.05) == 0


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_an_effect_is_a_change_for_the_worse_and_back(better: str) -> None:
    assert change_of(effect_of(0.1, better), better) == pytest.approx(0.1)  # type: ignore[arg-type]


def test_one_run_has_no_spread() -> None:
    with pytest.raises(ValueError, match="at least 2 runs"):
        smallest_detectable(0.1, runs=1, confidence=0.99)
    with pytest.raises(ValueError, match="at least 2 runs"):
        ratio_of([1.0], [1.0, 2.0], confidence=0.99)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6)
    logs = rng.normal(0, 0.1, (2_000, 2, 4))
    ratios = [ratio_of(one[0].tolist(), one[1].tolist(), confidence=0.95) for one in np.exp(logs)]
    assert 0.93 < sum(ratio.low <= 1 <= ratio.high for ratio in ratios) / len(ratios) < 0.975


def test_equal_numbers_have_an_interval_of_no_width() -> None:
    ratio = ratio_of([5.0, 5.0], [10.0, 10.0], confidence=0.99)
    assert (ratio.low, ratio.high) == (ratio.ratio, ratio.ratio) == pytest.approx((2.0, 2.0))
