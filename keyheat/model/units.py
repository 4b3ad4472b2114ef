"""How many bytes an item weighs and how many capacity units an operation costs.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.model import limits

_COLLECTION_BYTES = 3  # every list and map, empty ones too
_ELEMENT_BYTES = 1  # every element of a list or map, beside its own size


def text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def number_bytes(number: str) -> int:
    """Bytes of a number sent as text.

    The documentation says "approximately": one byte per two significant digits, leading and trailing zeros
    trimmed, and one byte more; a negative number takes another one.
    """
    mantissa = number.strip().lower().partition("e")[0]
    digits = mantissa.lstrip("+-").replace(".", "").strip("0")
    negative = mantissa.startswith("-") and digits != ""
    return (len(digits) + 1) // 2 + 1 + negative


def binary_bytes(base64_text: str) -> int:
    """Raw bytes behind base64 text as it stands on the wire."""
    return len(base64_text) * 3 // 4 - base64_text[-2:].count("=")


def attribute_bytes(value: Mapping[str, Any]) -> int:
    """Bytes of one attribute value in DynamoDB's wire form, such as `{"S": "x"}`; its name is not counted.

    Raises `ValueError` for a type that DynamoDB does not have.
    """
    ((kind, content),) = value.items()
    if kind == "S":
        return text_bytes(content)
    if kind == "N":
        return number_bytes(content)
    if kind == "B":
        return binary_bytes(content)
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "M":
        return _COLLECTION_BYTES + sum(
            text_bytes(name) + attribute_bytes(element) + _ELEMENT_BYTES for name, element in content.items()
        )
    if kind == "L":
        return _COLLECTION_BYTES + sum(attribute_bytes(element) + _ELEMENT_BYTES for element in content)
    if kind in ("SS", "NS", "BS"):
        return sum(attribute_bytes({kind[0]: member}) for member in content)
    raise ValueError(f"no attribute type {kind!r}")


def item_bytes(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Bytes of a whole item: names and values. The 100 bytes of storage billing per item are not in it."""
    total = 0
    for name, value in item.items():
        total += len(name) if name.isascii() else len(name.encode())
        text = value.get("S")  # most values are: they are not asked for their type one by one
        if text is None:
            total += attribute_bytes(value)
        else:
            total += len(text) if text.isascii() else len(text.encode())
    return total


def write_units(old_bytes: int, new_bytes: int, *, transactional: bool = False) -> float:
    """Write units of a put, update or delete: the larger image, per 1 KB, at least one.

    0 bytes stand for an absent item. A transaction prepares and commits: twice as much.
    """
    units = _rounded_up(max(old_bytes, new_bytes), limits.WRITE_UNIT_BYTES)
    return float(units * limits.TRANSACTION_FACTOR if transactional else units)


def read_units(total_bytes: int, *, consistent: bool, transactional: bool = False) -> float:
    """Read units of one read of `total_bytes` altogether, per 4 KB, at least one (one half if eventual).

    One item of GetItem or BatchGetItem each; for Query and Scan the bytes of all items evaluated.
    """
    units = _rounded_up(total_bytes, limits.READ_UNIT_BYTES)
    if transactional:
        return float(units * limits.TRANSACTION_FACTOR)
    return float(units) if consistent else units * limits.EVENTUAL_READ_FACTOR


def _rounded_up(size_bytes: int, unit_bytes: int) -> int:
    return max(1, -(-size_bytes // unit_bytes))
