"""Which types of values an expression's operators take: checked before any item is looked at.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from collections.abc import Callable, Iterator
from typing import Any

from moto.dynamodb import comparisons as moto

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.conditions import ORDERED, Values, sort_value
from keyheat.endpoint.store.values import TYPE_NAMES, Value, type_of

Check = Callable[[Values], None]

SAME_TYPE = "same data type for lower and upper bounds"
IN_ORDER = "upper bound to be greater than or equal to lower bound"


def checks_of(tree: Any, kind: str) -> tuple[Check, ...]:
    """What the values of a condition's tree must fulfil; `kind` names the expression in messages."""
    return tuple(_checks(tree, kind))


def wrong_operand(kind: str, operator: str, value: Value) -> ServiceError:
    """An operator or function was given a value of a type that it does not take."""
    return validation_error(
        f"Invalid {kind}: Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {type_of(value)}"
    )


def _checks(tree: Any, kind: str) -> Iterator[Check]:
    if isinstance(tree, (moto.OpAnd, moto.OpOr)):
        yield from _checks(tree.lhs, kind)
        yield from _checks(tree.rhs, kind)
    elif isinstance(tree, moto.OpNot):
        yield from _checks(tree.lhs, kind)
    elif isinstance(tree, ORDERING):
        for side in (tree.lhs, tree.rhs):
            yield from _types(side, kind, tree.OP, ORDERED)
    elif isinstance(tree, moto.FuncBetween):
        for side in (tree.attr, tree.start, tree.end):
            yield from _types(side, kind, "BETWEEN", ORDERED)
        yield from _bounds(tree, kind)
    elif isinstance(tree, moto.FuncBeginsWith):
        yield from _types(tree.substr, kind, "begins_with", {"S", "B"})
    elif isinstance(tree, moto.FuncAttrType):
        yield from _type_name(tree, kind)


def _types(node: Any, kind: str, operator: str, allowed: set[str]) -> Iterator[Check]:
    if isinstance(node, moto.AttributeValue):
        yield from typed(node.value, kind, operator, allowed)


def typed(name: str, kind: str, operator: str, allowed: set[str]) -> Iterator[Check]:
    """That the value of this name has one of the allowed types."""

    def check(values: Values) -> None:
        if type_of(values[name]) not in allowed:
            raise wrong_operand(kind, operator, values[name])

    yield check


def _bounds(tree: Any, kind: str) -> Iterator[Check]:
    if not (isinstance(tree.start, moto.AttributeValue) and isinstance(tree.end, moto.AttributeValue)):
        return
    low, high = tree.start.value, tree.end.value

    def check(values: Values) -> None:
        least, most = values[low], values[high]
        if type_of(least) != type_of(most):
            raise _bad_bounds(kind, SAME_TYPE, least, most)
        if sort_value(least) > sort_value(most):
            raise _bad_bounds(kind, IN_ORDER, least, most)

    yield check


def _bad_bounds(kind: str, requirement: str, least: Value, most: Value) -> ServiceError:
    return validation_error(
        f"Invalid {kind}: The BETWEEN operator requires {requirement}; "
        f"lower bound operand: AttributeValue: {_shown(least)}, "
        f"upper bound operand: AttributeValue: {_shown(most)}"
    )


def _shown(value: Value) -> str:
    ((kind, content),) = value.items()
    return f"{{{kind}:{content}}}"


def _type_name(tree: Any, kind: str) -> Iterator[Check]:
    name = tree.type.value

    def check(values: Values) -> None:
        value = values[name]
        if "S" not in value:
            raise wrong_operand(kind, "attribute_type", value)
        if value["S"] not in TYPE_NAMES:
            raise validation_error(
                f"Invalid {kind}: Invalid attribute type name found; type: {value['S']}, "
                f"valid types: {{{','.join(sorted(TYPE_NAMES))}}}"
            )

    yield check


ORDERING = (moto.OpLessThan, moto.OpLessThanOrEqual, moto.OpGreaterThan, moto.OpGreaterThanOrEqual)
