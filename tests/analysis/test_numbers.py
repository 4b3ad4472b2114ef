import pytest

from keyheat import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1803.4, "1,800"), (12.34, "12.3"), (0.01234, "0.0123"), (99.96, "100"), (1e7, "10,000,000"),
     (300.0, "300"), (-2.5, "-2.5"), (None, "–"), (float("nan"), "–")],
)  # fmt: skip
def test_measured_quantities_have_three_digits(value, text):
    assert numbers.measured(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.284, "28 %"), (0.0, "0 %"), (1.0, "100 %"), (0.9996, "99.9 %"), (0.004, "0.4 %"),
     (0.00001, "under 0.1 %"),
     (1.31, "131 %"), (600.0, "60,000 %"), (None, "–")],
)  # fmt: skip
def test_a_share_never_rounds_to_all_or_nothing(share, text):
    assert numbers.percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.6, "1 min"),
        (75, "1 min 15 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
        (7 * 86_400, "7 d"),
    ],
)
def test_a_span_has_its_two_largest_units(seconds, text):
    assert numbers.span(seconds) == text
