"""Whether a request has the shape that the API gives its operation: types, lengths, patterns, allowed values.

The shapes come from the service model in botocore, the one that clients are generated from, so every member
of every operation is checked without naming it here. The words are the service's own. botocore's reader of
the model brings urllib3, dateutil and 10 MB along, so names, types and bounds are read here as they stand.

`check_shape` walks the whole request along the service model and costs more than the operation. So
the types and allowed words of the members at the top are kept in tables, and only a request that does not
fit them is walked.
"""

import gzip
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.endpoint.errors import CORAL, ServiceError, nested_too_deep, validation_error
from keyheat.endpoint.legacy import LEGACY, translated
from keyheat.endpoint.values import token_of

VERSIONS: Final = {"dynamodb": "2012-08-10", "dynamodbstreams": "2012-08-10", "cloudwatch": "2010-08-01"}


class Shape:
    """What a value may be; `metadata` has the bounds, pattern and words of a scalar.

    A structure has `members`, some of them `required_members`; a list has a `member`, a map a `value`.
    """

    __slots__ = ("_api", "metadata", "type_name")

    def __init__(self, api: str, description: dict[str, Any]) -> None:
        self.metadata = description
        self.type_name: str = description["type"]
        self._api = api

    @property
    def members(self) -> dict[str, "Shape"]:
        return {name: shape_of(entry["shape"], self._api) for name, entry in self.metadata["members"].items()}

    @property
    def required_members(self) -> list[str]:
        return list(self.metadata.get("required", ()))

    @property
    def member(self) -> "Shape":
        return shape_of(self.metadata["member"]["shape"], self._api)

    @property
    def value(self) -> "Shape":
        return shape_of(self.metadata["value"]["shape"], self._api)


@cache
def shape_of(name: str, api: str = "dynamodb") -> Shape:
    return Shape(api, _model_of(api)["shapes"][name])


def input_of(operation: str, api: str = "dynamodb") -> Shape | None:
    name = _model_of(api)["operations"][operation].get("input", {}).get("shape")
    return None if name is None else shape_of(name, api)


@cache
def _model_of(api: str) -> dict[str, Any]:
    """The service model of an API, a key of `VERSIONS`, without its documentation, most of the file."""
    spec = find_spec("botocore")  # which is looked for, and not loaded
    assert spec is not None, "botocore is installed with Keyheat"
    file = Path(str(spec.origin)).parent / "data" / api / VERSIONS[api] / "service-2.json.gz"

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(entry) for name, entry in value.items() if name != "documentation"}
        return [bare(entry) for entry in value] if isinstance(value, list) else value

    model: dict[str, Any] = bare(orjson.loads(gzip.decompress(file.read_bytes())))
    return model


JAVA_NAMES = {"string": "String", "integer": "Integer", "long": "Long", "boolean": "Boolean"}
VALID = {"string": str, "integer": int, "long": int, "boolean": bool}


def check_shape(operation: str, request: Mapping[str, Any], api: str = "dynamodb") -> None:
    """Raises SerializationException for a wrong type, ValidationException with every broken constraint."""
    shape = input_of(operation, api)
    try:
        broken = list(_broken(shape, request, "")) if shape is not None else []
    except RecursionError:  # only an attribute's value can hold others of its kind
        raise nested_too_deep() from None
    if broken:
        plural = "s" if len(broken) > 1 else ""
        raise validation_error(f"{len(broken)} validation error{plural} detected: {'; '.join(broken)}")


def page(
    name: str, entries: Sequence[Any], most: int, token: str, token_of: Callable[[Any], str] = str
) -> dict[str, Any]:
    """Return the first `most` entries as `name`; if more follow, `token` is that of the last one."""
    more = {token: token_of(entries[most - 1])} if len(entries) > most else {}
    return {name: list(entries[:most]), **more}


