"""PartiQL statements as values, from their text, with DynamoDB's words for what does not parse.

A statement depends on the text alone, so it is kept; parameters complete its values for each request.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.data-types.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.tokens import END
from keyheat.endpoint.expressions.trees import Action, DocumentPath, PathValue, Reference, Tree
from keyheat.endpoint.partiql.reader import LEFT_OVER, NO_TABLE, StatementReader, Template, malformed
from keyheat.endpoint.values import Item, check_value

KEPT = 1024
"""Parsed statements kept; beyond that the least recently used are parsed again."""
RETURNING = {
    ("ALL", "OLD"): "ALL_OLD", ("ALL", "NEW"): "ALL_NEW",
    ("MODIFIED", "OLD"): "UPDATED_OLD", ("MODIFIED", "NEW"): "UPDATED_NEW",
}  # fmt: skip
IN_SETS = {"set_add": "ADD", "set_delete": "DELETE"}
ITEM = ":item"
"""The name of an INSERT's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Any statement: the table, the condition, the values by the names that the condition has for them.

    `verb` is that of CloudWatch's dimension, `kind` what transactions call it.
    """

    verb: ClassVar[str]
    kind: ClassVar[str]
    table: str
    where: Tree | None = None
    values: tuple[tuple[str, Template], ...] = ()
    parameters: int = 0

    @property
    def writes(self) -> bool:
        """Whether it is for a transaction or a batch of writes; a check that an item exists is."""
        return True

    def bound(self, request: Mapping[str, Any]) -> Item:
        """The values by name, the request's parameters in their places. Raises ValidationException."""
        parameters = request.get("Parameters") or []
        if len(parameters) != self.parameters:
            raise validation_error("Number of parameters in request and statement don't match.")
        for parameter in parameters:
            check_value(parameter)
        values = {name: template(parameters) for name, template in self.values}
        for value in values.values():
            check_value(value)
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Statement):
    """`SELECT paths FROM table.index WHERE ... ORDER BY ...`; no paths: whole items.

    `exists`: the condition of a transaction that the item is there, `EXISTS(SELECT ...)`.
    """

    verb, kind = "PartiQLSelect", "ConditionCheck"
    index: str | None = None
    paths: tuple[DocumentPath, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()
    exists: bool = False

    @property
    def writes(self) -> bool:
        return self.exists


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Statement):
    """`INSERT INTO table VALUE {...}`; the item is the value named `ITEM`."""

    verb, kind = "PartiQLInsert", "Insert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Statement):
    """`UPDATE table SET ... WHERE ...`; `returning` as ReturnValues spells it."""

    verb, kind = "PartiQLUpdate", "Update"
    actions: tuple[Action, ...]
    returning: str = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Statement):
    """`DELETE FROM table WHERE ...`."""

    verb, kind = "PartiQLDelete", "Delete"
    returning: str = "NONE"


@lru_cache(KEPT)
def parsed_statement(text: str) -> Statement:
    """The statement that a text is. Raises ValidationException."""
    reader = StatementReader(text)
    if reader.took("SELECT"):
        statement: Statement = _select(reader)
    elif reader.took("EXISTS"):
        reader.want("(")
        reader.want("SELECT")
        statement = _select(reader, exists=True)
        reader.want(")")
    elif reader.took("INSERT"):
        statement = _insert(reader)
    elif reader.took("UPDATE"):
        statement = _update(reader)
    elif reader.took("DELETE"):
        statement = _delete(reader)
    else:
        raise malformed("Expected data manipulation")
    reader.took(";")
    if reader.next != END:
        raise malformed(LEFT_OVER)
    return statement


def _select(reader: StatementReader, *, exists: bool = False) -> Select:
    paths = () if reader.took("*") else reader.several(reader.path)
    reader.want("FROM")
    table = reader.name()
    index = reader.name() if reader.took(".") else None
    _refuse_alias(reader)
    where = reader.where()
    order = reader.several(lambda: _order(reader)) if reader.took("ORDER", "BY") else ()
    return Select(
        table=table, where=where, **reader.bindings, index=index, paths=paths, order=order, exists=exists
    )


def _order(reader: StatementReader) -> tuple[str, bool]:
    name = reader.name()
    descending = reader.took("DESC")
    if not descending:
        reader.took("ASC")
    return name, descending


def _insert(reader: StatementReader) -> Insert:
    reader.want("INTO")
    table = reader.name(NO_TABLE)
    if reader.names and reader.keyword not in ("VALUE", "VALUES"):
        raise malformed(LEFT_OVER)
    reader.want("VALUE")
    if reader.next != "{":
        raise validation_error("The VALUE of an INSERT statement must be one item, {'name': value, ...}")
    item = reader.value()
    return Insert(table=table, values=((ITEM, item),), parameters=reader.parameters)


def _update(reader: StatementReader) -> Change:
    table = reader.name(NO_TABLE)
    _refuse_alias(reader)
    actions: list[Action] = []
    while reader.keyword in ("SET", "REMOVE"):
        clause = reader.take().upper()
        actions += reader.several(partial(_action, reader, clause))
    if not actions:
        raise reader.unexpected()
    where = reader.where()
    returning = _returning(reader)
    return Change(table=table, where=where, actions=tuple(actions), returning=returning, **reader.bindings)


def _action(reader: StatementReader, clause: str) -> Action:
    path = reader.path()
    if clause == "REMOVE":
        return Action(clause, path)
    reader.want("=")
    if not (reader.calls and reader.next.lower() in IN_SETS):
        return Action(clause, path, reader.sum())
    function = reader.take().lower()
    changed, members = reader.arguments(reader.operand, reader.operand)
    if changed != PathValue(path) or not isinstance(members, Reference):
        raise validation_error(
            f"{function} takes the path that is set, and a set: SET a = {function}(a, <<'x'>>)"
        )
    return Action(IN_SETS[function], path, members)


def _delete(reader: StatementReader) -> Delete:
    reader.want("FROM")
    table = reader.name(NO_TABLE)
    _refuse_alias(reader)
    where = reader.where()
    returning = _returning(reader)
    if returning not in ("NONE", "ALL_OLD"):
        raise validation_error("A DELETE statement can only have RETURNING ALL OLD *")
    return Delete(table=table, where=where, returning=returning, **reader.bindings)


def _returning(reader: StatementReader) -> str:
    if not reader.took("RETURNING"):
        return "NONE"
    for words, wish in RETURNING.items():
        if reader.took(*words):
            reader.want("*")
            return wish
    raise reader.unexpected()


def _refuse_alias(reader: StatementReader) -> None:
    """Raises ValidationException where a table is given another name, which PartiQL has and DynamoDB not."""
    words = ("WHERE", "ORDER", "SET", "REMOVE", "RETURNING")
    if reader.names and reader.keyword not in words:
        raise validation_error("Aliasing is not supported")
