"""What an interval says, and how many runs would do."""

import numpy as np
import pytest

from keyheat.regression.intervals import effect_of, ratio_of, runs_to_tell


@pytest.mark.slow
def test_the_runs_that_are_needed_are_the_fewest_that_are_enough() -> None:
    few, many = (
        runs_to_tell(effect_of(0.1, "lower"), spread=spread, confidence=0.999) for spread in (0.02, 0.05)
    )
    assert few is not None
    assert many is not None
    assert 2 < few < many
    assert runs_to_tell(0.001, spread=1.0, confidence=0.999) is None


def test_one_run_has_no_spread() -> None:
    with pytest.raises(ValueError, match="at least 2 runs"):
        ratio_of([1.0], [1.0, 2.0], confidence=0.99)


@pytest.mark.slow
def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6)
    logs = rng.normal(0, 0.1, (2_000, 2, 4))
    ratios = [ratio_of(one[0].tolist(), one[1].tolist(), confidence=0.95) for one in np.exp(logs)]
    assert 0.93 < sum(ratio.low <= 1 <= ratio.high for ratio in ratios) / len(ratios) < 0.975


def test_equal_numbers_have_an_interval_of_no_width() -> None:
    ratio = ratio_of([5.0, 5.0], [10.0, 10.0], confidence=0.99)
    assert (ratio.low, ratio.high) == (ratio.ratio, ratio.ratio) == pytest.approx((2.0, 2.0))