def _broken(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """The constraints that a value breaks, those of its parts first found first."""
    if shape.type_name == "structure":
        _require(Mapping, value, "Unexpected value type in payload", path)
        for name, member in shape.members.items():
            at = f"{path}.{name[0].lower()}{name[1:]}".removeprefix(".")
            if value.get(name) is not None:
                yield from _broken(member, value[name], at)
            elif name in shape.required_members:
                yield f"Value null at '{at}' failed to satisfy constraint: Member must not be null"
    elif shape.type_name == "list":
        _require(list, value, "Unexpected field type", path)
        yield from _out_of_bounds(shape, len(value), value, path, "length")
        for number, element in enumerate(value, 1):
            yield from _broken(shape.member, element, f"{path}.{number}.member")
    elif shape.type_name == "map":
        _require(Mapping, value, "Unexpected field type", path)
        for key, element in value.items():
            yield from _broken(shape.value, element, f"{path}.{key}.member")
    elif shape.type_name == "timestamp":
        _require((int, float, datetime), value, "Unexpected field type", path)
    elif shape.type_name in VALID:
        if type(value) is not VALID[shape.type_name]:
            raise _mistyped(_mistaken(value, JAVA_NAMES[shape.type_name]), path)
        yield from _broken_scalar(shape, value, path)


def _broken_scalar(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, str):
        yield from _out_of_bounds(shape, len(value), value, path, "length")
        pattern, allowed = shape.metadata.get("pattern"), shape.metadata.get("enum")
        if pattern is not None and re.fullmatch(pattern, value) is None:
            yield _message(value, path, f"Member must satisfy regular expression pattern: {pattern}")
        if allowed and value not in allowed:
            yield _message(value, path, f"Member must satisfy enum value set: [{', '.join(allowed)}]")
    elif not isinstance(value, bool):
        yield from _out_of_bounds(shape, value, value, path, "value")


def _out_of_bounds(shape: Shape, size: int, value: Any, path: str, what: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield _message(value, path, f"Member must have {what} greater than or equal to {least}")
    if most is not None and size > most:
        yield _message(value, path, f"Member must have {what} less than or equal to {most}")


MOST_OF_A_VALUE: Final = 1_000
"""Characters of a value that an error repeats."""


def _message(value: Any, path: str, constraint: str) -> str:
    """The constraint in the service's words; of 26 large items no more of the value than one reads."""
    text = str(value)
    text = text if len(text) <= MOST_OF_A_VALUE else f"{text[:MOST_OF_A_VALUE]}..."
    return f"Value '{text}' at '{path}' failed to satisfy constraint: {constraint}"


def _require(kind: type | tuple[type, ...], value: Any, otherwise: str, path: str) -> None:
    if not isinstance(value, kind):
        raise _mistyped(otherwise, path)


def _mistyped(message: str, path: str) -> ServiceError:
    error = ServiceError("SerializationException", message, prefix=CORAL)
    error.path = path
    return error


def _mistaken(value: Any, java_name: str) -> str:
    if isinstance(value, list):
        return "Start of list found where not expected"
    if isinstance(value, dict):
        return "Start of structure or map found where not expected."
    token = token_of(value) if isinstance(value, bool | str) else "NUMBER_VALUE"
    return f"{token} cannot be converted to {java_name}"


Request = dict[str, Any]

TYPES: dict[str, type] = {
    "string": str, "boolean": bool, "integer": int, "map": dict, "list": list, "structure": dict,
}  # fmt: skip
SIZED = ("integer", "list", "map")


Rule = tuple[type, frozenset[str] | None, tuple[float, float] | None]
"""Of a member of a request: its type, the words it may be, and how large or long it may be."""


@cache
def members_of(operation: str) -> tuple[dict[str, Rule], tuple[str, ...]]:
    """The rules of what a request may have at the top, and what it must, from the service model."""
    shape = input_of(operation)
    assert shape is not None, "every operation on items takes a request"
    rules: dict[str, Rule] = {}
    for name, inner in shape.members.items():
        words = frozenset(inner.metadata.get("enum", ())) or None
        least, most = inner.metadata.get("min", -inf), inner.metadata.get("max", inf)
        bounded = inner.type_name in SIZED and (least, most) != (-inf, inf)
        rules[name] = (TYPES[inner.type_name], words, (least, most) if bounded else None)
    return rules, tuple(shape.required_members)


def checked(operation: str, request: Request) -> Request:
    """The request, if its members have the API's types; nested values are not looked at.

    One with parameters from before expressions is looked at whole, and has expressions then.
    Raises ValidationException or SerializationException.
    """
    rules, required = members_of(operation)
    for name, value in request.items():
        rule = rules.get(name)
        if rule is None or value is None:
            continue
        kind, words, bounds = rule
        if (
            type(value) is not kind
            or (words is not None and value not in words)
            or (bounds is not None and not _is_within(value, bounds))
        ):
            check_shape(operation, request)
    for name in required:
        if request.get(name) is None:
            check_shape(operation, request)
    if LEGACY.isdisjoint(request):
        return request
    check_shape(operation, request)
    return translated(request)


def _is_within(value: Any, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= (value if type(value) is int else len(value)) <= bounds[1]
