"""What a KeyConditionExpression asks for: one partition key, and a range of its sort keys.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from collections.abc import Iterator

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.conditions import Values, wrong_operand
from keyheat.endpoint.expressions.trees import Comparison, FunctionCall, Operand, Tree
from keyheat.endpoint.itemkeys import EMPTY, WORDS, after, partition_prefix, sort_bytes
from keyheat.endpoint.schema import KeySchema, KeySchemaElement
from keyheat.endpoint.values import INVALID, Value

KIND = "KeyConditionExpression"
NOT_SUPPORTED = "Query key condition not supported"
Range = tuple[bytes, bytes]
"""Stored keys from the first on and below the second."""
OnKey = Comparison | trees.Between | FunctionCall
"""What can be asked of a key."""


def key_range(tree: Tree, keys: KeySchema, values: Values) -> Range:
    """The stored keys that a parsed key condition names. Raises ValidationException."""
    conditions: dict[str, OnKey] = {}
    for condition in _conjuncts(tree):
        name = _attribute(condition)
        if name in conditions:
            raise validation_error(
                f"Invalid {KIND}: KeyConditionExpressions must only contain one condition per key"
            )
        conditions[name] = condition
    equals = [_equal(conditions.pop(hashed.name, None), hashed, values) for hashed in keys.partitions]
    prefix = partition_prefix(*equals)
    for sort in keys.sorts:
        if not conditions:
            break
        if sort.name not in conditions:
            raise _missed(sort)
        condition = conditions.pop(sort.name)
        if not conditions:
            return _sort_range(prefix, condition, sort, values)
        prefix += sort_bytes(_equal(condition, sort, values))
    if conditions:
        raise validation_error(NOT_SUPPORTED)
    return prefix, after(prefix)


def _equal(condition: OnKey | None, attribute: KeySchemaElement, values: Values) -> Value:
    """What an attribute of the key is to be equal to: all but the last one of a sort key can be no range."""
    if condition is None:
        raise _missed(attribute)
    if not (isinstance(condition, Comparison) and condition.operator == "="):
        raise validation_error(NOT_SUPPORTED)
    (equals,) = _operands(condition, attribute, values)
    return equals


def _missed(attribute: KeySchemaElement) -> ServiceError:
    return validation_error(f"Query condition missed key schema element: {attribute.name}")


def _conjuncts(tree: Tree) -> Iterator[OnKey]:
    match tree:
        case trees.Both("AND", left, right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case trees.Both(operator) | Comparison("<>" as operator):
            raise _invalid_operator(operator)
        case trees.Not():
            raise _invalid_operator("NOT")
        case Comparison() | trees.Between() | FunctionCall("begins_with"):
            yield tree
        case FunctionCall(function):
            raise _invalid_operator(function)
        case _:
            raise _invalid_operator("IN")


def _invalid_operator(operator: str) -> Exception:
    return validation_error(f"Invalid operator used in {KIND}: {operator}")


def _parts(condition: OnKey) -> tuple[Operand, ...]:
    """The tested operand, then those that it is compared with."""
    match condition:
        case Comparison(_, left, right):
            return left, right
        case trees.Between(tested, low, high):
            return tested, low, high
        case FunctionCall(_, arguments):
            return arguments


def _attribute(condition: OnKey) -> str:
    node = _parts(condition)[0]
    if not isinstance(node, trees.PathValue):
        raise validation_error(f"Invalid condition in {KIND}: No key attribute specified")
    if len(node.path) > 1:
        raise validation_error(
            f"Invalid {KIND}: KeyConditionExpressions cannot have conditions on nested attributes"
        )
    return str(node.path[0])


def _operands(condition: OnKey, attribute: KeySchemaElement, values: Values) -> list[Value]:
    operands = []
    for node in _parts(condition)[1:]:
        if not isinstance(node, trees.Reference):
            raise validation_error(
                f"Invalid condition in {KIND}: Multiple attribute names used in one condition"
            )
        value = values[node.name]
        content = value.get(attribute.type)
        if content is None:
            raise validation_error(INVALID + "Condition parameter type does not match schema type")
        if not content:
            raise validation_error(EMPTY.format(kind=WORDS[attribute.type], name=attribute.name))
        operands.append(value)
    return operands


def _sort_range(prefix: bytes, condition: OnKey, sort: KeySchemaElement, values: Values) -> Range:
    operands = _operands(condition, sort, values)
    if isinstance(condition, FunctionCall):
        if sort.type == "N":
            raise wrong_operand(KIND, "begins_with", operands[0])
        start = prefix + sort_bytes(operands[0], end=False)
        return start, after(start)
    bounds = [prefix + sort_bytes(operand) for operand in operands]
    if isinstance(condition, trees.Between):
        return bounds[0], after(bounds[1])
    return {
        "=": (bounds[0], after(bounds[0])),
        "<": (prefix, bounds[0]),
        "<=": (prefix, after(bounds[0])),
        ">": (after(bounds[0]), after(prefix)),
        ">=": (bounds[0], after(prefix)),
    }[condition.operator]
