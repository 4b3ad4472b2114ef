"""Statistics of the minutes of a metric, and of longer periods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.endpoint.cloudwatch.metrics import MetricPoint, by_period, is_statistic, statistic, together

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def point(value: float, start_s: int = 0) -> MetricPoint:
    return MetricPoint(start_s=start_s, sum=value, count=1.0, minimum=value, maximum=value)


@given(VALUES)
def test_statistics_of_points_together_are_those_of_their_values(numbers: list[float]) -> None:
    whole = together([point(number) for number in numbers], 0)
    assert statistic(whole, "Sum") == pytest.approx(sum(numbers), abs=1e-6)
    assert (statistic(whole, "Minimum"), statistic(whole, "Maximum")) == (min(numbers), max(numbers))
    assert statistic(whole, "p50") is None


@given(st.lists(st.integers(0, 100), min_size=1, unique=True), st.sampled_from([60, 120, 300, 3600]))
def test_periods_lose_nothing(minutes: list[int], period_s: int) -> None:
    periods = by_period([point(1.0, minute * 60) for minute in minutes], period_s)
    assert sum(one.count for one in periods) == len(minutes)
    assert all(one.start_s % period_s == 0 for one in periods)
    assert [one.start_s for one in periods] == sorted({one.start_s for one in periods})


@pytest.mark.parametrize("name", ["Sum", "p0", "p50", "p99.99", "p100"])
def test_known_statistics(name: str) -> None:
    assert is_statistic(name)


@pytest.mark.parametrize("name", ["sum", "p101", "p-1", "p", "tm99", "p99,9", ""])
def test_unknown_statistics(name: str) -> None:
    assert not is_statistic(name)
