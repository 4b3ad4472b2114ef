"""Expression text to trees, by moto's parsers, with DynamoDB's words for what does not parse.

Everything here depends on the text and the attribute names alone, never on values, so its results are kept.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.parsing import expressions as moto_expressions
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.conditions import REFERENCE
from keyheat.model.limits import EXPRESSION_BYTES, EXPRESSION_OPERATORS, NESTING_LEVELS

Tree = TypeVar("Tree")
update_parser: Any = vars(moto_expressions)["UpdateExpressionParser"]
"""moto declares that this module has no types."""
NOT_TREES = (ValueError, KeyError, IndexError, AssertionError, TypeError, AttributeError, RecursionError)
"""What moto's parsers raise besides their own exceptions for text that is no expression."""
CONDITION_FUNCTIONS = {
    "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size",
}  # fmt: skip
UPDATE_FUNCTIONS = {"if_not_exists", "list_append"}
KEYWORDS = {"AND", "OR", "NOT", "IN", "BETWEEN"}
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_PATH = re.compile(r"[#:]?\w+(?:\s*(?:\.\s*#?\w+|\[\s*\w+\s*\]))*")
_COMPARISON = re.compile(r"<>|<=|>=|[=<>]")


class NamesUsed(dict[str, str]):
    """ExpressionAttributeNames that remember which were asked for."""

    def __init__(self, names: Mapping[str, str], kind: str) -> None:
        super().__init__(names)
        self.used: set[str] = set()
        self._kind = kind

    def __getitem__(self, placeholder: str) -> str:
        self.used.add(placeholder)
        return super().__getitem__(placeholder)

    def __missing__(self, placeholder: str) -> str:
        raise validation_error(
            f"Invalid {self._kind}: An expression attribute name used in the document path is not defined; "
            f"attribute name: {placeholder}"
        )


class References(dict[str, dict[str, str]]):
    """Stands where moto wants ExpressionAttributeValues: gives each one's name in its place."""

    def __missing__(self, name: str) -> dict[str, str]:
        self[name] = {REFERENCE: name}
        return self[name]


def condition_tree(text: str, names: NamesUsed, values: References, kind: str) -> Any:
    """The tree of a condition, filter or key condition. Raises ValidationException, naming `kind`."""
    # moto's lexer knows no white space but the blank.
    flat = " ".join(measured(text, kind).split())
    return _parsed(lambda: ConditionExpressionParser(flat, names, values).parse(), flat, kind)


def update_tree(text: str) -> Any:
    """The tree of an update expression. Raises ValidationException."""
    whole = measured(text, "UpdateExpression")
    return _parsed(lambda: update_parser.make(whole), whole, "UpdateExpression")


def is_reserved(name: str) -> bool:
    """Whether an attribute of this name must be written as a placeholder.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
    """
    return name.upper() in ReservedKeywords.get_reserved_keywords()


def syntax_error(kind: str, detail: str = "") -> ServiceError:
    """The text is no expression of its kind."""
    return validation_error(f"Invalid {kind}: Syntax error;{' ' + detail if detail else ''}")


def path_too_deep(kind: str, levels: int) -> ServiceError:
    """A document path has more steps than values have levels."""
    return validation_error(
        f"Invalid {kind}: The document path has too many nesting levels; nesting levels: {levels}"
    )


def error_in(text: str, kind: str) -> ServiceError:
    """What is wrong with text that did not parse: a function that there is not, or its syntax."""
    functions = UPDATE_FUNCTIONS if kind == "UpdateExpression" else CONDITION_FUNCTIONS
    for name in _CALLED.findall(text):
        if name not in functions and name.upper() not in KEYWORDS:
            return validation_error(f"Invalid {kind}: Invalid function name; function: {name}")
    return syntax_error(kind)


def measured(text: str, kind: str) -> str:
    """The text of an expression within the limits of its size, whatever it says. Raises ValidationException.

    All is counted before anything is parsed, since parsers go as deep as their text.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
    """
    if not text.strip():
        raise validation_error(f"Invalid {kind}: The expression can not be empty;")
    size = len(text.encode())
    if size > EXPRESSION_BYTES:
        raise validation_error(
            f"Invalid {kind}: Expression size has exceeded the maximum allowed size; expression size: {size}"
        )
    paths = _PATH.findall(text)
    levels = max((1 + path.count(".") + path.count("[") for path in paths), default=0)
    if levels > NESTING_LEVELS:
        raise path_too_deep(kind, levels)
    if _operators(text, paths, kind) > EXPRESSION_OPERATORS:
        raise validation_error(
            f"Invalid {kind}: The expression contains too many operators; "
            f"operator count: {EXPRESSION_OPERATORS + 1}"  # it stops counting there
        )
    return text


def _operators(text: str, words: list[str], kind: str) -> int:
    """Comparisons, `AND`s and their like, sums and functions. The `=` of a SET and BETWEEN's AND are none."""
    functions = sum(name.upper() not in KEYWORDS for name in _CALLED.findall(text))
    if kind == "UpdateExpression":
        return text.count("+") + text.count("-") + functions
    named = Counter(word.upper() for word in words)
    keywords = sum(named[keyword] for keyword in KEYWORDS) - named["BETWEEN"]
    return len(_COMPARISON.findall(text)) + keywords + functions


def _parsed(parse: Callable[[], Tree], text: str, kind: str) -> Tree:
    try:
        return parse()
    except MockValidationException as error:
        message = str(error.message).replace("Invalid ConditionExpression", f"Invalid {kind}")
        raise validation_error(message) from error
    except NOT_TREES as error:
        raise error_in(text, kind) from error
