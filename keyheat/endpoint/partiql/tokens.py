"""The text of a PartiQL statement as words, literals and signs, read one after the other.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
"""

import re
from collections.abc import Iterator
from typing import Final

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.tokens import Reader
from keyheat.endpoint.expressions.trees import DocumentPath
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


class StatementReader(Reader):
    """The tokens of one statement; `parameters` are the `?` met so far."""

    def __init__(self, text: str) -> None:
        super().__init__(tokens_of(text))
        self._operators = 0
        self.parameters = 0

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

    def path(self) -> DocumentPath:
        steps = super().path()
        if len(steps) > NESTING_LEVELS:
            raise validation_error(
                f"The document path has too many nesting levels; nesting levels: {len(steps)}"
            )
        return steps
