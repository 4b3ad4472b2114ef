import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.analysis.report.bins import MOST_POINTS, mean_rates, width_for


@pytest.mark.parametrize(
    ("length_s", "width_s"), [(1, 1), (1800, 1), (1801, 2), (18_000, 10), (86_400, 60), (604_800, 600)]
)
def test_widths_are_ones_that_a_person_can_name(length_s, width_s):
    assert width_for(length_s) == width_s


@given(st.integers(1, 10**9))
def test_no_series_is_longer_than_the_most(length_s):
    assert -(-length_s // width_for(length_s)) <= MOST_POINTS


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 99), st.floats(0, 1e6)), max_size=60),
    st.integers(1, 40),
)
def test_binning_keeps_the_sum(events, width_s):
    second = np.array([s for s, _ in events], dtype=np.int64)
    amount = np.array([a for _, a in events], dtype=np.float64)
    rates = mean_rates(second, amount, start_s=0, end_s=100, width_s=width_s)
    lengths = np.minimum(width_s, 100 - np.arange(len(rates)) * width_s)
    assert (rates * lengths).sum() == pytest.approx(amount.sum())


def test_the_last_bin_is_divided_by_its_own_length():
    rates = mean_rates(np.array([0, 1, 2]), [4, 6, 9], start_s=0, end_s=3, width_s=2)
    assert rates.tolist() == [5, 9]


def test_seconds_outside_are_left_out():
    assert mean_rates(np.array([-1, 0, 5]), [9, 1, 9], start_s=0, end_s=2, width_s=1).tolist() == [1, 0]
