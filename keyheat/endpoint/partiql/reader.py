"""The text of a PartiQL statement, read word by word: names, values, operands and conditions.

Conditions become the trees that expressions have, so that the same functions test, check and change them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-operators.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-functions.html
"""

import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final

from keyheat.endpoint.errors import ServiceError, nested_too_deep, validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.parsing import ConditionReader
from keyheat.endpoint.expressions.tokens import END, Reader
from keyheat.endpoint.values import INVALID, Value, canonical, type_of
from keyheat.model.limits import EXPRESSION_OPERATORS, NESTING_LEVELS

UNEXPECTED_TERM = "Unexpected term"
UNEXPECTED_KEYWORD = "Unexpected keyword"
UNEXPECTED_OPERATOR = "Unexpected operator"
NO_TABLE = "Expected identifier for simple path"
LEFT_OVER = "Unexpected token after expression"
WORDS: Final = """
    ALL AND AS ASC BETWEEN BY DELETE DESC EXISTS FALSE FROM GROUP HAVING IN INSERT INTO IS JOIN LIKE LIMIT
    MISSING NOT NULL OR ORDER REMOVE RETURNING SELECT SET TRUE UNION UPDATE VALUE VALUES WHERE
"""
KEYWORDS: Final = frozenset(WORDS.split())
OPERATORS: Final = frozenset(
    ("AND", "OR", "IN", "IS", "LIKE", "BETWEEN", "=", "<>", "!=", "<", "<=", ">", ">=")
)

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      |(?P<quoted>"(?:[^"]|"")*")
      |(?P<string>'(?:[^']|'')*')
      |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      |(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
      |(?P<sign>(?!/\*)(?:<<|>>|<>|<=|>=|!=|[=<>+*/(){}\[\],.:?;-]))""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*").fullmatch
QUOTED, STRING = '"', "'"
"""How the tokens of a quoted name and of a string begin; what follows is the text without quotes."""
SIGNS: Final = {"!=": "<>"} | {sign: sign for sign in trees.COMPARISONS}
FLIPPED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
FUNCTIONS: Final = ("begins_with", "contains", "attribute_type", "size")
"""Those of a condition."""
BRACKETS = 100
"""Open at a time in a condition."""
NO_RIGHT_SIDE = "Missing right-hand side expression of infix operator"
_LONG_EXPONENT = re.compile(r"[eE][+-]?[0-9]{10}").search

Template = Callable[[Sequence[Value]], Value]
"""An attribute value, made from the parameters of a request."""


def malformed(detail: str = "") -> ServiceError:
    """The text is no statement. Of what is no token DynamoDB says no more than that: no detail is its answer,
    as https://github.com/paritysuite/dynamodb-conformance has read it off."""
    return validation_error(f"Statement wasn't well formed, can't be processed: {detail}")


def tokens_of(text: str) -> Iterator[str]:
    """All tokens of a statement, without comments. Raises ValidationException for any other sign."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise malformed()
        at, token = match.end(), match[0]
        if match.lastgroup in ("quoted", "string"):
            quote = token[0]
            yield quote + token[1:-1].replace(2 * quote, quote)
        elif match.lastgroup != "space":
            yield token


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


class StatementReader(Reader):
    """The tokens of one statement, and what they stand for.

    `parameters` counts the `?` so far; `values` are those so far, by the names that trees have for them.
    """

    def __init__(self, text: str) -> None:
        super().__init__(tokens_of(text))
        self._operators = 0
        self.parameters = 0
        self.values: dict[str, Template] = {}

    @property
    def names(self) -> bool:
        """Whether the next token is a name, bare or in quotes."""
        return self.is_name(self.next) or self.next.startswith(QUOTED)

    def is_name(self, word: str) -> bool:
        return _NAME(word) is not None

    def unexpected(self) -> ServiceError:
        keyword = self.keyword
        if keyword in OPERATORS:
            return malformed(UNEXPECTED_OPERATOR)
        return malformed(UNEXPECTED_KEYWORD if keyword in KEYWORDS else UNEXPECTED_TERM)

    def malformed(self) -> ServiceError:
        return malformed(UNEXPECTED_TERM)

    def invalid(self, message: str) -> ServiceError:
        return validation_error(message)

    def function(self) -> str:
        self.counted()
        return self.take().lower()

    def counted(self) -> None:
        """Count an operator. Raises ValidationException above the limit."""
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS:
            raise validation_error(
                "The expression contains too many operators; "
                f"operator count: {EXPRESSION_OPERATORS + 1}"  # it stops counting there, as for expressions
            )

    def name(self, otherwise: str | None = None) -> str:
        if self.next.startswith(QUOTED):
            return self.take()[1:]
        if self.names and self.keyword not in KEYWORDS:
            return self.take()
        raise self.unexpected() if otherwise is None else malformed(otherwise)

    def position(self) -> str | int:
        step = self.take()
        if step.startswith(STRING):
            return step[1:]
        if step.isdecimal() and len(step) < 10:
            return int(step)
        raise malformed(UNEXPECTED_TERM)

    def path(self) -> trees.DocumentPath:
        steps = super().path()
        if len(steps) > NESTING_LEVELS:
            raise validation_error(
                f"The document path has too many nesting levels; nesting levels: {len(steps)}"
            )
        return steps

    def value(self, under: str = "root", depth: int = 0) -> Template:
        """Read a literal or a parameter, with everything nested in it."""
        keyword = self.keyword
        if depth > NESTING_LEVELS:
            raise nested_too_deep()
        if self.took("?"):
            self.parameters += 1
            return itemgetter(self.parameters - 1)
        if self.took("["):
            elements = self._members("]", under, depth)
            return lambda parameters: {"L": [element(parameters) for element in elements]}
        if self.took("<<"):
            members = self._members(">>", under, depth)
            return lambda parameters: set_of([member(parameters) for member in members])
        if self.took("{"):
            named = self._map(under, depth)
            return lambda parameters: {"M": {name: template(parameters) for name, template in named.items()}}
        if self.next.startswith(STRING):
            return constant({"S": self.take()[1:]})
        if self.took("NULL"):
            return constant({"NULL": True})
        if self.took("TRUE") or self.took("FALSE"):
            return constant({"BOOL": keyword == "TRUE"})
        return constant({"N": self._number(under)})

    def _number(self, under: str) -> str:
        sign = "-" if self.took("-") else ""
        if not sign:
            self.took("+")
        if self.next[0] not in "0123456789." or self.next == ".":
            raise self.unexpected()
        text = self.take()
        if _LONG_EXPONENT(text):
            raise malformed()
        try:
            return canonical(sign + text)
        except ServiceError as error:
            raise validation_error(f"{error.message} under {under}") from error

    def _members(self, end: str, under: str, depth: int) -> tuple[Template, ...]:
        members: list[Template] = []
        while not self.took(end):
            if members:
                self.want(",")
            members.append(self.value(f"{under}[{len(members)}]", depth + 1))
        return tuple(members)

    def _map(self, under: str, depth: int) -> dict[str, Template]:
        members: dict[str, Template] = {}
        while not self.took("}"):
            if members:
                self.want(",")
            token = self.take()
            if token[0] not in (STRING, QUOTED):
                raise malformed(UNEXPECTED_TERM)
            name = token[1:]
            self.want(":")
            # The path in messages begins inside of an attribute's value.
            members[name] = self.value(f"{under}.{name}" if depth else "root", depth + 1)
        return members

    @property
    def bindings(self) -> dict[str, Any]:
        """The values of the statement by name, and the number of its parameters."""
        return {"values": tuple(self.values.items()), "parameters": self.parameters}

    def named(self, value: Template) -> trees.Reference:
        """Name a value, and return a reference to it."""
        name = f":{len(self.values)}"
        self.values[name] = value
        return trees.Reference(name)

    def operand(self) -> trees.Operand:
        """A path or a value."""
        if self.names and self.keyword not in ("TRUE", "FALSE", "NULL"):
            return trees.PathValue(self.path())
        return self.named(self.value())

    def sum(self) -> trees.Operand:
        """What an update writes: values, paths and lists, added and taken away."""
        total = self._addend()
        while self.next in ("+", "-"):
            self.counted()
            total = trees.Sum(self.take(), total, self._addend())
        return total

    def _addend(self) -> trees.Operand:
        if not self.calls:
            return self.operand()
        function = self.function()
        if function != "list_append":
            raise validation_error(
                f"Unsupported function: {function}; the functions of SET are list_append, set_add, set_delete"
            )
        return trees.FunctionCall(function, self.arguments(self._plain, self._plain))

    def _plain(self) -> trees.Operand:
        if self.calls:
            raise malformed(UNEXPECTED_TERM)
        return self.operand()

    def where(self) -> trees.Tree | None:
        """The condition of a WHERE clause; None without one."""
        return _Condition(self).read() if self.took("WHERE") else None


class _Condition(ConditionReader):
    """One of a statement, whose operators and brackets are counted."""

    tokens: StatementReader
    functions = of_paths = FUNCTIONS
    signs = SIGNS

    def first(self) -> trees.Operand:
        """A path, a value or a function's call."""
        return self.call() if self.tokens.calls else self.tokens.operand()

    argument = first

    def operand(self) -> trees.Operand:
        """An operand that has a value, as all have but the functions that are conditions themselves."""
        if self.tokens.next == END:
            raise malformed(NO_RIGHT_SIDE)
        operand = self.first()
        if isinstance(operand, trees.FunctionCall) and operand.function != "size":
            raise malformed(UNEXPECTED_TERM)
        return operand

    def simple(self) -> trees.Tree:
        tokens, left = self.tokens, self.first()
        if isinstance(left, trees.FunctionCall) and left.function != "size":
            return left
        tokens.counted()
        if tokens.took("IS"):
            return self._is(left)
        if not tokens.took("NOT"):
            tree = self.rest(left)
        elif tokens.keyword in ("BETWEEN", "IN"):
            tree = trees.Not(self.rest(left))
        else:
            raise tokens.unexpected()
        match tree:
            case trees.Comparison(sign, trees.Reference() as value, trees.PathValue() as path):
                return trees.Comparison(FLIPPED[sign], path, value)
        return tree

    def choices(self) -> tuple[trees.Operand, ...]:
        if not self.tokens.took("["):
            return super().choices()
        choices = self.tokens.several(self.operand)
        self.tokens.want("]")
        return choices

    def _is(self, left: trees.Operand) -> trees.Tree:
        negated = self.tokens.took("NOT")
        kind = self.tokens.take().upper()
        if not isinstance(left, trees.PathValue) or kind not in ("NULL", "MISSING"):
            raise malformed("Expected type name")
        if kind == "MISSING":
            return trees.FunctionCall("attribute_exists" if negated else "attribute_not_exists", (left,))
        tree = trees.FunctionCall("attribute_type", (left, self.tokens.named(constant({"S": "NULL"}))))
        return trees.Not(tree) if negated else tree

    def begin(self, word: str) -> None:
        if word == "(" and self.open.count(word) == BRACKETS:
            raise validation_error(f"A condition has at most {BRACKETS} brackets open at a time")
        super().begin(word)
        if word != "(":
            self.tokens.counted()
        if word in ("AND", "OR") and self.tokens.next == END:
            raise malformed(NO_RIGHT_SIDE)
