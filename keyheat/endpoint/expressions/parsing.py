"""Expression text to trees, with DynamoDB's words for what does not parse.

Everything here depends on the text and the attribute names alone, never on values, so its results are kept.
Conditions are read with a stack of what is still open, so that 300 operators need no 300 levels of calls.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.tokens import END, NamesUsed, TokenReader, measured, syntax_error
from keyheat.endpoint.expressions.trees import (
    ARGUMENTS,
    COMPARISONS,
    Action,
    Between,
    Both,
    Comparison,
    FunctionCall,
    In,
    Not,
    Operand,
    PathValue,
    Reference,
    Sum,
    Tree,
)

BINDS = {"OR": 1, "AND": 2, "NOT": 3}
"""How tightly; a bracket that is open binds not at all."""
IN_UPDATES = ("if_not_exists", "list_append")


def condition_tree(text: str, names: NamesUsed, kind: str) -> tuple[Tree, frozenset[str]]:
    """The tree of a condition, filter or key condition, and the values it names. Raises ServiceError."""
    tokens = TokenReader(measured(text, kind), names, kind)
    tree = _Condition(tokens).read()
    if tokens.next != END:
        raise tokens.unexpected()
    return tree, frozenset(tokens.values)


def update_actions(text: str, names: NamesUsed) -> tuple[tuple[Action, ...], frozenset[str]]:
    """What an update expression does, in order, and the values it names. Raises ServiceError."""
    tokens = TokenReader(measured(text, "UpdateExpression"), names, "UpdateExpression")
    actions: list[Action] = []
    clauses: list[str] = []
    while tokens.next != END:
        clause = tokens.keyword
        if clause not in ("SET", "REMOVE", "ADD", "DELETE"):
            raise tokens.unexpected()
        if clause in clauses:
            raise validation_error(
                f'Invalid UpdateExpression: The "{clause}" section can only be used once '
                "in an update expression;"
            )
        clauses.append(tokens.take().upper())
        actions.append(_action(clause, tokens))
        while tokens.took(","):
            actions.append(_action(clause, tokens))
    return tuple(actions), frozenset(tokens.values)


def _action(clause: str, tokens: TokenReader) -> Action:
    path = tokens.path()
    if clause == "REMOVE":
        return Action(clause, path)
    if clause != "SET":
        return Action(clause, path, Reference(tokens.reference()))
    tokens.want("=")
    return Action(clause, path, _sum(tokens))


def _sum(tokens: TokenReader) -> Operand:
    total = _addend(tokens)
    while tokens.next in ("+", "-"):
        total = Sum(tokens.take(), total, _addend(tokens))
    return total


def _addend(tokens: TokenReader) -> Operand:
    if tokens.at_reference():
        return Reference(tokens.reference())
    if tokens.calls:
        return _update_call(tokens)
    if not tokens.took("("):
        return tokens.attribute()
    inner = _sum(tokens)
    tokens.want(")")
    return inner


def _update_call(tokens: TokenReader) -> FunctionCall:
    function = tokens.take()
    if function not in IN_UPDATES:
        raise tokens.unexpected()
    tokens.want("(")
    first = tokens.attribute() if function == "if_not_exists" else _addend(tokens)
    tokens.want(",")
    second = _addend(tokens)
    tokens.want(")")
    return FunctionCall(function, (first, second))


@dataclass(slots=True)
class ConditionReader:
    """A condition that is being read: what is still open (brackets, operators), and the trees so far."""

    tokens: Any  # the reader of either language
    simple: Callable[[], Tree]  # reads what operators join
    open: list[str] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)

    def read(self) -> Tree:
        """The whole condition, up to what is no part of it."""
        while True:
            while self.tokens.keyword in ("(", "NOT"):
                self._open(self.tokens.keyword)
            self.trees.append(self.simple())
            while self.tokens.keyword == ")" and "(" in self.open:
                self._close()
            if self.tokens.keyword not in ("AND", "OR"):
                break
            self._reduce(BINDS[self.tokens.keyword])
            self._open(self.tokens.keyword)
        if "(" in self.open:
            raise self.tokens.unexpected()
        self._reduce(0)
        return self.trees[0]

    def _open(self, word: str) -> None:
        """Read a bracket or an operator."""
        self.open.append(word)
        self.tokens.take()

    def _close(self) -> None:
        self._reduce(0)
        self.open.pop()
        self.tokens.take()

    def _reduce(self, least: int) -> None:
        """Join the trees whose operators bind at least so tightly, back to the last open bracket."""
        while self.open and self.open[-1] != "(" and BINDS[self.open[-1]] >= least:
            operator, right = self.open.pop(), self.trees.pop()
            self.trees.append(Not(right) if operator == "NOT" else Both(operator, self.trees.pop(), right))


class _Condition(ConditionReader):
    """One of an expression, in which no brackets stand directly within others."""

    def __init__(self, tokens: TokenReader) -> None:
        super().__init__(tokens, lambda: _simple(tokens))
        self._began: list[int] = []
        self._closed: tuple[int, int] | None = None  # the bracket closed last: where it began, where it ended

    def _open(self, word: str) -> None:
        if word == "(":
            self._began.append(self.tokens.at)
        super()._open(word)

    def _close(self) -> None:
        began, ended = self._began.pop(), self.tokens.at
        if self._closed == (began + 1, ended - 1):
            raise validation_error(f"Invalid {self.tokens.kind}: The expression has redundant parentheses;")
        self._closed = (began, ended)
        super()._close()


def _simple(tokens: TokenReader) -> Tree:
    """A comparison, BETWEEN, IN, or a function that is a condition."""
    left = _compared(tokens)
    if tokens.next in COMPARISONS:
        return Comparison(tokens.take(), left, _compared(tokens))
    if tokens.took("BETWEEN"):
        low = _compared(tokens)
        tokens.want("AND")
        return Between(left, low, _compared(tokens))
    if tokens.took("IN"):
        return In(left, _listed(tokens))
    if isinstance(left, FunctionCall) and left.function != "size":
        return left
    raise tokens.unexpected()


def _listed(tokens: TokenReader) -> tuple[Operand, ...]:
    tokens.want("(")
    listed = [_compared(tokens)]
    while tokens.took(","):
        listed.append(_compared(tokens))
    tokens.want(")")
    return tuple(listed)


def _compared(tokens: TokenReader) -> Operand:
    if tokens.at_reference():
        return Reference(tokens.reference())
    return _call(tokens) if tokens.calls else tokens.attribute()


def _call(tokens: TokenReader) -> FunctionCall:
    function = tokens.take()
    if function not in ARGUMENTS:
        raise _no_function(function, tokens.kind)
    tokens.want("(")
    arguments = [_argument(tokens)]
    while tokens.took(","):
        arguments.append(_argument(tokens))
    tokens.want(")")
    _check_arguments(function, arguments, tokens.kind)
    return FunctionCall(function, tuple(arguments))


def _check_arguments(function: str, arguments: Sequence[Operand], kind: str) -> None:
    wanted = ARGUMENTS[function]
    if len(arguments) != wanted:
        raise validation_error(
            f"Invalid {kind}: Incorrect number of operands for operator or function; "
            f"operator or function: {function}, number of operands: {len(arguments)}"
        )
    if wanted == 1 and not isinstance(arguments[0], PathValue):
        raise validation_error(
            f"Invalid {kind}: Operator or function requires a document path; operator or function: {function}"
        )
    if function == "attribute_type" and not isinstance(arguments[1], Reference):
        raise syntax_error(kind)


def _argument(tokens: TokenReader) -> Operand:
    return Reference(tokens.reference()) if tokens.at_reference() else tokens.attribute()


def _no_function(name: str, kind: str) -> ServiceError:
    return validation_error(f"Invalid {kind}: Invalid function name; function: {name}")
