"""What a statement stands for on its table: a write of one item, a read of one, or ranges of keys to look at.

Of a condition the equalities on key attributes say which items; the rest is tested on them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.select.html
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.compiler import Expressions, ParsedCondition, Projection, ready
from keyheat.endpoint.expressions.trees import Both, Comparison, FunctionCall, PathValue, Reference, Tree
from keyheat.endpoint.expressions.updates import Update, compiled_update
from keyheat.endpoint.itemkeys import check_index_keys, checked_item_key, checked_key
from keyheat.endpoint.items.single import CONDITION, WriteRequest, check_no_key
from keyheat.endpoint.partiql.statements import ITEM, Change, Insert, Select, parsed_statement
from keyheat.endpoint.requests import Request
from keyheat.endpoint.schema import KeySchema
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.values import Item
from keyheat.model.limits import STATEMENT_PARTITION_KEYS

NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
ORDER_ON_SCAN = (
    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
)
KEPT = 1024
_RANGED = frozenset(("=", "<", "<=", ">", ">="))


class Columns(Projection):
    """The columns of a SELECT: unlike those of an expression, each stands by itself, `a.b[0]` as `b[0]`."""

    __slots__ = ()

    def of(self, item: Item) -> Item:
        columns = {}
        for path in self.paths:
            if (value := trees.value_at(item, path)) is not None:
                named = max(at for at, step in enumerate(path) if isinstance(step, str))
                columns[str(path[named]) + "".join(f"[{step}]" for step in path[named + 1 :])] = value
        return columns


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """A condition taken apart for a key schema: conditions on the key, one for each range; and the rest."""

    keyed: tuple[Tree, ...]
    rest: ParsedCondition | None
    whole: bool


@dataclass(frozen=True, slots=True)
class WritePlan:
    """How a statement writes: which values are its key's, on which condition, and with which update."""

    key: tuple[tuple[str, str], ...]
    condition: ParsedCondition | None
    update: Update | None


def conjuncts(tree: Tree | None) -> Iterator[Tree]:
    if isinstance(tree, Both) and tree.operator == "AND":
        yield from conjuncts(tree.left)
        yield from conjuncts(tree.right)
    elif tree is not None:
        yield tree


def joined(trees: Iterable[Tree]) -> Tree | None:
    conditions = list(trees)
    return reduce(lambda left, right: Both("AND", left, right), conditions) if conditions else None


def _parsed(tree: Tree | None, kind: str) -> ParsedCondition | None:
    return None if tree is None else ready(tree, kind)


def _on(tree: Tree, name: str) -> bool:
    """Whether a condition holds one attribute of the item against values alone."""
    match tree:
        case Comparison(sign, PathValue(path), Reference()):
            return path == (name,) and sign in _RANGED
        case trees.Between(PathValue(path), Reference(), Reference()):
            return path == (name,)
        case FunctionCall("begins_with", (PathValue(path), Reference())):
            return path == (name,)
    return False


def _is_equality(tree: Tree, name: str) -> bool:
    return isinstance(tree, Comparison) and tree.operator == "=" and _on(tree, name)


def _equality(conditions: Iterable[Tree], name: str) -> Tree | None:
    """The first condition that an attribute equals a value."""
    return next((tree for tree in conditions if _is_equality(tree, name)), None)


@lru_cache(KEPT)
def key_plan(text: str, keys: KeySchema) -> KeyPlan:
    """The ranges of keys that a SELECT looks at; none of them: all there is. Raises ValidationException."""
    conditions = list(conjuncts(parsed_statement(text).where))
    rest = _parsed(joined(conditions), "FilterExpression")
    fixed: list[Tree] = []
    for attribute in keys.partitions[1:]:
        equality = _equality(conditions, attribute.name)
        if equality is None:
            return KeyPlan((), rest, False)
        fixed.append(equality)
    first = PathValue((keys.partition.name,))

    def names_keys(tree: Tree) -> bool:
        if isinstance(tree, trees.In) and tree.tested == first:
            return all(isinstance(choice, Reference) for choice in tree.choices)
        return _is_equality(tree, keys.partition.name)

    chosen = next(filter(names_keys, conditions), None)
    if chosen is None:
        return KeyPlan((), rest, False)
    whole = True
    for attribute in keys.sorts:
        of_sort = [tree for tree in conditions if _on(tree, attribute.name)]
        equality = _equality(of_sort, attribute.name)
        if equality is None:
            whole = False
            fixed += of_sort[:1]
            break
        fixed.append(equality)
    used = [chosen, *fixed]
    rest = _parsed(
        joined(tree for tree in conditions if not any(tree is other for other in used)), "FilterExpression"
    )
    keyed = [joined([tree, *fixed]) for tree in _apart(chosen)]
    return KeyPlan(tuple(tree for tree in keyed if tree is not None), rest, whole)


