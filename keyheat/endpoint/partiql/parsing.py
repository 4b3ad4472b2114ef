"""PartiQL statements from their text, with DynamoDB's words for what does not parse.

Everything here depends on the text alone, so its results are kept.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
"""

from functools import lru_cache, partial

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.tokens import END
from keyheat.endpoint.expressions.trees import Action, PathValue, Reference
from keyheat.endpoint.partiql.statements import ITEM, Change, Delete, Insert, Select, Statement
from keyheat.endpoint.partiql.terms import Terms
from keyheat.endpoint.partiql.tokens import LEFT_OVER, NO_TABLE, StatementReader, malformed

KEPT = 1024
"""Parsed statements kept; beyond that the least recently used are parsed again."""
RETURNING = {
    ("ALL", "OLD"): "ALL_OLD", ("ALL", "NEW"): "ALL_NEW",
    ("MODIFIED", "OLD"): "UPDATED_OLD", ("MODIFIED", "NEW"): "UPDATED_NEW",
}  # fmt: skip
IN_SETS = {"set_add": "ADD", "set_delete": "DELETE"}


@lru_cache(KEPT)
def parsed_statement(text: str) -> Statement:
    """The statement that a text is. Raises ValidationException."""
    terms = Terms(StatementReader(text))
    reader = terms.reader
    if reader.took("SELECT"):
        statement: Statement = _select(terms)
    elif reader.took("EXISTS"):
        statement = _exists(terms)
    elif reader.took("INSERT"):
        statement = _insert(terms)
    elif reader.took("UPDATE"):
        statement = _update(terms)
    elif reader.took("DELETE"):
        statement = _delete(terms)
    else:
        raise malformed("Expected data manipulation")
    reader.took(";")
    if reader.next != END:
        raise malformed(LEFT_OVER)
    return statement


def _select(terms: Terms, *, exists: bool = False) -> Select:
    reader = terms.reader
    paths = () if reader.took("*") else reader.several(reader.path)
    reader.want("FROM")
    table = reader.name()
    index = reader.name() if reader.took(".") else None
    _refuse_alias(terms)
    where = terms.condition() if reader.took("WHERE") else None
    order = reader.several(lambda: _order(terms)) if reader.took("ORDER", "BY") else ()
    return Select(
        table=table,
        where=where,
        **terms.bindings(),
        index=index,
        paths=paths,
        order=order,
        exists=exists,
    )


def _exists(terms: Terms) -> Select:
    terms.reader.want("(")
    terms.reader.want("SELECT")
    select = _select(terms, exists=True)
    terms.reader.want(")")
    return select


def _order(terms: Terms) -> tuple[str, bool]:
    name = terms.reader.name()
    descending = terms.reader.took("DESC")
    if not descending:
        terms.reader.took("ASC")
    return name, descending


def _insert(terms: Terms) -> Insert:
    terms.reader.want("INTO")
    table = terms.reader.name(NO_TABLE)
    if terms.reader.names and terms.reader.keyword not in ("VALUE", "VALUES"):
        raise malformed(LEFT_OVER)
    terms.reader.want("VALUE")
    if terms.reader.next != "{":
        raise validation_error("The VALUE of an INSERT statement must be one item, {'name': value, ...}")
    item = terms.value()
    return Insert(table=table, values=((ITEM, item),), parameters=terms.reader.parameters)


def _update(terms: Terms) -> Change:
    reader = terms.reader
    table = reader.name(NO_TABLE)
    _refuse_alias(terms)
    actions: list[Action] = []
    while reader.keyword in ("SET", "REMOVE"):
        clause = reader.take().upper()
        actions += reader.several(partial(_action, terms, clause))
    if not actions:
        raise reader.unexpected()
    where = terms.condition() if reader.took("WHERE") else None
    return Change(
        table=table,
        where=where,
        actions=tuple(actions),
        returning=_returning(terms),
        **terms.bindings(),
    )


def _action(terms: Terms, clause: str) -> Action:
    reader = terms.reader
    path = reader.path()
    if clause == "REMOVE":
        return Action(clause, path)
    reader.want("=")
    if not (reader.calls and reader.next.lower() in IN_SETS):
        return Action(clause, path, terms.sum())
    function = reader.take().lower()
    reader.want("(")
    changed = terms.operand()
    reader.want(",")
    members = terms.operand()
    reader.want(")")
    if changed != PathValue(path) or not isinstance(members, Reference):
        raise validation_error(
            f"{function} takes the path that is set, and a set: SET a = {function}(a, <<'x'>>)"
        )
    return Action(IN_SETS[function], path, members)


def _delete(terms: Terms) -> Delete:
    reader = terms.reader
    reader.want("FROM")
    table = reader.name(NO_TABLE)
    _refuse_alias(terms)
    where = terms.condition() if reader.took("WHERE") else None
    returning = _returning(terms)
    if returning not in ("NONE", "ALL_OLD"):
        raise validation_error("A DELETE statement can only have RETURNING ALL OLD *")
    return Delete(
        table=table,
        where=where,
        returning=returning,
        **terms.bindings(),
    )


def _returning(terms: Terms) -> str:
    if not terms.reader.took("RETURNING"):
        return "NONE"
    for words, wish in RETURNING.items():
        if terms.reader.took(*words):
            terms.reader.want("*")
            return wish
    raise terms.reader.unexpected()


def _refuse_alias(terms: Terms) -> None:
    """Raises ValidationException where a table is given another name, which PartiQL has and DynamoDB not."""
    words = ("WHERE", "ORDER", "SET", "REMOVE", "RETURNING")
    if terms.reader.names and terms.reader.keyword not in words:
        raise validation_error("Aliasing is not supported")
