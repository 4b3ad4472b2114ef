"""Update expressions, run on plain items.

Every action reads the item as it was before the update and writes to the item as it will be.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from operator import add
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.conditions import Check, Values, typed
from keyheat.endpoint.expressions.trees import Action, DocumentPath, FunctionCall, Operand, Reference
from keyheat.endpoint.values import EXACT, TYPE_NAMES, Item, Value, check_value, type_of, written

Change = Callable[[Item, Item, Values], None]
"""Arguments: the item before, the item after (which is changed), the expression's values."""
Source = Callable[[Item, Values], Value]

KIND = "UpdateExpression"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"


@dataclass(frozen=True, slots=True)
class Update:
    """An update expression ready to run, with the paths it writes and the values it names."""

    changes: tuple[Change, ...]
    paths: tuple[DocumentPath, ...]
    values: frozenset[str]
    checks: tuple[Check, ...]

    def run(self, before: Item, after: Item, values: Values) -> None:
        """Change `after`, a copy of `before`. Raises ValidationException if the item does not allow it."""
        for change in self.changes:
            change(before, after, values)
        for path in self.paths:
            if (value := after.get(str(path[0]))) is not None:
                check_value(value)


def compiled_update(actions: Sequence[Action], values: frozenset[str]) -> Update:
    """The update that parsed actions stand for. Raises ValidationException for paths that collide."""
    paths = [action.path for action in actions]
    trees.check_paths(paths, KIND)
    return Update(
        tuple(_change(action) for action in sorted(actions, key=_order)),
        tuple(paths),
        values,
        tuple(check for action in actions for check in _checks(action)),
    )


def _order(action: Action) -> tuple[int, int]:
    """Elements leave a list last, and from its end, so that positions mean what they meant before."""
    last = action.path[-1]
    if not isinstance(last, int):
        return 0, 0
    return (2, -last) if action.clause == "REMOVE" else (1, last)


def _checks(action: Action) -> Iterator[Check]:
    if isinstance(action.operand, Reference) and action.clause in ALLOWED:
        yield _allowed(action.operand.name, action.clause)
    elif action.operand is not None:
        yield from _required(action.operand)


def _required(node: Operand) -> Iterator[Check]:
    match node:
        case trees.Sum(sign, left, right):
            yield from _of_type("N", sign, (left, right))
        case FunctionCall("list_append", arguments):
            yield from _of_type("L", "list_append", arguments)
        case FunctionCall(_, arguments):
            for argument in arguments:
                yield from _required(argument)


def _of_type(kind: str, operator: str, nodes: tuple[Operand, ...]) -> Iterator[Check]:
    for node in nodes:
        if isinstance(node, Reference):
            yield typed(node.name, KIND, operator, {kind})
        else:
            yield from _required(node)


def _source(node: Operand) -> Source:
    match node:
        case Reference(name):
            return lambda item, values: values[name]
        case trees.PathValue(path):
            return _at(path)
        case trees.Sum(sign, left, right):
            return _combined("N", partial(_sum_of, sign), _source(left), _source(right))
        case FunctionCall("list_append", (first, second)):
            return _combined("L", add, _source(first), _source(second))
        case FunctionCall(_, (trees.PathValue(path), otherwise)):
            return _at(path, _source(otherwise))
    raise AssertionError("no other operand is parsed")


def _at(path: DocumentPath, otherwise: Source | None = None) -> Source:
    """What the item has at a path, else what `otherwise` gives; without that, it has to be there."""

    def value(item: Item, values: Values) -> Value:
        there = trees.value_at(item, path)
        if there is not None:
            return there
        if otherwise is None:
            raise validation_error(NO_ATTRIBUTE)
        return otherwise(item, values)

    return value


def _combined(kind: str, combine: Callable[[Any, Any], Any], first: Source, second: Source) -> Source:
    """Two numbers or lists as one."""

    def combined(item: Item, values: Values) -> Value:
        head, tail = first(item, values), second(item, values)
        if kind not in head or kind not in tail:
            raise validation_error(WRONG_TYPE)
        return {kind: combine(head[kind], tail[kind])}

    return combined


def _sum_of(sign: str, value: str, other: str) -> str:
    combine = EXACT.add if sign == "+" else EXACT.subtract
    return written(combine(Decimal(value), Decimal(other)))


def _change(action: Action) -> Change:
    path = action.path
    if action.operand is None:
        return lambda before, after, values: trees.remove_at(after, path)
    source = _source(action.operand)
    if action.clause == "ADD":
        return lambda before, after, values: trees.put_at(
            after, path, _sum(trees.value_at(before, path), source(before, values))
        )
    if action.clause == "DELETE":
        return lambda before, after, values: _delete(before, after, path, source(before, values))
    return lambda before, after, values: trees.put_at(after, path, source(before, values))


def _sum(value: Value | None, added: Value) -> Value:
    kind = type_of(added)
    if value is None:
        return added
    if kind not in value:
        raise validation_error(WRONG_TYPE)
    if kind == "N":
        return {"N": _sum_of("+", value["N"], added["N"])}
    return {kind: value[kind] + [member for member in added[kind] if member not in value[kind]]}


def _delete(before: Item, after: Item, path: DocumentPath, removed: Value) -> None:
    value, kind = trees.value_at(before, path), type_of(removed)
    if value is None:
        return
    if kind not in value:
        raise validation_error(WRONG_TYPE)
    rest = [member for member in value[kind] if member not in removed[kind]]
    if rest:
        trees.put_at(after, path, {kind: rest})
    else:
        trees.remove_at(after, path)


ALLOWED = {"ADD": {"N", "SS", "NS", "BS"}, "DELETE": {"SS", "NS", "BS"}}
"""The types that a clause takes."""


def _allowed(name: str, clause: str) -> Check:
    def check(values: Values) -> None:
        if (kind := type_of(values[name])) not in ALLOWED[clause]:
            raise validation_error(
                "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: "
                f"{clause}, operand type: {TYPE_NAMES[kind]}, typeSet: ALLOWED_FOR_{clause}_OPERAND"
            )

    return check
