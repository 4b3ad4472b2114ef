"""What an interval says, and how many runs would do."""

import numpy as np
import pytest

from keyheat.regression.interval import interval_of


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
