"""Attribute values on the wire, `{"S": "x"}`: what is a value at all, with DynamoDB's words for what is not.

Checking rewrites numbers in place to the form in which DynamoDB gives them back, and orders sets.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

from keyheat.endpoint.errors import CORAL, ServiceError, nested_too_deep, validation_error
from keyheat.model.limits import NESTING_LEVELS, NUMBER_DIGITS

MAX_EXPONENT = 125
MIN_EXPONENT = -130
EXACT = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Wide enough that a sum of two valid numbers is exact unless the result is refused anyway."""

_PLAIN = re.compile(r"-?[1-9][0-9]{0,37}|0").fullmatch
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII).fullmatch
_BIAS = 512
_ZERO, _POSITIVE = b"\x80", 0xC0
_COMPLEMENT = bytes(255 - byte for byte in range(256))


def raw_bytes(value: dict[str, Any]) -> bytes:
    """What a checked text, number or binary value is compared, hashed and measured by."""
    for kind, content in value.items():
        if kind == "S":
            return str(content).encode()
        return order_bytes(content) if kind == "N" else decoded(content)
    raise AssertionError("a checked value has one type")


def canonical(text: str) -> str:
    """The number as DynamoDB gives it back: `7` for `007.0`. Raises ValidationException for other text."""
    if _PLAIN(text):
        return text
    if not text:
        raise validation_error("The parameter cannot be converted to a numeric value")
    if not _NUMBER(text):
        raise validation_error(f"The parameter cannot be converted to a numeric value: {text}")
    return written(Decimal(text))


def written(number: Decimal) -> str:
    """A computed number as text, without exponent. Raises ValidationException outside DynamoDB's range."""
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    if not digits:
        return "0"
    if len(digits) > NUMBER_DIGITS:
        raise validation_error(
            f"Attempting to store more than {NUMBER_DIGITS} significant digits in a Number"
        )
    if number.adjusted() > MAX_EXPONENT:
        raise _out_of_range("overflow", "larger")
    if number.adjusted() < MIN_EXPONENT:
        raise _out_of_range("underflow", "smaller")
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _out_of_range(kind: str, relation: str) -> ServiceError:
    return validation_error(
        f"Number {kind}. Attempting to store a number with magnitude {relation} than supported range"
    )


def order_bytes(text: str) -> bytes:
    """Bytes of a canonical number that compare as the numbers do, and end themselves.

    A sign, the decimal exponent, then pairs of digits; for a negative number, the complement of all that.
    """
    negative = text[0] == "-"
    whole, _, fraction = text.lstrip("-").partition(".")
    whole = whole.lstrip("0")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return _ZERO
    exponent = len(whole) if whole else len(digits) - len(fraction)
    digits = digits.rstrip("0")
    if len(digits) % 2:
        digits += "0"
    pairs = bytes(int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2))
    magnitude = b"\xc0" + (exponent + _BIAS).to_bytes(2, "big") + pairs + b"\0"
    return magnitude.translate(_COMPLEMENT) if negative else magnitude


def number_of(ordered: bytes) -> str:
    """The number whose `order_bytes` these are."""
    if ordered == _ZERO:
        return "0"
    positive = ordered[0] == _POSITIVE
    magnitude = ordered if positive else ordered.translate(_COMPLEMENT)
    exponent = int.from_bytes(magnitude[1:3], "big") - _BIAS
    digits = "".join(f"{pair - 1:02d}" for pair in magnitude[3:-1])
    return written(Decimal(f"{'' if positive else '-'}0.{digits}e{exponent}"))


Value = dict[str, Any]
Item = dict[str, Value]

TYPE_NAMES = {
    "S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL",
    "L": "LIST", "M": "MAP", "SS": "STRING_SET", "NS": "NUMBER_SET", "BS": "BINARY_SET",
}  # fmt: skip
INVALID = "One or more parameter values were invalid: "


def check_item(item: Any) -> Item:
    """Check every attribute of an item or a key. Raises ValidationException or SerializationException."""
    if type(item) is not dict:
        raise serialization_error(item, "Map")
    for name, value in item.items():
        if not name:
            raise validation_error("Attribute name is null or empty")
        if not (type(value) is dict and len(value) == 1 and type(value.get("S")) is str):
            check_value(value)
    return item


