"""Document paths, `orders.lines[2].#sku`: the value that one names inside an item."""

from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.trees import Path
from keyheat.endpoint.store.values import Item, Value

NO_PATH = "The document path provided in the update expression is invalid for update"


def value_at(item: Item, path: Path) -> Value | None:
    """The value that a path names; None where the item has none there."""
    value: Value | None = item.get(path[0])  # type: ignore[arg-type]
    for step in path[1:]:
        if value is None:
            return None
        value = child(value, step)
    return value


def child(value: Value, step: str | int) -> Value | None:
    """The value one step further; None where there is none."""
    content: Any
    if isinstance(step, str):
        content = value.get("M")
        return None if content is None else content.get(step)
    content = value.get("L")
    return content[step] if content is not None and step < len(content) else None


def shown(path: Path) -> str:
    """The path as DynamoDB's messages show it: `[orders, lines, [2]]`."""
    return "[" + ", ".join(f"[{step}]" if isinstance(step, int) else step for step in path) + "]"


def overlap(one: Path, other: Path) -> bool:
    """Whether one path is the other, or leads to it."""
    least = min(len(one), len(other))
    return one[:least] == other[:least]


def conflict(one: Path, other: Path) -> bool:
    """Whether two paths take one value for a map and for a list."""
    for step, other_step in zip(one, other, strict=False):
        if step != other_step:
            return type(step) is not type(other_step)
    return False


def _parent(item: Item, path: Path) -> tuple[Value, str | int]:
    value: Value | None = {"M": item}
    for step in path[:-1]:
        value = None if value is None else child(value, step)
    last = path[-1]
    if value is None or ("M" if isinstance(last, str) else "L") not in value:
        raise validation_error(NO_PATH)
    return value, last


def put_at(item: Item, path: Path, value: Value) -> None:
    """Write a value; a position past a list's end is its end. Raises ValidationException without a parent."""
    parent, last = _parent(item, path)
    if isinstance(last, str):
        parent["M"][last] = value
    elif last < len(parent["L"]):
        parent["L"][last] = value
    else:
        parent["L"].append(value)


def remove_at(item: Item, path: Path) -> None:
    """Remove what is there, if anything. Raises ValidationException if its parent is not there."""
    parent, last = _parent(item, path)
    if isinstance(last, str):
        parent["M"].pop(last, None)
    elif last < len(parent["L"]):
        del parent["L"][last]
