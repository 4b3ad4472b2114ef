"""Condition, filter and key condition expressions: parsed by moto, once, and then evaluated on plain items.

moto's parser knows the grammar. Its own evaluation builds a tree of objects of every item it looks at and
compares values of different types as Python does, so a parsed expression is turned into functions here.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import operator
from collections.abc import Callable
from typing import Any

from moto.dynamodb import comparisons as moto

from keyheat.endpoint.expressions.paths import Path, value_at
from keyheat.endpoint.store.numbers import order_bytes
from keyheat.endpoint.store.values import Item, Value, decoded, type_of

Values = dict[str, Value]
Operand = Callable[[Item, Values], Value | None]
Condition = Callable[[Item, Values], bool]

ORDERED = {"S", "N", "B"}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
REFERENCE = "ref"
"""Type of the stand-in that moto's parser is given for a value: its content is the value's name."""


def compiled(tree: Any) -> Condition:
    """The function that a parsed expression stands for."""
    return BUILDERS[type(tree)](tree)


def operand(node: Any) -> Operand:
    """The function that gives an operand's value: of a path, a named value, or `size(path)`."""
    if isinstance(node, moto.AttributePath):
        return _attribute(tuple(node.path))
    if isinstance(node, moto.AttributeValue):
        name = node.value
        return lambda item, values: values[name]
    return _size(operand(node.attr))


def attributes_of(tree: Any) -> frozenset[str]:
    """The attributes at the top of the item that a parsed expression looks at."""
    if isinstance(tree, moto.AttributePath):
        return frozenset((str(tree.path[0]),))
    parts = (
        tree.arguments
        if isinstance(tree, moto.Func)
        else (getattr(tree, "lhs", None), getattr(tree, "rhs", None))
    )
    return frozenset().union(*(attributes_of(part) for part in parts if part is not None))


def _attribute(path: Path) -> Operand:
    if len(path) == 1:
        name = str(path[0])
        return lambda item, values: item.get(name)
    return lambda item, values: value_at(item, path)


def _size(measured: Operand) -> Operand:
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


def _and(tree: Any) -> Condition:
    left, right = compiled(tree.lhs), compiled(tree.rhs)
    return lambda item, values: left(item, values) and right(item, values)


def _or(tree: Any) -> Condition:
    left, right = compiled(tree.lhs), compiled(tree.rhs)
    return lambda item, values: left(item, values) or right(item, values)


def _not(tree: Any) -> Condition:
    inner = compiled(tree.lhs)
    return lambda item, values: not inner(item, values)


def _equal(tree: Any) -> Condition:
    left, right = operand(tree.lhs), operand(tree.rhs)

    def equal(item: Item, values: Values) -> bool:
        value = left(item, values)
        return value is not None and value == right(item, values)

    return equal


def _not_equal(tree: Any) -> Condition:
    left, right = operand(tree.lhs), operand(tree.rhs)
    return lambda item, values: left(item, values) != right(item, values)


def _ordered(tree: Any) -> Condition:
    left, right, holds = operand(tree.lhs), operand(tree.rhs), COMPARE[tree.OP]

    def ordered(item: Item, values: Values) -> bool:
        one, other = left(item, values), right(item, values)
        return _comparable(one, other) and holds(sort_value(one), sort_value(other))  # type: ignore[arg-type]

    return ordered


def _comparable(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return False
    kind = type_of(one)
    return kind in ORDERED and kind in other


def _between(tree: Any) -> Condition:
    tested, low, high = operand(tree.attr), operand(tree.start), operand(tree.end)

    def between(item: Item, values: Values) -> bool:
        value, least, most = tested(item, values), low(item, values), high(item, values)
        if value is None or not (_comparable(value, least) and _comparable(value, most)):
            return False
        assert least is not None
        assert most is not None
        return bool(sort_value(least) <= sort_value(value) <= sort_value(most))

    return between


def _in(tree: Any) -> Condition:
    tested, choices = operand(tree.attr), [operand(choice) for choice in tree.possible_values]

    def is_in(item: Item, values: Values) -> bool:
        value = tested(item, values)
        return value is not None and any(value == choice(item, values) for choice in choices)

    return is_in


def _exists(tree: Any) -> Condition:
    found = operand(tree.attr)
    return lambda item, values: found(item, values) is not None


def _has_type(tree: Any) -> Condition:
    found, wanted = operand(tree.attr), operand(tree.type)

    def has_type(item: Item, values: Values) -> bool:
        value, kind = found(item, values), wanted(item, values)
        return value is not None and kind is not None and type_of(value) == kind.get("S")

    return has_type


def _begins_with(tree: Any) -> Condition:
    found, wanted = operand(tree.attr), operand(tree.substr)

    def begins_with(item: Item, values: Values) -> bool:
        value, prefix = found(item, values), wanted(item, values)
        if value is None or prefix is None:
            return False
        if "S" in value and "S" in prefix:
            return bool(value["S"].startswith(prefix["S"]))
        return "B" in value and "B" in prefix and decoded(value["B"]).startswith(decoded(prefix["B"]))

    return begins_with


def _contains(tree: Any) -> Condition:
    found, wanted = operand(tree.attr), operand(tree.operand)

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


BUILDERS: dict[type, Callable[[Any], Condition]] = {
    moto.OpAnd: _and,
    moto.OpOr: _or,
    moto.OpNot: _not,
    moto.OpEqual: _equal,
    moto.OpNotEqual: _not_equal,
    moto.OpLessThan: _ordered,
    moto.OpLessThanOrEqual: _ordered,
    moto.OpGreaterThan: _ordered,
    moto.OpGreaterThanOrEqual: _ordered,
    moto.FuncBetween: _between,
    moto.FuncIn: _in,
    moto.FuncAttrExists: _exists,
    moto.FuncAttrType: _has_type,
    moto.FuncBeginsWith: _begins_with,
    moto.FuncContains: _contains,
}
