"""Request parameters from before expressions, as the expressions that say the same.

What they name becomes placeholders, so that any name and any value can stand in an expression.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
"""

from collections.abc import Iterator
from typing import Any, Final

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.values import INVALID, check_value, raw_bytes, type_of

Request = dict[str, Any]
ORDER: Final = (
    "AttributesToGet", "AttributeUpdates", "Expected", "QueryFilter", "ScanFilter", "ConditionalOperator",
    "KeyConditions",
)  # fmt: skip
"""The parameters, in the order of messages that name several."""
LEGACY: Final = frozenset(ORDER)
EXPRESSIONS: Final = (
    "ProjectionExpression", "FilterExpression", "UpdateExpression", "ConditionExpression",
    "KeyConditionExpression",
)  # fmt: skip
NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
SIGNS: Final = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}
CALLS: Final = {
    "NULL": "attribute_not_exists({})", "NOT_NULL": "attribute_exists({})", "CONTAINS": "contains({}, {})",
    "NOT_CONTAINS": "NOT contains({}, {})", "BEGINS_WITH": "begins_with({}, {})",
    "BETWEEN": "{} BETWEEN {} AND {}",
}  # fmt: skip
COUNTS: Final = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
ON_KEYS: Final = frozenset(("EQ", "LE", "LT", "GE", "GT", "BEGINS_WITH", "BETWEEN"))
ORDERED: Final = frozenset("SNB")
TYPES: Final = {
    "LE": ORDERED, "LT": ORDERED, "GE": ORDERED, "GT": ORDERED, "BETWEEN": ORDERED, "IN": ORDERED,
    "CONTAINS": ORDERED, "NOT_CONTAINS": ORDERED, "BEGINS_WITH": frozenset("SB"),
}  # fmt: skip
"""The types of values that an operator takes; EQ and NE take all."""
ADDED: Final = frozenset(("N", "SS", "NS", "BS", "L"))
DELETED: Final = frozenset(("SS", "NS", "BS"))


def translated(request: Request) -> Request:
    """The request with expressions for its parameters from before them, which it keeps as well.

    Its members have the API's shapes. Raises ValidationException, for both kinds in one request and more.
    """
    old = [name for name in ORDER if request.get(name) is not None]
    new = [name for name in EXPRESSIONS if request.get(name) is not None]
    if not old:
        return request
    if new:
        raise validation_error(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(old)}}} Expression parameters: {{{', '.join(new)}}}"
        )
    for member in (NAMES, VALUES):
        if request.get(member) is not None:
            raise validation_error(f"{member} can only be specified when using expressions")
    slots = _Placeholders()
    members = {**dict(_expressions(slots, request)), NAMES: slots.names, VALUES: slots.values}
    return {**request, **{member: content for member, content in members.items() if content}}


def _expressions(slots: "_Placeholders", request: Request) -> Iterator[tuple[str, str]]:
    """Each expression of the request, its parameters checked in the order in which they stand here."""
    conditions = request.get("Expected") or {}
    filters = request.get("QueryFilter") or request.get("ScanFilter") or {}
    names = request.get("AttributesToGet") or []
    for name in names:
        if names.count(name) > 1:
            raise _invalid(f"Duplicate value in attribute name: {name}")
    joint = f" {request.get('ConditionalOperator') or 'AND'} "
    yield "ProjectionExpression", ", ".join(map(slots.name, names))
    yield "ConditionExpression", joint.join(_expected(slots, *entry) for entry in conditions.items())
    yield "FilterExpression", joint.join(_condition(slots, *entry) for entry in filters.items())
    if request.get("ConditionalOperator") is not None and not (conditions or filters):
        raise validation_error("ConditionalOperator cannot be used without Filter or Expected")
    if request.get("ConditionalOperator") is not None and len(conditions or filters) == 1:
        raise validation_error(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )
    yield "KeyConditionExpression", _key_condition(slots, request.get("KeyConditions"))
    yield "UpdateExpression", _update(slots, request.get("AttributeUpdates") or {})


