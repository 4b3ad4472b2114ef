"""Conditions and filters as functions of plain items, and which types of values their operators take.

Values are compared as DynamoDB compares them, not as Python does: one of another type is never equal, nor
less.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.trees import FunctionCall, Operand, Reference, Tree
from keyheat.endpoint.values import TYPE_NAMES, Item, Value, decoded, raw_bytes, type_of

Values = dict[str, Value]
Found = Callable[[Item, Values], Value | None]
Condition = Callable[[Item, Values], bool]

ORDERED = {"S", "N", "B"}
COMPARATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def compiled(tree: Tree) -> Condition:
    match tree:
        case trees.Both(joined, left, right):
            first_holds, other_holds = compiled(left), compiled(right)
            if joined == "AND":
                return lambda item, values: first_holds(item, values) and other_holds(item, values)
            return lambda item, values: first_holds(item, values) or other_holds(item, values)
        case trees.Not(inner):
            negated = compiled(inner)
            return lambda item, values: not negated(item, values)
        case trees.Comparison(sign, left, right):
            return _on_two(_comparison(sign), operand(left), operand(right))
        case trees.Between(tested, low, high):
            return _between(operand(tested), operand(low), operand(high))
        case trees.In(tested, choices):
            return _in(operand(tested), [operand(choice) for choice in choices])
        case FunctionCall("attribute_exists", (path,)):
            there = operand(path)
            return lambda item, values: there(item, values) is not None
        case FunctionCall("attribute_not_exists", (path,)):
            there = operand(path)
            return lambda item, values: there(item, values) is None
        case FunctionCall(function, (first, second)):
            return _on_two(FUNCTIONS[function], operand(first), operand(second))
    raise AssertionError("no other condition is parsed")


def operand(node: Operand) -> Found:
    """The function that gives an operand's value: of a path, a named value, or `size(path)`."""
    match node:
        case trees.PathValue((str(name),)):
            return lambda item, values: item.get(name)
        case trees.PathValue(path):
            return lambda item, values: trees.value_at(item, path)
        case Reference(name):
            return lambda item, values: values[name]
        case FunctionCall("size", (measured,)):
            return _size(operand(measured))
    raise AssertionError("no other operand is parsed")


def attributes_of(tree: Tree | Operand) -> frozenset[str]:
    """The attributes at the top of the item that a parsed expression looks at."""
    match tree:
        case trees.PathValue(path):
            return frozenset((str(path[0]),))
        case Reference():
            return frozenset()
        case trees.Not(inner):
            return attributes_of(inner)
        case trees.Between(tested, low, high):
            parts: tuple[Tree | Operand, ...] = (tested, low, high)
        case trees.In(tested, choices):
            parts = (tested, *choices)
        case FunctionCall(_, arguments):
            parts = arguments
        case _:
            parts = (tree.left, tree.right)
    return frozenset().union(*map(attributes_of, parts))


def _size(measured: Found) -> Found:
    def size(item: Item, values: Values) -> Value | None:
        for kind, content in (measured(item, values) or {}).items():
            if kind in ("S", "B"):
                return {"N": str(len(content.encode() if kind == "S" else decoded(content)))}
            if kind in ("SS", "NS", "BS", "L", "M"):
                return {"N": str(len(content))}
        return None

    return size


OnTwo = Callable[[Value | None, Value | None], bool]
"""A test of two values, either of which may be missing."""


def _on_two(holds: OnTwo, left: Found, right: Found) -> Condition:
    return lambda item, values: holds(left(item, values), right(item, values))


def _comparison(sign: str) -> OnTwo:
    if sign == "=":
        return lambda value, other: value is not None and value == other
    if sign == "<>":
        return operator.ne
    holds = COMPARATORS[sign]
    return lambda value, other: _comparable(value, other) and holds(raw_bytes(value), raw_bytes(other))  # type: ignore[arg-type]


def _comparable(value: Value | None, other: Value | None) -> bool:
    if value is None or other is None:
        return False
    kind = type_of(value)
    return kind in ORDERED and kind in other


def _between(tested: Found, low: Found, high: Found) -> Condition:
    def between(item: Item, values: Values) -> bool:
        value, least, most = tested(item, values), low(item, values), high(item, values)
        if value is None or not (_comparable(value, least) and _comparable(value, most)):
            return False
        assert least is not None
        assert most is not None
        return bool(raw_bytes(least) <= raw_bytes(value) <= raw_bytes(most))

    return between


