"""Expression text to trees, with DynamoDB's words for what does not parse.

Everything here depends on the text and the attribute names alone, never on values, so its results are kept.
Conditions are read with a stack of what is still open, so that 300 operators need no 300 levels of calls.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from collections.abc import Mapping
from functools import partial

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.tokens import END, NamesUsed, Reader, TokenReader, measured, path_too_deep
from keyheat.endpoint.expressions.trees import Action, DocumentPath, FunctionCall, Operand, PathValue, Tree
from keyheat.model.limits import NESTING_LEVELS

BINDS = {"OR": 1, "AND": 2, "NOT": 3}
"""How tightly; a bracket that is open binds not at all."""
PROJECTION = "ProjectionExpression"
IN_UPDATES = ("if_not_exists", "list_append")


def condition_tree(text: str, names: NamesUsed, kind: str) -> tuple[Tree, frozenset[str]]:
    """The tree of a condition, filter or key condition, and the values it names. Raises ServiceError."""
    tokens = TokenReader(measured(text, kind), names, kind)
    tree = _Condition(tokens).read()
    if tokens.next != END:
        raise tokens.unexpected()
    return tree, frozenset(tokens.values)


def projected_paths(text: str, names: NamesUsed) -> tuple[DocumentPath, ...]:
    """The document paths of a projection. Raises ServiceError."""
    tokens = TokenReader(measured(text, PROJECTION), names, PROJECTION)
    paths = tokens.several(tokens.path)
    if tokens.next != END:
        raise tokens.unexpected()
    for path in paths:
        if len(path) > NESTING_LEVELS:  # of names with a hyphen, which elsewhere is a minus
            raise path_too_deep(PROJECTION, len(path))
    trees.check_paths(paths, PROJECTION)
    return paths


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
        actions += tokens.several(partial(_action, clause, tokens))
    return tuple(actions), frozenset(tokens.values)


def _action(clause: str, tokens: TokenReader) -> Action:
    path = tokens.path()
    if clause == "REMOVE":
        return Action(clause, path)
    if clause != "SET":
        return Action(clause, path, tokens.reference())
    tokens.want("=")
    return Action(clause, path, _sum(tokens))


def _sum(tokens: TokenReader) -> Operand:
    total = _addend(tokens)
    while tokens.next in ("+", "-"):
        total = trees.Sum(tokens.take(), total, _addend(tokens))
    return total


def _addend(tokens: TokenReader) -> Operand:
    if tokens.calls:
        function = tokens.take()
        if function not in IN_UPDATES:
            raise tokens.unexpected()
        addend = partial(_addend, tokens)
        first = (lambda: PathValue(tokens.path())) if function == "if_not_exists" else addend
        return FunctionCall(function, tokens.arguments(first, addend))
    if not tokens.took("("):
        return _plain(tokens)
    inner = _sum(tokens)
    tokens.want(")")
    return inner


def _plain(tokens: TokenReader) -> Operand:
    return tokens.reference() if tokens.next.startswith(":") else PathValue(tokens.path())


class ConditionReader:
    """A condition that is being read: what is still open (brackets, operators), and the trees so far.

    Each language says what its operands are.
    """

    functions: tuple[str, ...] = tuple(trees.ARGUMENTS)
    of_paths: tuple[str, ...] = tuple(name for name, count in trees.ARGUMENTS.items() if count == 1)
    """Functions whose first argument is a path."""
    signs: Mapping[str, str] = {sign: sign for sign in trees.COMPARISONS}

    def __init__(self, tokens: Reader) -> None:
        self.tokens = tokens
        self.open: list[str] = []
        self.trees: list[Tree] = []

    def operand(self) -> Operand:
        """A path, a value or a function's call."""
        raise NotImplementedError

    def argument(self) -> Operand:
        raise NotImplementedError

    def read(self) -> Tree:
        while True:
            while self.tokens.keyword in ("(", "NOT"):
                self.begin(self.tokens.keyword)
            self.trees.append(self.simple())
            while self.tokens.keyword == ")" and "(" in self.open:
                self.end()
            if self.tokens.keyword not in ("AND", "OR"):
                break
            self._reduce(BINDS[self.tokens.keyword])
            self.begin(self.tokens.keyword)
        if "(" in self.open:
            raise self.tokens.unexpected()
        self._reduce(0)
        return self.trees[0]

    def simple(self) -> Tree:
        return self.rest(self.operand())

    def rest(self, left: Operand) -> Tree:
        """Read the condition after its first operand."""
        tokens = self.tokens
        if tokens.next in self.signs:
            return trees.Comparison(self.signs[tokens.take()], left, self.operand())
        if tokens.took("BETWEEN"):
            low = self.operand()
            tokens.want("AND")
            return trees.Between(left, low, self.operand())
        if tokens.took("IN"):
            return trees.In(left, self.choices())
        if isinstance(left, FunctionCall) and left.function != "size":
            return left
        raise tokens.unexpected()

    def choices(self) -> tuple[Operand, ...]:
        self.tokens.want("(")
        choices = self.tokens.several(self.operand)
        self.tokens.want(")")
        return choices

    def call(self) -> FunctionCall:
        """A function and its arguments. Raises ValidationException."""
        function = self.tokens.function()
        if function not in self.functions:
            raise self.tokens.invalid(f"Invalid function name; function: {function}")
        self.tokens.want("(")
        arguments = self.tokens.several(self.argument)
        self.tokens.want(")")
        operands, calls = trees.ARGUMENTS[function], any(isinstance(term, FunctionCall) for term in arguments)
        if calls or len(arguments) != operands:
            raise self.tokens.invalid(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {function}, number of operands: {len(arguments)}"
            )
        if function in self.of_paths and not isinstance(arguments[0], PathValue):
            raise self.tokens.invalid(
                f"Operator or function requires a document path; operator or function: {function}"
            )
        if function == "attribute_type" and not isinstance(arguments[1], trees.Reference):
            raise self.tokens.malformed()
        return FunctionCall(function, arguments)

    def begin(self, word: str) -> None:
        self.open.append(word)
        self.tokens.take()

    def end(self) -> None:
        self._reduce(0)
        self.open.pop()
        self.tokens.take()

    def _reduce(self, least: int) -> None:
        """Join the trees whose operators bind at least so tightly, back to the last open bracket."""
        while self.open and self.open[-1] != "(" and BINDS[self.open[-1]] >= least:
            operator, right = self.open.pop(), self.trees.pop()
            self.trees.append(
                trees.Not(right) if operator == "NOT" else trees.Both(operator, self.trees.pop(), right)
            )


class _Condition(ConditionReader):
    """One of an expression, in which no brackets stand directly within others."""

    tokens: TokenReader

    def __init__(self, tokens: TokenReader) -> None:
        super().__init__(tokens)
        self._began: list[int] = []
        self._closed: tuple[int, int] | None = None  # the bracket closed last: where it began, where it ended

    def operand(self) -> Operand:
        return self.call() if self.tokens.calls else _plain(self.tokens)

    def argument(self) -> Operand:
        return _plain(self.tokens)

    def begin(self, word: str) -> None:
        if word == "(":
            self._began.append(self.tokens.at)
        super().begin(word)

    def end(self) -> None:
        began, ended = self._began.pop(), self.tokens.at
        if self._closed == (began + 1, ended - 1):
            raise self.tokens.invalid("The expression has redundant parentheses;")
        self._closed = (began, ended)
        super().end()
