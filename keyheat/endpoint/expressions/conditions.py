"""Condition, filter and key condition expressions as functions of plain items.

Values are compared as DynamoDB compares them, not as Python does: one of another type is never equal, nor
less. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import operator
from collections.abc import Callable
from typing import Any

from keyheat.endpoint.expressions.paths import value_at
from keyheat.endpoint.expressions.trees import (
    Attribute,
    Between,
    Both,
    Call,
    Comparison,
    In,
    Not,
    Operand,
    Path,
    Reference,
    Tree,
)
from keyheat.endpoint.store.numbers import order_bytes
from keyheat.endpoint.store.values import Item, Value, decoded, type_of

Values = dict[str, Value]
Found = Callable[[Item, Values], Value | None]
Condition = Callable[[Item, Values], bool]

ORDERED = {"S", "N", "B"}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def compiled(tree: Tree) -> Condition:
    """The function that a parsed expression stands for."""
    match tree:
        case Both(joined, left, right):
            return _both(joined, compiled(left), compiled(right))
        case Not(inner):
            return _not(compiled(inner))
        case Comparison("=", left, right):
            return _equal(operand(left), operand(right))
        case Comparison("<>", left, right):
            return _not_equal(operand(left), operand(right))
        case Comparison(sign, left, right):
            return _ordered(COMPARE[sign], operand(left), operand(right))
        case Between(tested, low, high):
            return _between(operand(tested), operand(low), operand(high))
        case In(tested, choices):
            return _in(operand(tested), [operand(choice) for choice in choices])
        case Call(function, arguments):
            return FUNCTIONS[function](*map(operand, arguments))


def operand(node: Operand) -> Found:
    """The function that gives an operand's value: of a path, a named value, or `size(path)`."""
    match node:
        case Attribute(path):
            return _attribute(path)
        case Reference(name):
            return lambda item, values: values[name]
        case Call("size", (measured,)):
            return _size(operand(measured))
    raise AssertionError("no other operand is parsed")


def attributes_of(tree: Tree | Operand) -> frozenset[str]:
    """The attributes at the top of the item that a parsed expression looks at."""
    match tree:
        case Attribute(path):
            return frozenset((str(path[0]),))
        case Reference():
            return frozenset()
        case Not(inner):
            return attributes_of(inner)
        case Between(tested, low, high):
            parts: tuple[Tree | Operand, ...] = (tested, low, high)
        case In(tested, choices):
            parts = (tested, *choices)
        case Call(_, arguments):
            parts = arguments
        case _:
            parts = (tree.left, tree.right)
    return frozenset().union(*map(attributes_of, parts))


def _attribute(path: Path) -> Found:
    if len(path) == 1:
        name = str(path[0])
        return lambda item, values: item.get(name)
    return lambda item, values: value_at(item, path)


def _size(measured: Found) -> Found:
    def size(item: Item, values: Values) -> Value | None:
        value = measured(item, values)
        length = None if value is None else _length(value)
        return None if length is None else {"N": str(length)}

    return size


def _length(value: Value) -> int | None:
    for kind, content in value.items():
        if kind == "S":
            return len(content.encode())
        if kind == "B":
            return len(decoded(content))
        if kind in ("SS", "NS", "BS", "L", "M"):
            return len(content)
    return None


def sort_value(value: Value) -> Any:
    """What values of one ordered type are compared by."""
    for kind, content in value.items():
        if kind == "S":
            return content.encode()
        return order_bytes(content) if kind == "N" else decoded(content)
    raise AssertionError("a checked value has one type")


def _both(joined: str, left: Condition, right: Condition) -> Condition:
    if joined == "AND":
        return lambda item, values: left(item, values) and right(item, values)
    return lambda item, values: left(item, values) or right(item, values)


def _not(inner: Condition) -> Condition:
    return lambda item, values: not inner(item, values)


def _equal(left: Found, right: Found) -> Condition:
    def equal(item: Item, values: Values) -> bool:
        value = left(item, values)
        return value is not None and value == right(item, values)

    return equal


def _not_equal(left: Found, right: Found) -> Condition:
    return lambda item, values: left(item, values) != right(item, values)


def _ordered(holds: Callable[[Any, Any], bool], left: Found, right: Found) -> Condition:
    def ordered(item: Item, values: Values) -> bool:
        one, other = left(item, values), right(item, values)
        return _comparable(one, other) and holds(sort_value(one), sort_value(other))  # type: ignore[arg-type]

    return ordered


def _comparable(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return False
    kind = type_of(one)
    return kind in ORDERED and kind in other


def _between(tested: Found, low: Found, high: Found) -> Condition:
    def between(item: Item, values: Values) -> bool:
        value, least, most = tested(item, values), low(item, values), high(item, values)
        if value is None or not (_comparable(value, least) and _comparable(value, most)):
            return False
        assert least is not None
        assert most is not None
        return bool(sort_value(least) <= sort_value(value) <= sort_value(most))

    return between


def _in(tested: Found, choices: list[Found]) -> Condition:
    def is_in(item: Item, values: Values) -> bool:
        value = tested(item, values)
        return value is not None and any(value == choice(item, values) for choice in choices)

    return is_in


def _exists(found: Found) -> Condition:
    return lambda item, values: found(item, values) is not None


def _missing(found: Found) -> Condition:
    return lambda item, values: found(item, values) is None


def _has_type(found: Found, wanted: Found) -> Condition:
    def has_type(item: Item, values: Values) -> bool:
        value, kind = found(item, values), wanted(item, values)
        return value is not None and kind is not None and type_of(value) == kind.get("S")

    return has_type


def _begins_with(found: Found, wanted: Found) -> Condition:
    def begins_with(item: Item, values: Values) -> bool:
        value, prefix = found(item, values), wanted(item, values)
        if value is None or prefix is None:
            return False
        if "S" in value and "S" in prefix:
            return bool(value["S"].startswith(prefix["S"]))
        return "B" in value and "B" in prefix and decoded(value["B"]).startswith(decoded(prefix["B"]))

    return begins_with


def _contains(found: Found, wanted: Found) -> Condition:
    def contains(item: Item, values: Values) -> bool:
        value, part = found(item, values), wanted(item, values)
        return value is not None and part is not None and _is_part(value, part)

    return contains


def _is_part(value: Value, part: Value) -> bool:
    kind, content = next(iter(value.items()))
    part_kind, part_content = next(iter(part.items()))
    if kind == "L":
        return part in content
    if kind in ("SS", "NS", "BS"):
        return kind[0] == part_kind and part_content in content
    if kind != part_kind:
        return False
    if kind == "S":
        return part_content in content
    return kind == "B" and decoded(part_content) in decoded(content)


FUNCTIONS: dict[str, Callable[..., Condition]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _missing,
    "attribute_type": _has_type,
    "begins_with": _begins_with,
    "contains": _contains,
}
