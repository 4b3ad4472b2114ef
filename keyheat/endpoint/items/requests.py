"""A quick look at a data request's own members; `shapes` says what is wrong with one that looks odd.

`shapes.check_shape` walks the whole request along the service model and costs more than the operation. So
the types and allowed words of the members at the top are kept in tables, and only a request that does not
fit them is walked.
"""

from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

from botocore.model import Shape, StructureShape

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.wire.shapes import check_shape, service_model

Request = dict[str, Any]

TYPES: dict[str, type] = {
    "string": str, "boolean": bool, "integer": int, "map": dict, "list": list, "structure": dict,
}  # fmt: skip
SIZED = ("integer", "list", "map")
LEGACY = (
    "Expected", "ConditionalOperator", "AttributeUpdates", "AttributesToGet",
    "KeyConditions", "QueryFilter", "ScanFilter",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Members:
    """What an operation's request may have at the top."""

    types: dict[str, type]
    words: dict[str, frozenset[str]]
    bounds: dict[str, tuple[float, float]]
    required: tuple[str, ...]


@cache
def members_of(operation: str) -> Members:
    """The members of an operation's request, from the service model."""
    shape = service_model().operation_model(operation).input_shape
    assert isinstance(shape, StructureShape)
    members = shape.members
    return Members(
        types={name: TYPES[member.type_name] for name, member in members.items()},
        words={name: frozenset(words) for name, member in members.items() if (words := _words(member))},
        bounds={name: _bounds(member) for name, member in members.items() if member.type_name in SIZED},
        required=tuple(shape.required_members),
    )


def checked(operation: str, request: Request) -> Request:
    """The request, if its members have the API's types; nested values are not looked at.

    Raises ValidationException or SerializationException. Parameters from before expressions are
    refused: DynamoDB still takes them, but no current client of it sends them.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
    """
    members = members_of(operation)
    for name, value in request.items():
        kind = members.types.get(name)
        if kind is None or value is None:
            continue
        if (
            type(value) is not kind
            or (name in members.words and value not in members.words[name])
            or (name in members.bounds and not _is_within(value, members.bounds[name]))
        ):
            check_shape(operation, request)
    for name in members.required:
        if request.get(name) is None:
            check_shape(operation, request)
    refuse_legacy(request)
    return request


def refuse_legacy(request: Request) -> None:
    """Raises ValidationException for a parameter from before expressions."""
    for name in LEGACY:
        if name in request and request[name] is not None:
            raise validation_error(
                f"The legacy parameter {name} is not supported here; use an expression parameter instead"
            )


def _words(shape: Shape) -> list[str]:
    return list(shape.metadata.get("enum", ()))


def _bounds(shape: Shape) -> tuple[float, float]:
    return shape.metadata.get("min", -inf), shape.metadata.get("max", inf)


def _is_within(value: Any, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= (value if type(value) is int else len(value)) <= bounds[1]