SCALARS: dict[str, tuple[type, str]] = {
    "S": (str, "String"), "N": (str, "String"), "B": (str, "Binary"), "BOOL": (bool, "Boolean"),
    "NULL": (bool, "Boolean"),
}  # fmt: skip
"""The type of a scalar's content in JSON, and what DynamoDB calls it."""


def check_value(value: Any, depth: int = 0) -> None:
    """Check one attribute value, whatever is nested in it."""
    if type(value) is not dict:
        raise serialization_error(value, "Map")
    if len(value) != 1:
        raise _not_one_type(value)
    for kind, content in value.items():
        scalar = SCALARS.get(kind)
        if scalar is None:
            check = CHECKS.get(kind)
            if check is None:
                raise _not_one_type({})
            check(value, content, depth)
        elif type(content) is not scalar[0]:
            raise serialization_error(content, scalar[1])
        elif kind == "N":
            value["N"] = canonical(value[kind])
        elif kind == "B":
            decoded(value[kind])
        elif kind == "NULL" and not content:
            raise validation_error(INVALID + "Null attribute value types must have the value of true")


def _check_nested(value: Value, content: Any, depth: int) -> None:
    kind = list if "L" in value else dict
    if type(content) is not kind:
        raise serialization_error(content, "List" if kind is list else "Map")
    if depth >= NESTING_LEVELS:
        raise nested_too_deep()
    for element in content.values() if isinstance(content, dict) else content:
        check_value(element, depth + 1)


EMPTY_SETS = {
    "SS": "An string set  may not be empty", "NS": "An number set  may not be empty",
    "BS": "Binary sets should not be empty",
}  # fmt: skip


def _check_set(value: Value, content: Any, depth: int) -> None:
    kind = type_of(value)
    if type(content) is not list:
        raise serialization_error(content, "List")
    if not content:
        raise validation_error(INVALID + EMPTY_SETS[kind])
    for member in content:
        if type(member) is not str:
            raise serialization_error(member, "String")
    if kind == "NS":
        value["NS"] = sorted(map(canonical, content), key=order_bytes)
        if len(set(value["NS"])) != len(content):
            raise validation_error(INVALID + "Input collection contains duplicates")
        return
    comparable = content if kind == "SS" else [decoded(member) for member in content]
    if len(set(comparable)) != len(content):
        listed = f"[{', '.join(content)}]{' ' if kind == 'SS' else 'of type BS '}"
        raise validation_error(INVALID + f"Input collection {listed}contains duplicates.")
    content.sort(key=None if kind == "SS" else decoded)


CHECKS: dict[str, Callable[[Value, Any, int], None]] = {
    "L": _check_nested,
    "M": _check_nested,
    "SS": _check_set,
    "NS": _check_set,
    "BS": _check_set,
}


def decoded(text: str) -> bytes:
    """The bytes of a binary value. Raises SerializationException if the text is not base64."""
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ServiceError(
            "SerializationException", "Base64 encoded length is unexpected", prefix=CORAL
        ) from error


def type_of(value: Value) -> str:
    """`S` of `{"S": "x"}`."""
    return next(iter(value))


TOKENS = {int: "NUMBER_VALUE", float: "DECIMAL_VALUE", str: "STRING_VALUE", type(None): "NULL_VALUE"}


def token_of(value: Any) -> str | None:
    """A scalar of JSON as DynamoDB's messages call it; None for a list or an object."""
    return f"{value}_VALUE".upper() if isinstance(value, bool) else TOKENS.get(type(value))


def serialization_error(content: Any, expected: str) -> ServiceError:
    """The JSON has a value of another kind than the API's shape there."""
    message = f"{token_of(content)} cannot be converted to {expected}"
    if isinstance(content, dict):
        message = "Start of structure or map found where not expected"
    elif token_of(content) is None:
        message = "Unexpected collection type"
    return ServiceError("SerializationException", message, prefix=CORAL)


def _not_one_type(value: Value) -> ServiceError:
    wrong = "has more than one datatypes set" if len(value) > 1 else "is empty"
    return validation_error(
        f"Supplied AttributeValue {wrong}, must contain exactly one of the supported datatypes"
    )
