"""The text of a PartiQL statement as words, literals and signs, read one after the other.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from keyheat.endpoint.errors import ServiceError, validation_error
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

Kind = Literal["name", "quoted", "string", "number", "sign", "end"]
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      |"(?P<quoted>(?:[^"]|"")*)"
      |'(?P<string>(?:[^']|'')*)'
      |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      |(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
      |(?P<sign>(?!/\*)(?:<<|>>|<>|<=|>=|!=|[=<>+*/(){}\[\],.:?;-]))""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word, literal or sign; `text` of a name or a string is without its quotes."""

    kind: Kind
    text: str

    @property
    def keyword(self) -> str:
        """The text of a word in capitals; of a sign itself; nothing for a quoted name or a literal."""
        return self.text.upper() if self.kind in ("name", "sign") else ""


END: Final = Token("end", "")


def malformed(detail: str = "") -> ServiceError:
    """The text is no statement. Of what is no token DynamoDB says no more than that: no detail is its answer,
    as https://github.com/paritysuite/dynamodb-conformance has read it off."""
    return validation_error(f"Statement wasn't well formed, can't be processed: {detail}")


def tokens_of(text: str) -> list[Token]:
    """All tokens of a statement, without comments. Raises ValidationException for what is none."""
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise malformed()
        at, kind = match.end(), match.lastgroup
        if kind != "space":
            found.append(_token(kind, match))
    return found


def _token(kind: str | None, match: re.Match[str]) -> Token:
    match kind:
        case "quoted":
            return Token("quoted", match["quoted"].replace('""', '"'))
        case "string":
            return Token("string", match["string"].replace("''", "'"))
        case "number":
            return Token("number", match["number"])
        case "name":
            return Token("name", match["name"])
    return Token("sign", match["sign"])


class StatementReader:
    """The tokens of one statement, and how far they are read; `parameters` are the `?` met so far."""

    def __init__(self, text: str) -> None:
        self._found = tokens_of(text)
        self._at = 0
        self._operators = 0
        self.parameters = 0

    @property
    def next(self) -> Token:
        """The next token; `END` behind the last."""
        return self._found[self._at] if self._at < len(self._found) else END

    @property
    def keyword(self) -> str:
        """The next token as a word in capitals, or as a sign."""
        return self.next.keyword

    @property
    def calls(self) -> bool:
        """Whether the next two tokens are a function's name and its bracket."""
        behind = self._found[self._at + 1] if self._at + 1 < len(self._found) else END
        return self.next.kind == "name" and behind == Token("sign", "(")

    def take(self) -> Token:
        """The next token, which is read."""
        token = self.next
        self._at += 1
        return token

    def took(self, *words: str) -> bool:
        """Whether the next tokens are these words or signs; then they are read."""
        for number, word in enumerate(words):
            at = self._at + number
            if at >= len(self._found) or self._found[at].keyword != word:
                return False
        self._at += len(words)
        return True

    def want(self, word: str, otherwise: str | None = None) -> None:
        """Read this word or sign. Raises ValidationException where it is another."""
        if not self.took(word):
            raise self.unexpected() if otherwise is None else malformed(otherwise)

    def unexpected(self) -> ServiceError:
        """The next token has no place here."""
        keyword = self.keyword
        if keyword in OPERATORS:
            return malformed(UNEXPECTED_OPERATOR)
        return malformed(UNEXPECTED_KEYWORD if keyword in KEYWORDS else UNEXPECTED_TERM)

    def counted(self) -> None:
        """One operator more. Raises ValidationException where an expression may not have so many."""
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS:
            raise validation_error(
                "The expression contains too many operators; "
                f"operator count: {EXPRESSION_OPERATORS + 1}"  # it stops counting there, as for expressions
            )

    def name(self, otherwise: str | None = None) -> str:
        """A name, in double quotes or bare. Raises ValidationException."""
        token = self.next
        if token.kind == "quoted" or (token.kind == "name" and token.keyword not in KEYWORDS):
            return self.take().text
        raise self.unexpected() if otherwise is None else malformed(otherwise)

    def path(self) -> DocumentPath:
        """An attribute's name, and the steps from it into its value."""
        steps: list[str | int] = [self.name()]
        while self.keyword in (".", "["):
            if self.take().text == ".":
                steps.append(self.name())
                continue
            step = self.take()
            if step.kind == "string":
                steps.append(step.text)
            elif step.kind == "number" and step.text.isdecimal() and len(step.text) < 10:
                steps.append(int(step.text))
            else:
                raise malformed(UNEXPECTED_TERM)
            self.want("]")
        if len(steps) > NESTING_LEVELS:
            raise validation_error(
                f"The document path has too many nesting levels; nesting levels: {len(steps)}"
            )
        return tuple(steps)
