"""Numbers as pictures have them."""

import pytest

from keyheat.pages.charts.figures import compact


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1_234.4, 1_234),
        (0.123449, 0.1234),
        (0.0, 0),
        (5e-324, 0),
        (2e-300, 2e-300),
        (1_234_567_890, 1_235_000_000),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_a_number_has_four_digits_however_small_it_is(number: float, shown: float | None) -> None:
    assert compact([number, 1.0]) == [shown, 1]