def _in(tested: Found, choices: list[Found]) -> Condition:
    def is_in(item: Item, values: Values) -> bool:
        value = tested(item, values)
        return value is not None and any(value == choice(item, values) for choice in choices)

    return is_in


def _has_type(value: Value | None, kind: Value | None) -> bool:
    return value is not None and kind is not None and type_of(value) == kind.get("S")


def _begins_with(value: Value | None, prefix: Value | None) -> bool:
    if value is None or prefix is None:
        return False
    if "S" in value and "S" in prefix:
        return bool(value["S"].startswith(prefix["S"]))
    return "B" in value and "B" in prefix and decoded(value["B"]).startswith(decoded(prefix["B"]))


def _contains(value: Value | None, element: Value | None) -> bool:
    if value is None or element is None:
        return False
    ((kind, content),), ((part_kind, part_content),) = value.items(), element.items()
    if kind == "L":
        return element in content
    if kind in ("SS", "NS", "BS"):
        return kind[0] == part_kind and part_content in content
    if kind != part_kind:
        return False
    if kind == "S":
        return part_content in content
    return kind == "B" and decoded(part_content) in decoded(content)


FUNCTIONS: dict[str, OnTwo] = {
    "attribute_type": _has_type, "begins_with": _begins_with, "contains": _contains,
}  # fmt: skip
Check = Callable[[Values], None]
SAME_TYPE = "same data type for lower and upper bounds"
IN_ORDER = "upper bound to be greater than or equal to lower bound"


def wrong_operand(kind: str, operator: str, value: Value) -> ServiceError:
    """An operator or function was given a value of a type that it does not take."""
    return validation_error(
        f"Invalid {kind}: Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {type_of(value)}"
    )


def checks_of(tree: Tree, kind: str) -> Iterator[Check]:
    """What the values of a condition's tree must fulfil; `kind` names the expression in messages."""
    match tree:
        case trees.Both(_, left, right):
            yield from checks_of(left, kind)
            yield from checks_of(right, kind)
        case trees.Not(inner):
            yield from checks_of(inner, kind)
        case trees.Comparison(sign, left, right) if sign in COMPARATORS:
            yield from _types((left, right), kind, sign, ORDERED)
        case trees.Between(tested, low, high):
            yield from _types((tested, low, high), kind, "BETWEEN", ORDERED)
            if isinstance(low, Reference) and isinstance(high, Reference):
                yield _bounds(low.name, high.name, kind)
        case FunctionCall("begins_with", (_, prefix)):
            yield from _types((prefix,), kind, "begins_with", {"S", "B"})
        case FunctionCall("attribute_type", (_, Reference(name))):
            yield _type_name(name, kind)


def _types(nodes: tuple[Operand, ...], kind: str, operator: str, allowed: set[str]) -> Iterator[Check]:
    for node in nodes:
        if isinstance(node, Reference):
            yield typed(node.name, kind, operator, allowed)


def typed(name: str, kind: str, operator: str, allowed: set[str]) -> Check:
    def check(values: Values) -> None:
        if type_of(values[name]) not in allowed:
            raise wrong_operand(kind, operator, values[name])

    return check


def _bounds(low: str, high: str, kind: str) -> Check:
    def check(values: Values) -> None:
        least, most = values[low], values[high]
        if type_of(least) != type_of(most):
            raise _bad_bounds(kind, SAME_TYPE, least, most)
        if raw_bytes(least) > raw_bytes(most):
            raise _bad_bounds(kind, IN_ORDER, least, most)

    return check


def _bad_bounds(kind: str, requirement: str, least: Value, most: Value) -> ServiceError:
    ((low_kind, low),), ((high_kind, high),) = least.items(), most.items()
    return validation_error(
        f"Invalid {kind}: The BETWEEN operator requires {requirement}; "
        f"lower bound operand: AttributeValue: {{{low_kind}:{low}}}, "
        f"upper bound operand: AttributeValue: {{{high_kind}:{high}}}"
    )


def _type_name(name: str, kind: str) -> Check:
    def check(values: Values) -> None:
        value = values[name]
        if "S" not in value:
            raise wrong_operand(kind, "attribute_type", value)
        if value["S"] not in TYPE_NAMES:
            raise validation_error(
                f"Invalid {kind}: Invalid attribute type name found; type: {value['S']}, "
                f"valid types: {{{','.join(sorted(TYPE_NAMES))}}}"
            )

    return check
