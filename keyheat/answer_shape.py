"""Check that an answer about tables has DynamoDB's shape.

botocore takes any JSON for an answer, and falls over its types with whatever error Python has for them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError
from botocore.validate import ParamValidator

from keyheat.answer_size import WORD_AFTER_S, tell_wait

CONTROL: Final = (
    "CreateTable", "DeleteTable", "DescribeContinuousBackups", "DescribeLimits", "DescribeTable",
    "ListTables", "ListTagsOfResource", "UpdateTable",
)  # fmt: skip
NEEDED: Final = {
    "DescribeTable": ("Table", "TableName", "TableStatus", "KeySchema"),
    "ListTables": ("TableNames",),
    "ListTagsOfResource": ("Tags",),
    "DescribeContinuousBackups": ("ContinuousBackupsDescription",),
}
"""A member of the answer, and members of that: DynamoDB always gives them, and its model does not say so."""
MOST_PAGES: Final = 1_000  # ten times the tables that an account may have; nothing else has more pages
PAGES_WITHIN_S: Final = 120.0
Page = TypeVar("Page")
RANGES: Final = ("Invalid value", "Invalid length")
"""How botocore says that something is too small: its model has bounds of requests, and answers have zeros."""


class DamagedAnswer(BotoCoreError):  # type: ignore[misc]  # botocore has no types
    """An answer that is not DynamoDB's; callers see it as any other failure of a call."""

    fmt = "{operation} was answered with something that DynamoDB does not say: {why}"


def shaped(client: Any) -> Any:
    """A boto3 client that raises `DamagedAnswer` for a damaged answer about tables; gives it back."""
    for operation in CONTROL:
        client.meta.events.register(f"before-parse.dynamodb.{operation}", _check)
    return client


def bounded_pages(operation: str, pages: Iterable[Page]) -> Iterator[Page]:
    """Pages as they come; many are said. Raises `DamagedAnswer` where a further one follows for ever."""
    started_s = told_s = monotonic()
    for number, page in enumerate(pages):
        now_s = monotonic()
        if number == MOST_PAGES or now_s - started_s > PAGES_WITHIN_S:
            raise DamagedAnswer(operation=operation, why=f"after {number:,} pages there is still another one")
        if now_s - told_s > WORD_AFTER_S:
            told_s = now_s
            tell_wait(f"the last page of {operation}; {number:,} have come")
        yield page


def member(operation: str, description: Mapping[str, Any], name: str) -> Any:
    """A member that a caller cannot do without. Raises `DamagedAnswer`."""
    if name not in description:
        raise DamagedAnswer(operation=operation, why=f"{name} is missing")
    return description[name]


def _check(operation_model: Any, response_dict: dict[str, Any], **_more: Any) -> None:
    why = _damage(operation_model, response_dict)
    if why is not None:
        raise DamagedAnswer(operation=operation_model.name, why=why)


def _damage(operation_model: Any, response: dict[str, Any]) -> str | None:
    """What is wrong with an answer; of an error only whether it is text, since proxies answer so, too."""
    try:
        text = response["body"].decode()
        content = _without_nulls(json.loads(text)) if response["status_code"] == 200 else {}
    except (ValueError, RecursionError) as error:
        return str(error)
    if response["status_code"] != 200:
        return None
    report = ParamValidator().validate(content, operation_model.output_shape).generate_report()
    if wrong := [line for line in report.splitlines() if not line.startswith(RANGES)]:
        return str(wrong[0])
    return _missing(content, *NEEDED.get(operation_model.name, ()))


def _missing(content: dict[str, Any], *names: str) -> str | None:
    if not names:
        return None
    outer, *inner = names
    if outer not in content:
        return f"{outer} is missing"
    return next((f"{name} of {outer} is missing" for name in inner if name not in content[outer]), None)


def _without_nulls(content: Any) -> Any:
    """Content as botocore sees it: a member that is null is not there."""
    if isinstance(content, dict):
        return {name: _without_nulls(value) for name, value in content.items() if value is not None}
    return [_without_nulls(value) for value in content] if isinstance(content, list) else content
