"""Reading request parameters, which come as CBOR or as JSON; and CloudWatch's errors.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CommonErrors.html
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from keyheat.endpoint.errors import ServiceError

Parameters = Mapping[str, Any]


def invalid(message: str) -> ServiceError:
    """A parameter has a value that is not taken."""
    return ServiceError("InvalidParameterValue", message)


def missing(name: str) -> ServiceError:
    """A parameter that must be there is not."""
    return ServiceError("MissingParameter", f"The parameter {name} is required.")


def combination(message: str) -> ServiceError:
    """Parameters that do not go together."""
    return ServiceError("InvalidParameterCombination", message)


def validation(message: str) -> ServiceError:
    """What GetMetricData says of queries it does not take."""
    return ServiceError("ValidationError", message)


def text(parameters: Parameters, name: str, *, most: int = 255) -> str:
    """A text that must be there."""
    value = optional_text(parameters, name, most=most)
    if value is None:
        raise missing(name)
    return value


def optional_text(parameters: Parameters, name: str, *, most: int = 2048) -> str | None:
    """A text, or None."""
    value = parameters.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise invalid(f"The value for parameter {name} must be a text of 1 to {most} characters.")
    return value


def number(parameters: Parameters, name: str, default: float | None = None) -> float:
    """A finite number; must be there where there is no default."""
    value = parameters.get(name, default)
    if value is None:
        raise missing(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid(f"The value for parameter {name} must be a number.")
    if not math.isfinite(value):
        raise invalid(f"The value {value} for parameter {name} is invalid.")
    return float(value)


def whole(parameters: Parameters, name: str, default: int | None = None) -> int:
    """A whole number; must be there where there is no default."""
    value = number(parameters, name, default)
    if value != int(value):
        raise invalid(f"The value {value} for parameter {name} must be a whole number.")
    return int(value)


def flag(parameters: Parameters, name: str, default: bool) -> bool:
    """True or false."""
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise invalid(f"The value for parameter {name} must be true or false.")
    return value


def moment_s(parameters: Parameters, name: str, default: float | None = None) -> float:
    """A time as epoch seconds, from a timestamp or a number."""
    value = parameters.get(name, default)
    return value.timestamp() if isinstance(value, datetime) else number({name: value}, name)


def items(parameters: Parameters, name: str) -> list[Any]:
    """A list; empty where absent."""
    value = parameters.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid(f"The value for parameter {name} must be a list.")
    return value


def structure(value: object, name: str) -> Parameters:
    """A structure that must be there."""
    if value is None:
        raise missing(name)
    if not isinstance(value, Mapping):
        raise invalid(f"The value for parameter {name} must be a structure.")
    return value


def structures(parameters: Parameters, name: str) -> list[Parameters]:
    """A list of structures; empty where absent."""
    return [structure(value, name) for value in items(parameters, name)]


def dimensions(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """Name and value of each dimension, in order of name, since their order says nothing."""
    pairs = [
        (text(pair, "Name"), text(pair, "Value", most=1024)) for pair in structures(parameters, "Dimensions")
    ]
    if len({name for name, _ in pairs}) != len(pairs):
        raise invalid("No two dimensions may have one name.")
    return tuple(sorted(pairs))
