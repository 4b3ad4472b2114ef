"""What an interval says, and how many runs would do."""

import numpy as np
import pytest

from keyheat.regression.interval import interval_of, repetitions_to_tell


@pytest.mark.slow
def test_more_noise_takes_more_runs_and_some_noise_is_too_much() -> None:
    few, many = (repetitions_to_tell(0.1, spread, 0.999) for spread in (0.02, 0.05))
    assert 2 < few < many
    assert repetitions_to_tell(0.001, 1.0, 0.999) is None


def test_one_run_has_no_spread() -> None:
    with pytest.raises(ValueError, match="at least 2 runs"):
        interval_of([1.0], [1.0, 2.0], 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_an_interval_holds_the_truth_as_often_as_it_says(paired: bool) -> None:
    rng = np.random.default_rng(6)
    logs = np.exp(rng.normal(0, 0.1, (2_000, 2, 4)))
    intervals = [interval_of(one[0].tolist(), one[1].tolist(), 0.95, paired=paired) for one in logs]
    assert 0.93 < sum(one.low <= 0 <= one.high for one in intervals) / len(intervals) < 0.975


def test_equal_numbers_have_an_interval_of_no_width() -> None:
    interval = interval_of([5.0, 5.0], [10.0, 10.0], 0.99)
    assert (interval.low, interval.high) == (interval.change,) * 2 == pytest.approx((1.0, 1.0))
