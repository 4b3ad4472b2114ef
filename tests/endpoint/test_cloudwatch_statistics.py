"""Statistics of the minutes of a metric, and of longer periods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.endpoint.cloudwatch.metrics import MetricPoint, statistic, together

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def point(value: float, start_s: int = 0) -> MetricPoint:
    return MetricPoint(start_s=start_s, sum=value, count=1.0, minimum=value, maximum=value)


@given(VALUES)
def test_statistics_of_points_together_are_those_of_their_values(numbers: list[float]) -> None:
    whole = together([point(number) for number in numbers], 0)
    assert statistic(whole, "Sum") == pytest.approx(sum(numbers), abs=1e-6)
    assert (statistic(whole, "Minimum"), statistic(whole, "Maximum")) == (min(numbers), max(numbers))
    assert statistic(whole, "p50") is None
