"""Item sizes and capacity units, rule by rule as the documentation states them."""

import base64
from typing import Any

import pytest

from keyheat.model import limits
from keyheat.model.units import attribute_bytes, item_bytes, number_bytes, read_units, write_units

KB = 1024


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "ü€😀"}, 9),
        ({"B": base64.b64encode(b"").decode()}, 0),
        ({"B": base64.b64encode(b"1").decode()}, 1),
        ({"B": base64.b64encode(b"12").decode()}, 2),
        ({"B": base64.b64encode(b"123").decode()}, 3),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + (2 + 1) + (1 + 1)),
        ({"M": {}}, 3),
        ({"M": {"name": {"S": "ab"}}}, 3 + 4 + 2 + 1),
        ({"M": {"a": {"L": [{"M": {}}]}}}, 3 + 1 + (3 + (3 + 1)) + 1),
        ({"SS": ["a", "bcd"]}, 4),
        ({"NS": ["1", "234"]}, 2 + 3),
        ({"BS": [base64.b64encode(b"12345").decode()]}, 5),
    ],
)
def test_attribute_sizes(value: dict[str, Any], size: int) -> None:
    assert attribute_bytes(value) == size


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1), ("-0", 1), ("0.00", 1), ("1", 2), ("12", 2), ("123", 3), ("-123", 4),
        ("100", 2), ("0.001", 2), ("1.50", 2), ("1e100", 2), ("-1.2E-5", 3), ("+7", 2),
        ("12345678901234567890123456789012345678", 20),
    ],
)  # fmt: skip
def test_numbers_cost_a_byte_per_two_significant_digits_and_one(number: str, size: int) -> None:
    assert number_bytes(number) == size


@pytest.mark.parametrize(
    ("old_bytes", "new_bytes", "transactional", "units"),
    [
        (0, 1, False, 1), (0, KB, False, 1), (0, KB + 1, False, 2), (5 * KB, 100, False, 5),
        (100, 5 * KB, False, 5), (0, 0, False, 1), (3 * KB, 0, False, 3), (0, KB, True, 2),
        (0, limits.MAX_ITEM_BYTES, False, 400),
    ],
)  # fmt: skip
def test_a_write_costs_the_larger_image(
    old_bytes: int, new_bytes: int, transactional: bool, units: float
) -> None:
    assert write_units(old_bytes, new_bytes, transactional=transactional) == units


@pytest.mark.parametrize(
    ("total_bytes", "consistent", "transactional", "units"),
    [
        (0, True, False, 1), (0, False, False, 0.5), (4 * KB, True, False, 1), (4 * KB + 1, True, False, 2),
        (4 * KB + 1, False, False, 1), (1_500 * 64, True, False, 24), (1_500 * 64, False, False, 12),
        (KB, True, True, 2), (KB, False, True, 2), (limits.PAGE_BYTES, True, False, 256),
        (limits.PAGE_BYTES, False, False, 128),
    ],
)  # fmt: skip
def test_a_read_costs_what_it_evaluates(
    total_bytes: int, consistent: bool, transactional: bool, units: float
) -> None:
    assert read_units(total_bytes, consistent=consistent, transactional=transactional) == units


def test_an_item_weighs_its_names_and_values() -> None:
    assert item_bytes({"pk": {"S": "user"}, "n": {"N": "42"}, "ü": {"NULL": True}}) == 2 + 4 + 1 + 2 + 2 + 1
