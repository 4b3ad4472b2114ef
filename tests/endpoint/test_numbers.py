"""Numbers: their text, and bytes that compare as they do."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.values import canonical, order_bytes

exact = st.builds(
    lambda sign, digits, exponent: f"{sign}{digits}E{exponent}",
    st.sampled_from(["", "-"]),
    st.integers(0, 10**38 - 1),
    st.integers(-100, 80),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("007.50", "7.5"),
        ("-0", "0"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("-1.20E-3", "-0.0012"),
        ("1E125", "1" + "0" * 125),
    ],
)
def test_a_number_comes_back_plain(text: str, shown: str) -> None:
    assert canonical(text) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be converted to a numeric value"),
        ("NaN", "cannot be converted to a numeric value: NaN"),
        ("1_000", "cannot be converted"),
        ("٣", "cannot be converted"),
        ("1" * 39, "more than 38 significant digits"),
        ("1E126", "overflow"),
        ("1E-131", "underflow"),
    ],
)
def test_what_is_no_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(ServiceError, match=message) as caught:
        canonical(text)
    assert caught.value.code == "ValidationException"


@given(exact, exact)
def test_bytes_compare_as_numbers_do(one: str, other: str) -> None:
    first, second = canonical(one), canonical(other)
    assert (order_bytes(first) < order_bytes(second)) == (Decimal(first) < Decimal(second))
    assert (order_bytes(first) == order_bytes(second)) == (first == second)