def _apart(tree: Tree) -> Iterator[Tree]:
    """`k IN [a, b]` as `k = a` and `k = b`."""
    if not isinstance(tree, trees.In):
        yield tree
        return
    if len(tree.choices) > STATEMENT_PARTITION_KEYS:
        raise validation_error(
            f"IN takes at most {STATEMENT_PARTITION_KEYS} values of a partition key; "
            f"it has {len(tree.choices)}"
        )
    for choice in dict.fromkeys(tree.choices):
        yield Comparison("=", tree.tested, choice)


def descends(select: Select, keys: KeySchema, plan: KeyPlan) -> bool:
    """Whether the order that is asked for is the reverse of the keys'. Raises ValidationException."""
    if not select.order:
        return False
    if select.where is None:
        raise validation_error("Must have WHERE clause in the statement when using ORDER BY clause.")
    if not plan.keyed:
        raise validation_error(ORDER_ON_SCAN)
    for name, _ in select.order:
        if name not in [attribute.name for attribute in keys.attributes]:
            raise validation_error(
                f"Variable reference {name} in ORDER BY clause must be part of the primary key"
            )
    if len(plan.keyed) > 1:
        raise validation_error("The local endpoint does not support ORDER BY over several partition keys")
    sorts = [attribute.name for attribute in keys.sorts]
    directions = {descending for name, descending in select.order if name in sorts}
    if len(directions) > 1:
        raise validation_error("ORDER BY has one direction for all attributes of the sort key")
    return directions == {True}


@lru_cache(KEPT)
def write_plan(text: str, keys: KeySchema) -> WritePlan:
    """How a statement other than INSERT writes. Raises ValidationException where it has not the whole key."""
    statement = parsed_statement(text)
    conditions, key = list(conjuncts(statement.where)), []
    for attribute in keys.attributes:
        equality = _equality(conditions, attribute.name)
        if equality is None:
            raise validation_error(NO_KEY)
        conditions = [tree for tree in conditions if tree is not equality]
        assert isinstance(equality, Comparison), "an equality on a key is a comparison"
        assert isinstance(equality.right, Reference), "and with a value"
        key.append((attribute.name, equality.right.name))
    there: Tree = FunctionCall("attribute_exists", (PathValue((keys.partition.name,)),))
    gone: Tree = FunctionCall("attribute_not_exists", (PathValue((keys.partition.name,)),))
    rest = joined(conditions)
    if isinstance(statement, Change):
        names = frozenset(name for name, _ in statement.values)
        update = compiled_update(statement.actions, names)
        return WritePlan(tuple(key), _parsed(joined([there, *conditions]), CONDITION), update)
    if isinstance(statement, Select):  # EXISTS, or one item that is read
        return WritePlan(tuple(key), _parsed(joined([there, *conditions]), CONDITION), None)
    condition = None if rest is None else Both("OR", gone, rest)
    return WritePlan(tuple(key), _parsed(condition, CONDITION), None)


@lru_cache(KEPT)
def _not_there(keys: KeySchema) -> ParsedCondition | None:
    return _parsed(FunctionCall("attribute_not_exists", (PathValue((keys.partition.name,)),)), CONDITION)


def with_values(values: Item) -> Expressions:
    """The values of a statement where those of an expression are."""
    expressions = Expressions({})
    expressions.values = values
    return expressions


def checked_condition(condition: ParsedCondition | None, values: Item) -> ParsedCondition | None:
    """The condition, whose values have types that it takes. Raises ValidationException."""
    for check in () if condition is None else condition.checks:
        check(values)
    return condition


def write_request_of(table: Table, request: Request) -> WriteRequest:
    """The write that a statement is, or for EXISTS the check. Raises ValidationException."""
    text, keys = request["Statement"], table.schema.keys
    statement = parsed_statement(text)
    values = statement.bound(request)
    expressions = with_values(values)
    if isinstance(statement, Insert):
        item = values[ITEM]["M"]
        key = checked_item_key(keys, item)
        check_index_keys(table.schema.indexes, item)
        return WriteRequest(key, item, _not_there(keys), expressions, put=item)
    plan = write_plan(text, keys)
    named = {name: values[reference] for name, reference in plan.key}
    condition = checked_condition(plan.condition, values)
    if plan.update is not None:
        check_no_key(table, plan.update)
        for check in plan.update.checks:
            check(values)
    return WriteRequest(checked_key(keys, named), named, condition, expressions, update=plan.update)
