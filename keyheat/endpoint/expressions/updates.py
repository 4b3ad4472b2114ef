"""Update expressions: parsed by moto, once, and then run on plain items.

Every action reads the item as it was before the update and writes to the item as it will be.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

from moto.dynamodb.parsing import ast_nodes

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.conditions import Values
from keyheat.endpoint.expressions.operands import Check, typed
from keyheat.endpoint.expressions.parsing import NamesUsed, is_reserved, syntax_error
from keyheat.endpoint.expressions.paths import Path, conflict, overlap, put_at, remove_at, shown, value_at
from keyheat.endpoint.store.numbers import EXACT, written
from keyheat.endpoint.store.values import TYPE_NAMES, Item, Value, check_value, type_of

ast: Any = ast_nodes  # moto declares that this module has no types

Action = Callable[[Item, Item, Values], None]
"""Arguments: the item before, the item after (which is changed), the expression's values."""
Source = Callable[[Item, Values], Value]

KIND = "UpdateExpression"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"


@dataclass(frozen=True, slots=True)
class Update:
    """An update expression ready to run, with the paths it writes and the values it names."""

    actions: tuple[Action, ...]
    paths: tuple[Path, ...]
    values: frozenset[str]
    checks: tuple[Check, ...]

    def run(self, before: Item, after: Item, values: Values) -> None:
        """Change `after`, a copy of `before`. Raises ValidationException if the item does not allow it."""
        for action in self.actions:
            action(before, after, values)
        for path in self.paths:
            if (value := after.get(str(path[0]))) is not None:
                check_value(value)


def compiled_update(tree: Any, names: NamesUsed) -> Update:
    """The update that a parsed expression stands for. Raises ValidationException for paths that collide."""
    compiler = _Compiler(names)
    actions: list[tuple[tuple[int, int], Action]] = []
    paths: list[Path] = []
    clauses: list[type] = []
    for node in _walk(tree):
        if isinstance(node, CLAUSES):
            if type(node) in clauses:
                raise _once(node)
            clauses.append(type(node))
        elif type(node) in ACTIONS:
            path = compiler.path(node.children[0])
            paths.append(path)
            actions.append((_order(node, path), ACTIONS[type(node)](compiler, node, path)))
    _check_paths(paths)
    actions.sort(key=lambda ordered: ordered[0])
    return Update(
        tuple(action for _, action in actions),
        tuple(paths),
        frozenset(compiler.values),
        tuple(compiler.checks),
    )


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for below in node.children or ():
        if isinstance(below, ast.Node):
            yield from _walk(below)


def _order(node: Any, path: Path) -> tuple[int, int]:
    """Elements leave a list last, and from its end, so that positions mean what they meant before."""
    last = path[-1]
    if isinstance(node, ast.UpdateExpressionRemoveAction) and isinstance(last, int):
        return 2, -last
    return (1, last) if isinstance(last, int) else (0, 0)


def _once(clause: Any) -> Exception:
    word = type(clause).__name__.removeprefix("UpdateExpression").removesuffix("Clause").upper()
    return validation_error(
        f'Invalid UpdateExpression: The "{word}" section can only be used once in an update expression;'
    )


def _check_paths(paths: list[Path]) -> None:
    for one, other in combinations(paths, 2):
        for collide, word in ((overlap, "overlap"), (conflict, "conflict")):
            if collide(one, other):
                raise validation_error(
                    f"Invalid UpdateExpression: Two document paths {word} with each other; must remove or "
                    f"rewrite one of these paths; path one: {shown(one)}, path two: {shown(other)}"
                )


class _Compiler:
    """Turns nodes of one expression into functions, noting the values that it names."""

    def __init__(self, names: NamesUsed) -> None:
        self.values: set[str] = set()
        self.checks: list[Check] = []
        self._names = names

    def path(self, node: Any) -> Path:
        steps: list[str | int] = []
        for step in node.children:
            if isinstance(step, ast.ExpressionAttributeName):
                steps.append(self._names[step.get_attribute_name_placeholder()])
            elif isinstance(step, ast.ExpressionAttribute):
                name = step.get_attribute_name()
                if is_reserved(name):
                    raise validation_error(
                        "Invalid UpdateExpression: Attribute name is a reserved keyword; "
                        f"reserved keyword: {name}"
                    )
                steps.append(name)
            elif isinstance(step, ast.ExpressionSelector):
                steps.append(step.get_index())
        return tuple(steps)

    def named(self, node: Any) -> str:
        name = str(node.get_value_name())
        self.values.add(name)
        return name

    def source(self, node: Any) -> Source:
        if isinstance(node, ast.ExpressionAttributeValue):
            name = self.named(node)
            return lambda item, values: values[name]
        if isinstance(node, ast.UpdateExpressionPath):
            return _present(self.path(node))
        if isinstance(node, ast.UpdateExpressionFunction):
            return self._function(node)
        parts = node.children
        if len(parts) == 1:
            return self.source(parts[0])
        sign = parts[1].get_operator()
        self._require(sign, "N", parts[0], parts[2])
        return _arithmetic(sign, self.source(parts[0]), self.source(parts[2]))

    def _function(self, node: Any) -> Source:
        name, *arguments = node.children
        if len(arguments) != 2 or name not in ("if_not_exists", "list_append"):
            raise validation_error(f"Invalid UpdateExpression: Invalid function name; function: {name}")
        if name == "list_append":
            self._require(name, "L", *arguments)
            return _appended(self.source(arguments[0]), self.source(arguments[1]))
        if not isinstance(arguments[0], ast.UpdateExpressionPath):
            raise syntax_error(KIND)
        return _fallback(self.path(arguments[0]), self.source(arguments[1]))

    def _require(self, operator: str, kind: str, *nodes: Any) -> None:
        for node in nodes:
            if isinstance(node, ast.ExpressionAttributeValue):
                self.checks += typed(node.get_value_name(), KIND, operator, {kind})


