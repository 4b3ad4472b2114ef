"""Where a series changed its level: steps that are found, and noise in which there is none."""

import numpy as np
import pytest

from keyheat.regression.statistics import change_points

STEADY = [100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100]


def drawn(level: float, count: int, seed: int, spread: float = 0.02) -> list[float]:
    return list(level * np.exp(np.random.default_rng(seed).normal(0, spread, count)))


def found(values: list[float]) -> list[int]:
    return [point.index for point in change_points(values)]


def with_outliers(series: list[float], factors: dict[int, float]) -> list[float]:
    return [value * factors.get(at, 1) for at, value in enumerate(series)]


STEP = [*drawn(100, 15, 10), *drawn(90, 15, 11)]
LEVEL = drawn(100, 24, 9)
FAR = [0.01, 0.5, 2.0, 1e6]


def test_a_step_is_found_where_it_is() -> None:
    (point,) = change_points([*STEADY, *(0.9 * value for value in STEADY)])
    assert point.index == 10
    assert (point.before, point.after) == (100.0, 90.0)
    assert point.change == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ([*drawn(100, 20, 3), *drawn(120, 20, 4), *drawn(90, 20, 5)], [20, 40]),
        ([*drawn(100, 20, 20), *drawn(120, 8, 21), *drawn(100, 20, 22)], [20, 28]),  # and back again
        (with_outliers(STEP, {5: 100, 20: 0.01}), [15]),  # an outlier hides no step
        *((with_outliers(LEVEL, {12: far}), []) for far in FAR),
        *((with_outliers(LEVEL, {12: far, 13: far}), []) for far in FAR),
        *((few, []) for few in ([], [1.0], [1.0] * 5, [1.0, 1, 1, 9, 9], [7.0] * 40)),
    ],
)
def test_steps_alone_are_found(values: list[float], steps: list[int]) -> None:
    assert found(values) == steps


def test_noise_has_no_changes() -> None:
    """One series in a hundred may; of 40 heavy-tailed ones more than 3 would be one time in 1,000."""
    rng = np.random.default_rng(12)
    noisy = [list(100 * np.exp(0.1 * rng.standard_t(2, 25))) for _ in range(40)]
    assert sum(bool(found(series)) for series in noisy) <= 3


def test_a_level_of_zero_is_no_division_by_zero() -> None:
    (point,) = change_points([0.0] * 10 + [0.2] * 10)
    assert (point.index, point.change) == (10, None)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="numbers only"):
        change_points([1.0, float("nan")])