class _Placeholders:
    """Placeholders so far, for names and for values."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, name: str) -> str:
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value: Any) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder


def _expected(slots: _Placeholders, name: str, expected: Request) -> str:
    """One attribute of Expected: an operator with values, a value, or its absence."""
    value, listed = expected.get("Value"), expected.get("AttributeValueList")
    exists, operator = expected.get("Exists"), expected.get("ComparisonOperator")
    if operator is not None:
        if exists is not None:
            raise _invalid(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
        if value is not None and listed is not None:
            raise _invalid(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
        if value is None and listed is None and COUNTS.get(operator) != 0:
            raise _invalid(
                f"Value or AttributeValueList must be used with ComparisonOperator: {operator} "
                f"for Attribute: {name}"
            )
        return _compared(slots, name, operator, (listed or []) if value is None else [value])
    if listed is not None:
        raise _invalid(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    if exists is False:
        if value is not None:
            raise _invalid(f"Value cannot be used when Exists is false for Attribute: {name}")
        return _compared(slots, name, "NULL", [])
    if value is None:
        exists_text = "null" if exists is None else "true"
        raise _invalid(f"Value must be provided when Exists is {exists_text} for Attribute: {name}")
    return _compared(slots, name, "EQ", [value])


def _condition(slots: _Placeholders, name: str, condition: Request) -> str:
    return _compared(slots, name, condition["ComparisonOperator"], condition.get("AttributeValueList") or [])


def _compared(slots: _Placeholders, name: str, operator: str, values: list[Any]) -> str:
    """One comparison as an expression. Raises ValidationException for values that the operator has not."""
    for value in values:
        check_value(value)
    operand_count = COUNTS.get(operator, 1)
    if len(values) != operand_count and not (operator == "IN" and values):
        raise _invalid(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    kinds = [type_of(value) for value in values]
    for kind in kinds:
        if kind not in TYPES.get(operator, kinds):
            raise _invalid(f"ComparisonOperator {operator} is not valid for {kind} AttributeValue type")
    if len(set(kinds)) > 1:
        raise _invalid("AttributeValues inside AttributeValueList must be of same type")
    if operator == "BETWEEN" and raw_bytes(values[0]) > raw_bytes(values[1]):
        raise validation_error(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )
    attribute, placeholders = slots.name(name), [slots.value(value) for value in values]
    if operator in SIGNS:
        return f"{attribute} {SIGNS[operator]} {placeholders[0]}"
    if operator == "IN":
        return f"{attribute} IN ({', '.join(placeholders)})"
    return CALLS[operator].format(attribute, *placeholders)


def _key_condition(slots: _Placeholders, conditions: dict[str, Request] | None) -> str:
    if conditions is None:
        return ""
    if not 1 <= len(conditions) <= 2:
        raise validation_error("Conditions can be of length 1 or 2 only")
    texts = [_condition(slots, name, condition) for name, condition in conditions.items()]
    if any(condition["ComparisonOperator"] not in ON_KEYS for condition in conditions.values()):
        raise validation_error("Attempted conditional constraint is not an indexable operation")
    return " AND ".join(texts)


def _update(slots: _Placeholders, updates: dict[str, Request]) -> str:
    clauses: dict[str, list[str]] = {}
    for name, update in updates.items():
        clause, text = _action(slots, name, update.get("Action") or "PUT", update.get("Value"))
        clauses.setdefault(clause, []).append(text)
    return " ".join(f"{clause} {', '.join(texts)}" for clause, texts in clauses.items())


def _action(slots: _Placeholders, name: str, action: str, value: Any) -> tuple[str, str]:
    """The clause of an update expression that one update belongs in, and what it says there."""
    attribute = slots.name(name)
    if value is None:
        if action != "DELETE":
            raise _invalid("Only DELETE action is allowed when no attribute value is specified")
        return "REMOVE", attribute
    check_value(value)
    kind = type_of(value)
    if action != "PUT" and kind not in (ADDED if action == "ADD" else DELETED):
        raise _invalid(f"{action} action is not supported for the type {kind}")
    placeholder = slots.value(value)
    if action == "PUT":
        return "SET", f"{attribute} = {placeholder}"
    if kind != "L":
        return action, f"{attribute} {placeholder}"
    empty = slots.value({"L": []})
    return "SET", f"{attribute} = list_append(if_not_exists({attribute}, {empty}), {placeholder})"


def _invalid(message: str) -> ServiceError:
    return validation_error(INVALID + message)