def _present(path: Path) -> Source:
    def present(item: Item, values: Values) -> Value:
        value = value_at(item, path)
        if value is None:
            raise validation_error(NO_ATTRIBUTE)
        return value

    return present


def _fallback(path: Path, otherwise: Source) -> Source:
    def fallback(item: Item, values: Values) -> Value:
        value = value_at(item, path)
        return otherwise(item, values) if value is None else value

    return fallback


def _appended(first: Source, second: Source) -> Source:
    def appended(item: Item, values: Values) -> Value:
        head, tail = first(item, values), second(item, values)
        if "L" not in head or "L" not in tail:
            raise validation_error(WRONG_TYPE)
        return {"L": head["L"] + tail["L"]}

    return appended


def _arithmetic(sign: str, left: Source, right: Source) -> Source:
    combine = EXACT.add if sign == "+" else EXACT.subtract

    def result(item: Item, values: Values) -> Value:
        one, other = left(item, values), right(item, values)
        if "N" not in one or "N" not in other:
            raise validation_error(WRONG_TYPE)
        return {"N": written(combine(Decimal(one["N"]), Decimal(other["N"])))}

    return result


def _set(compiler: _Compiler, node: Any, path: Path) -> Action:
    source = compiler.source(node.children[1])
    return lambda before, after, values: put_at(after, path, source(before, values))


def _remove(compiler: _Compiler, node: Any, path: Path) -> Action:
    return lambda before, after, values: remove_at(after, path)


def _add(compiler: _Compiler, node: Any, path: Path) -> Action:
    name = compiler.named(node.children[1])
    compiler.checks.append(_allowed(name, "ADD", {"N", "SS", "NS", "BS"}))

    def add(before: Item, after: Item, values: Values) -> None:
        put_at(after, path, _sum(value_at(before, path), values[name]))

    return add


def _sum(value: Value | None, added: Value) -> Value:
    kind = type_of(added)
    if value is None:
        return added
    if kind not in value:
        raise validation_error(WRONG_TYPE)
    if kind == "N":
        return {"N": written(EXACT.add(Decimal(value["N"]), Decimal(added["N"])))}
    return {kind: value[kind] + [member for member in added[kind] if member not in value[kind]]}


def _delete(compiler: _Compiler, node: Any, path: Path) -> Action:
    name = compiler.named(node.children[1])
    compiler.checks.append(_allowed(name, "DELETE", {"SS", "NS", "BS"}))

    def delete(before: Item, after: Item, values: Values) -> None:
        removed, value = values[name], value_at(before, path)
        kind = type_of(removed)
        if value is None:
            return
        if kind not in value:
            raise validation_error(WRONG_TYPE)
        left = [member for member in value[kind] if member not in removed[kind]]
        if left:
            put_at(after, path, {kind: left})
        else:
            remove_at(after, path)

    return delete


def _allowed(name: str, operator: str, kinds: set[str]) -> Check:
    def check(values: Values) -> None:
        if (kind := type_of(values[name])) not in kinds:
            raise validation_error(
                "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: "
                f"{operator}, operand type: {TYPE_NAMES[kind]}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
            )

    return check


CLAUSES = (
    ast.UpdateExpressionSetClause,
    ast.UpdateExpressionRemoveClause,
    ast.UpdateExpressionAddClause,
    ast.UpdateExpressionDeleteClause,
)
ACTIONS: dict[type, Callable[[_Compiler, Any, Path], Action]] = {
    ast.UpdateExpressionSetAction: _set,
    ast.UpdateExpressionRemoveAction: _remove,
    ast.UpdateExpressionAddAction: _add,
    ast.UpdateExpressionDeleteAction: _delete,
}
