"""The expressions of one request: parsed at most once ever, checked against the names and values given.

A request without expressions never comes here beyond one look at its members.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ProjectionExpressions.html
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions import conditions
from keyheat.endpoint.expressions.conditions import Check, Condition, Values
from keyheat.endpoint.expressions.parsing import PROJECTION, condition_tree, projected_paths, update_actions
from keyheat.endpoint.expressions.tokens import NamesUsed
from keyheat.endpoint.expressions.trees import DocumentPath, Tree, value_at
from keyheat.endpoint.expressions.updates import Update, compiled_update
from keyheat.endpoint.values import Item, Value, check_value, serialization_error


@dataclass(frozen=True, slots=True)
class Projection:
    paths: tuple[DocumentPath, ...]

    @property
    def names(self) -> frozenset[str]:
        """The attributes at the top of the item that it looks at."""
        return frozenset(str(path[0]) for path in self.paths)

    def of(self, item: Item) -> Item:
        """The part of the item; what the item does not have is left out."""
        tree: dict[str | int, Any] = {}
        for path in self.paths:
            value = value_at(item, path)
            if value is not None:
                _grow(tree, path, value)
        return {str(name): _rebuilt(branch) for name, branch in tree.items()}


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: Value


def _grow(tree: dict[str | int, Any], path: DocumentPath, value: Value) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = _Leaf(value)


def _rebuilt(branch: Any) -> Value:
    if isinstance(branch, _Leaf):
        return branch.value
    if isinstance(next(iter(branch)), int):
        return {"L": [_rebuilt(branch[at]) for at in sorted(branch)]}
    return {"M": {name: _rebuilt(below) for name, below in branch.items()}}


NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
KEPT = 4096
"""Parsed expressions kept; beyond that the least recently used are parsed again."""

Names = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ParsedCondition:
    """A condition ready to test, its tree, and the names, values and attributes it uses."""

    test: Condition
    tree: Tree
    names: frozenset[str]
    values: frozenset[str]
    checks: tuple[Check, ...]
    attributes: frozenset[str]


@lru_cache(KEPT)
def parsed_condition(kind: str, text: str, names: Names) -> ParsedCondition:
    """A condition, filter or key condition expression. Raises ValidationException."""
    names_used = NamesUsed(dict(names), kind)
    tree, values = condition_tree(text, names_used, kind)
    return ready(tree, kind, frozenset(names_used.used), values)


def ready(
    tree: Tree, kind: str, names: frozenset[str] = frozenset(), values: frozenset[str] = frozenset()
) -> ParsedCondition:
    """A parsed condition, ready to test."""
    return ParsedCondition(
        conditions.compiled(tree), tree, names, values,
        tuple(conditions.checks_of(tree, kind)), conditions.attributes_of(tree),
    )  # fmt: skip


@lru_cache(KEPT)
def parsed_update(text: str, names: Names) -> tuple[Update, frozenset[str]]:
    """An update expression and the names it uses. Raises ValidationException."""
    names_used = NamesUsed(dict(names), "UpdateExpression")
    return compiled_update(*update_actions(text, names_used)), frozenset(names_used.used)


@lru_cache(KEPT)
def parsed_projection(text: str, names: Names) -> tuple[Projection, frozenset[str]]:
    """A projection expression and the names it uses. Raises ValidationException."""
    names_used = NamesUsed(dict(names), PROJECTION)
    return Projection(projected_paths(text, names_used)), frozenset(names_used.used)


class Expressions:
    """One request's expressions, names and values. At the end, `finish` says what was unused."""

    __slots__ = ("_names", "_unused_names", "_unused_values", "values")

    def __init__(self, request: dict[str, Any]) -> None:
        names, values = request.get(NAMES), request.get(VALUES)
        self._names: Names = () if names is None else _checked_names(names)
        self.values: Values = {} if values is None else _checked_values(values)
        self._unused_names = {placeholder for placeholder, _ in self._names}
        self._unused_values = set(self.values)

    def condition(self, kind: str, text: Any) -> ParsedCondition:
        parsed = parsed_condition(kind, _text(text), self._names)
        self._use(kind, parsed.names, parsed.values)
        for check in parsed.checks:
            check(self.values)
        return parsed

    def update(self, text: Any) -> Update:
        update, names = parsed_update(_text(text), self._names)
        self._use("UpdateExpression", names, update.values)
        for check in update.checks:
            check(self.values)
        return update

    def projection(self, text: Any) -> Projection:
        projection, names = parsed_projection(_text(text), self._names)
        self._unused_names -= names
        return projection

    def finish(self) -> None:
        """Raises ValidationException for a name or a value that no expression used."""
        for member, unused in ((NAMES, self._unused_names), (VALUES, self._unused_values)):
            if unused:
                listed = ", ".join(sorted(unused))
                raise validation_error(
                    f"Value provided in {member} unused in expressions: keys: {{{listed}}}"
                )

    def _use(self, kind: str, names: frozenset[str], values: frozenset[str]) -> None:
        for name in values:
            if name not in self.values:
                raise validation_error(
                    f"Invalid {kind}: An expression attribute value used in expression is not defined; "
                    f"attribute value: {name}"
                )
        self._unused_names -= names
        self._unused_values -= values


def require_expressions(request: dict[str, Any], expressions: tuple[str, ...]) -> bool:
    """Whether the request has any of these expressions; names or values without one are an error."""
    for member in expressions:
        if request.get(member) is not None:
            return True
    for member in (NAMES, VALUES):
        if request.get(member) is not None:
            message = f"{member} can only be specified when using expressions"
            if member == VALUES and (carriers := [kind for kind in expressions if kind != PROJECTION]):
                verb = "is" if len(carriers) == 1 else "are all"
                message += f": {' and '.join(carriers)} {verb} null"
            raise validation_error(message)
    return False


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise serialization_error(text, "String")
    return text


def _checked_names(names: Any) -> Names:
    if type(names) is not dict:
        raise serialization_error(names, "Map")
    if not names:
        raise validation_error(f"{NAMES} must not be empty")
    for placeholder, name in names.items():
        if type(name) is not str:
            raise serialization_error(name, "String")
        if len(placeholder) < 2 or placeholder[0] != "#":
            raise validation_error(f'{NAMES} contains invalid key: Syntax error; key: "{placeholder}"')
    return tuple(names.items())


def _checked_values(values: Any) -> Item:
    if type(values) is not dict:
        raise serialization_error(values, "Map")
    if not values:
        raise validation_error(f"{VALUES} must not be empty")
    for name, value in values.items():
        if len(name) < 2 or name[0] != ":":
            raise validation_error(f'{VALUES} contains invalid key: Syntax error; key: "{name}"')
        try:
            check_value(value)
        except ServiceError as error:
            if error.code != "ValidationException":
                raise
            message = f"{VALUES} contains invalid value: {error.message} for key {name}"
            raise validation_error(message) from error
    return values
