"""DynamoDB's numbers: up to 38 significant digits, kept exact, compared by value.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.model.limits import NUMBER_DIGITS

MAX_EXPONENT = 125
MIN_EXPONENT = -130
EXACT = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Wide enough that a sum of two valid numbers is exact unless the result is refused anyway."""

_PLAIN = re.compile(r"-?[1-9][0-9]{0,37}|0").fullmatch
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII).fullmatch
_BIAS = 512
_ZERO = b"\x80"
_COMPLEMENT = bytes(255 - byte for byte in range(256))


def canonical(text: str) -> str:
    """The number as DynamoDB gives it back: `7` for `007.0`. Raises ValidationException if it is none."""
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
