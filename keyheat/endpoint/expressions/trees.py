"""What an expression says: its parts as values, and document paths, which name a value inside an item.

Document paths have their names already, `#placeholders` replaced; values are still names, since a parsed
expression is kept and serves requests with other values.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.values import Item, Value

DocumentPath = tuple[str | int, ...]
"""Attribute name first, then map keys and list positions."""


@dataclass(frozen=True, slots=True)
class PathValue:
    """What the item has at a path."""

    path: DocumentPath


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that comes with the request, `:name`."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function and its arguments: a condition, or the operand of one or of an update."""

    function: str
    arguments: tuple["Operand", ...]


ARGUMENTS = {
    "attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2,
    "size": 1,
}  # fmt: skip
"""The functions of a condition, and how many arguments each takes."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Two numbers added, or the second taken from the first."""

    sign: str
    left: "Operand"
    right: "Operand"


Operand = PathValue | Reference | FunctionCall | Sum


COMPARISONS = ("=", "<>", "<=", ">=", "<", ">")


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    tested: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    tested: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Tree"


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions joined by `AND` or `OR`."""

    operator: str
    left: "Tree"
    right: "Tree"


Tree = Comparison | Between | In | FunctionCall | Not | Both


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that an update does: the clause that it stands in, where, and with what."""

    clause: str
    path: DocumentPath
    operand: Operand | None = None


NO_PATH = "The document path provided in the update expression is invalid for update"


def value_at(item: Item, path: DocumentPath) -> Value | None:
    """The value that a path names; None where the item has none there."""
    value: Value | None = item.get(path[0])  # type: ignore[arg-type]
    for step in path[1:]:
        if value is None:
            return None
        value = child(value, step)
    return value


def child(value: Value, step: str | int) -> Value | None:
    """The value one step further; None if there is no such value."""
    content: Any
    if isinstance(step, str):
        content = value.get("M")
        return None if content is None else content.get(step)
    content = value.get("L")
    return content[step] if content is not None and step < len(content) else None


def path_text(path: DocumentPath) -> str:
    """The path as DynamoDB's messages show it: `[orders, lines, [2]]`."""
    return "[" + ", ".join(f"[{step}]" if isinstance(step, int) else step for step in path) + "]"


def check_paths(paths: Iterable[DocumentPath], kind: str) -> None:
    """Raises ValidationException where one path is or leads to another, or takes a map for a list."""
    for first_path, other in combinations(paths, 2):
        for collide, word in ((_overlap, "overlap"), (_conflict, "conflict")):
            if collide(first_path, other):
                raise validation_error(
                    f"Invalid {kind}: Two document paths {word} with each other; must remove or rewrite one "
                    f"of these paths; path one: {path_text(first_path)}, path two: {path_text(other)}"
                )


def _overlap(first_path: DocumentPath, other: DocumentPath) -> bool:
    """Whether one path is the other, or leads to it."""
    least = min(len(first_path), len(other))
    return first_path[:least] == other[:least]


def _conflict(first_path: DocumentPath, other: DocumentPath) -> bool:
    """Whether two paths take one value for a map and for a list."""
    for step, other_step in zip(first_path, other, strict=False):
        if step != other_step:
            return type(step) is not type(other_step)
    return False


def _parent(item: Item, path: DocumentPath) -> tuple[Value, str | int]:
    value: Value | None = {"M": item}
    for step in path[:-1]:
        value = None if value is None else child(value, step)
    last = path[-1]
    if value is None or ("M" if isinstance(last, str) else "L") not in value:
        raise validation_error(NO_PATH)
    return value, last


def put_at(item: Item, path: DocumentPath, value: Value) -> None:
    """Write a value; a position past a list's end is its end. Raises ValidationException without a parent."""
    parent, last = _parent(item, path)
    if isinstance(last, str):
        parent["M"][last] = value
    elif last < len(parent["L"]):
        parent["L"][last] = value
    else:
        parent["L"].append(value)


def remove_at(item: Item, path: DocumentPath) -> None:
    """Remove what is there, if anything. Raises ValidationException if its parent is not there."""
    parent, last = _parent(item, path)
    if isinstance(last, str):
        parent["M"].pop(last, None)
    elif last < len(parent["L"]):
        del parent["L"][last]
