"""What a KeyConditionExpression asks for: one partition key, and a range of its sort keys.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from collections.abc import Iterator
from typing import Any

from moto.dynamodb import comparisons as moto

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.conditions import Values
from keyheat.endpoint.expressions.operands import wrong_operand
from keyheat.endpoint.schema import KeyAttribute, KeySchema
from keyheat.endpoint.store.itemkeys import EMPTY, WORDS, after, partition_prefix, sort_bytes
from keyheat.endpoint.store.values import INVALID, Value

KIND = "KeyConditionExpression"
NOT_SUPPORTED = "Query key condition not supported"
Range = tuple[bytes, bytes]
"""Stored keys from the first on and below the second."""


def key_range(tree: Any, keys: KeySchema, values: Values) -> Range:
    """The stored keys that a parsed key condition names. Raises ValidationException."""
    conditions = _by_attribute(tree)
    partition = conditions.pop(keys.partition.name, None)
    if partition is None:
        raise validation_error(f"Query condition missed key schema element: {keys.partition.name}")
    if not isinstance(partition, moto.OpEqual):
        raise validation_error(NOT_SUPPORTED)
    (wanted,) = _operands(partition, keys.partition, values)
    prefix = partition_prefix(wanted)
    if not conditions:
        return prefix, after(prefix)
    if keys.sort is None or keys.sort.name not in conditions:
        missed = keys.partition.name if keys.sort is None else keys.sort.name
        raise validation_error(
            NOT_SUPPORTED if keys.sort is None else f"Query condition missed key schema element: {missed}"
        )
    if len(conditions) > 1:
        raise validation_error(NOT_SUPPORTED)
    return _sort_range(prefix, conditions[keys.sort.name], keys.sort, values)


def _by_attribute(tree: Any) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    for condition in _conjuncts(tree):
        name = _attribute(condition)
        if name in conditions:
            raise validation_error(
                f"Invalid {KIND}: KeyConditionExpressions must only contain one condition per key"
            )
        conditions[name] = condition
    return conditions


def _conjuncts(tree: Any) -> Iterator[Any]:
    if isinstance(tree, moto.OpAnd):
        yield from _conjuncts(tree.lhs)
        yield from _conjuncts(tree.rhs)
    elif isinstance(tree, moto.OpOr):
        raise _invalid_operator("OR")
    elif isinstance(tree, moto.OpNot):
        inner = tree.lhs
        raise _invalid_operator("attribute_not_exists" if isinstance(inner, moto.FuncAttrExists) else "NOT")
    elif isinstance(tree, moto.OpNotEqual):
        raise _invalid_operator("<>")
    elif isinstance(tree, (moto.Op, moto.FuncBetween, moto.FuncBeginsWith)):
        yield tree
    else:
        raise _invalid_operator(tree.FUNC)


def _invalid_operator(operator: str) -> Exception:
    return validation_error(f"Invalid operator used in {KIND}: {operator}")


def _attribute(condition: Any) -> str:
    node = condition.lhs if isinstance(condition, moto.Op) else condition.attr
    if not isinstance(node, moto.AttributePath):
        raise validation_error(f"Invalid condition in {KIND}: No key attribute specified")
    if len(node.path) > 1:
        raise validation_error(
            f"Invalid {KIND}: KeyConditionExpressions cannot have conditions on nested attributes"
        )
    return str(node.path[0])


def _operands(condition: Any, attribute: KeyAttribute, values: Values) -> list[Value]:
    if isinstance(condition, moto.FuncBetween):
        nodes = [condition.start, condition.end]
    elif isinstance(condition, moto.FuncBeginsWith):
        nodes = [condition.substr]
    else:
        nodes = [condition.rhs]
    return [_operand(node, attribute, values) for node in nodes]


def _operand(node: Any, attribute: KeyAttribute, values: Values) -> Value:
    if not isinstance(node, moto.AttributeValue):
        raise validation_error(f"Invalid condition in {KIND}: Multiple attribute names used in one condition")
    value = values[node.value]
    content = value.get(attribute.type)
    if content is None:
        raise validation_error(INVALID + "Condition parameter type does not match schema type")
    if not content:
        raise validation_error(EMPTY.format(kind=WORDS[attribute.type], name=attribute.name))
    return value


def _sort_range(prefix: bytes, condition: Any, sort: KeyAttribute, values: Values) -> Range:
    operands = _operands(condition, sort, values)
    if isinstance(condition, moto.FuncBeginsWith):
        if sort.type == "N":
            raise wrong_operand(KIND, "begins_with", operands[0])
        start = prefix + sort_bytes(operands[0], end=False)
        return start, after(start)
    bounds = [prefix + sort_bytes(operand) for operand in operands]
    if isinstance(condition, moto.FuncBetween):
        return bounds[0], after(bounds[1])
    return {
        "=": (bounds[0], after(bounds[0])),
        "<": (prefix, bounds[0]),
        "<=": (prefix, after(bounds[0])),
        ">": (after(bounds[0]), after(prefix)),
        ">=": (bounds[0], after(prefix)),
    }[condition.OP]
