"""What a PartiQL statement says, as values; and the attribute values in it, which parameters complete.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.data-types.html
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.trees import Action, DocumentPath, Tree
from keyheat.endpoint.values import INVALID, Item, Value, check_value, type_of

Template = Callable[[Sequence[Value]], Value]
"""An attribute value, made from the parameters of a request."""


def constant(value: Value) -> Template:
    return lambda parameters: value


def set_of(members: list[Value]) -> Value:
    """The set that these values are members of. Raises ValidationException."""
    kinds = {type_of(member) for member in members}
    if not members:
        raise validation_error(INVALID + "An AttributeValue may not contain an empty set")
    if len(kinds) > 1 or not kinds <= {"S", "N", "B"}:
        listed = ", ".join(sorted(kinds))
        raise validation_error(INVALID + f"A set has members of one type, S, N or B; it has {listed}")
    kind = kinds.pop()
    content: list[Any] = [member[kind] for member in members]
    return {kind + "S": content}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Any statement: the table, the condition, the values by the names that the condition has for them."""

    table: str
    where: Tree | None = None
    values: tuple[tuple[str, Template], ...] = ()
    parameters: int = 0

    def bound(self, parameters: Sequence[Value]) -> Item:
        """The values by name, parameters in their places. Raises ValidationException."""
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

    index: str | None = None
    paths: tuple[DocumentPath, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()
    exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Statement):
    """`INSERT INTO table VALUE {...}`; the item is the value named `ITEM`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Statement):
    """`UPDATE table SET ... WHERE ...`; `returning` as ReturnValues spells it."""

    actions: tuple[Action, ...]
    returning: str = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Statement):
    """`DELETE FROM table WHERE ...`."""

    returning: str = "NONE"


ITEM = ":item"
VERBS: dict[type[Statement], str] = {
    Select: "PartiQLSelect", Insert: "PartiQLInsert", Change: "PartiQLUpdate", Delete: "PartiQLDelete",
}  # fmt: skip
"""As CloudWatch's dimension `Verb` has them."""


def writes(statement: Statement) -> bool:
    """Whether it is for a transaction or a batch of writes; a check that an item exists is."""
    return not isinstance(statement, Select) or statement.exists
