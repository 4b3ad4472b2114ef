"""Which types of values an expression's operators take: checked before any item is looked at.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from collections.abc import Callable, Iterator

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.conditions import COMPARE, ORDERED, Values, sort_value
from keyheat.endpoint.expressions.trees import Between, Both, Call, Comparison, Not, Operand, Reference, Tree
from keyheat.endpoint.store.values import TYPE_NAMES, Value, type_of

Check = Callable[[Values], None]

SAME_TYPE = "same data type for lower and upper bounds"
IN_ORDER = "upper bound to be greater than or equal to lower bound"


def checks_of(tree: Tree, kind: str) -> tuple[Check, ...]:
    """What the values of a condition's tree must fulfil; `kind` names the expression in messages."""
    return tuple(_checks(tree, kind))


def wrong_operand(kind: str, operator: str, value: Value) -> ServiceError:
    """An operator or function was given a value of a type that it does not take."""
    return validation_error(
        f"Invalid {kind}: Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {type_of(value)}"
    )


def _checks(tree: Tree, kind: str) -> Iterator[Check]:
    match tree:
        case Both(_, left, right):
            yield from _checks(left, kind)
            yield from _checks(right, kind)
        case Not(inner):
            yield from _checks(inner, kind)
        case Comparison(sign, left, right) if sign in COMPARE:
            for side in (left, right):
                yield from _types(side, kind, sign, ORDERED)
        case Between(tested, low, high):
            for side in (tested, low, high):
                yield from _types(side, kind, "BETWEEN", ORDERED)
            yield from _bounds(low, high, kind)
        case Call("begins_with", (_, prefix)):
            yield from _types(prefix, kind, "begins_with", {"S", "B"})
        case Call("attribute_type", (_, Reference(name))):
            yield _type_name(name, kind)


def _types(node: Operand, kind: str, operator: str, allowed: set[str]) -> Iterator[Check]:
    if isinstance(node, Reference):
        yield typed(node.name, kind, operator, allowed)


def typed(name: str, kind: str, operator: str, allowed: set[str]) -> Check:
    """That the value of this name has one of the allowed types."""

    def check(values: Values) -> None:
        if type_of(values[name]) not in allowed:
            raise wrong_operand(kind, operator, values[name])

    return check


def _bounds(start: Operand, end: Operand, kind: str) -> Iterator[Check]:
    if not (isinstance(start, Reference) and isinstance(end, Reference)):
        return
    low, high = start.name, end.name

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
