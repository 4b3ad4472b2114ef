"""Expression text to trees, by moto's parsers, with DynamoDB's words for what does not parse.

Everything here depends on the text and the attribute names alone, never on values, so its results are kept.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.parsing import expressions as moto_expressions
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from tablemodel.endpoint.errors import ServiceError, validation_error
from tablemodel.endpoint.expressions.conditions import REFERENCE
from tablemodel.limits import EXPRESSION_BYTES

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
_CALLED = re.compile(r"([A-Za-z_]\w*) ?\(")


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
    flat = " ".join(_measured(text, kind).split())
    return _parsed(lambda: ConditionExpressionParser(flat, names, values).parse(), flat, kind)


def update_tree(text: str) -> Any:
    """The tree of an update expression. Raises ValidationException."""
    measured = _measured(text, "UpdateExpression")
    return _parsed(lambda: update_parser.make(measured), measured, "UpdateExpression")


def is_reserved(name: str) -> bool:
    """Whether an attribute of this name must be written as a placeholder.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
    """
    return name.upper() in ReservedKeywords.get_reserved_keywords()


def syntax_error(kind: str, detail: str = "") -> ServiceError:
    """The text is no expression of its kind."""
    return validation_error(f"Invalid {kind}: Syntax error;{' ' + detail if detail else ''}")


def error_in(text: str, kind: str) -> ServiceError:
    """What is wrong with text that did not parse: a function that there is not, or its syntax."""
    functions = UPDATE_FUNCTIONS if kind == "UpdateExpression" else CONDITION_FUNCTIONS
    for name in _CALLED.findall(text):
        if name not in functions and name.upper() not in KEYWORDS:
            return validation_error(f"Invalid {kind}: Invalid function name; function: {name}")
    return syntax_error(kind)


def _measured(text: str, kind: str) -> str:
    if not text.strip():
        raise validation_error(f"Invalid {kind}: The expression can not be empty;")
    size = len(text.encode())
    if size > EXPRESSION_BYTES:
        raise validation_error(
            f"Invalid {kind}: Expression size has exceeded the maximum allowed size; expression size: {size}"
        )
    return text


def _parsed(parse: Callable[[], Tree], text: str, kind: str) -> Tree:
    try:
        return parse()
    except MockValidationException as error:
        message = str(error.message).replace("Invalid ConditionExpression", f"Invalid {kind}")
        raise validation_error(message) from error
    except NOT_TREES as error:
        raise error_in(text, kind) from error
