"""What comes back to an SDK's client: said while it is waited for, and of DynamoDB's shape.

botocore takes any JSON for an answer, and falls over its types with whatever error Python has for them.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Timer
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError
from botocore.validate import ParamValidator

from keyheat.masking import plain
from keyheat.words import WAITING

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
RANGES: Final = ("Invalid value", "Invalid length")
"""How botocore says that something is too small: its model has bounds of requests, and answers have zeros."""
WORD_AFTER_S: Final = 3.0


class DamagedAnswer(BotoCoreError):  # type: ignore[misc]  # botocore has no types
    """An answer that is not DynamoDB's; callers see it as any other failure of a call."""

    fmt = "{operation} was answered with something that DynamoDB does not say: {why}"


Around = Callable[[str], AbstractContextManager[Any]]


def guarded(client: Any, *, tells: bool = True, around: Around = nullcontext) -> Any:
    """A boto3 client that checks what comes back; gives it back.

    `tells`: a long wait is said on stderr. `around`: a context of each call, by its URL.
    """
    session = client._endpoint.http_session
    if isinstance(session, _Telling):
        return client
    if tells:
        client._endpoint.http_session = _Telling(session, around)
    for operation in CONTROL:
        client.meta.events.register(f"before-parse.dynamodb.{operation}", _check)
    return client


class _Telling:
    """Sends as botocore's session does, and says what is waited for."""

    def __init__(self, session: Any, around: Around) -> None:
        self._session, self.close, self._around = session, session.close, around

    def send(self, request: Any) -> Any:
        operation = request.headers.get("X-Amz-Target") or "a request"
        name = operation.decode() if isinstance(operation, bytes) else str(operation)
        with self._around(request.url), waiting_for(request.url, name):
            return self._session.send(request)


@contextmanager
def waiting_for(url: str, what: str) -> Iterator[None]:
    """Say on stderr whose answer to `what` is waited for, once that takes longer than a moment."""

    def tell() -> None:
        with suppress(OSError):
            text = f"keyheat: {WAITING} {urlsplit(url).netloc} to answer {what}"
            print(plain(text), file=sys.stderr, flush=True)

    timer = Timer(WORD_AFTER_S, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def member(operation: str, description: Mapping[str, Any], name: str) -> Any:
    """A member that a caller cannot do without. Raises `DamagedAnswer`."""
    if name not in description:
        raise DamagedAnswer(operation=operation, why=f"{name} is missing")
    return description[name]


def _check(operation_model: Any, response_dict: dict[str, Any], **_more: Any) -> None:
    """Check an answer's shape; of an error only that it is text, since proxies answer so, too."""
    name, status = operation_model.name, response_dict["status_code"]
    try:
        text = response_dict["body"].decode()
        content = _without_nulls(json.loads(text)) if status == 200 else {}
    except (ValueError, RecursionError) as error:
        raise DamagedAnswer(operation=name, why=str(error)) from error
    if status != 200:
        return
    report = ParamValidator().validate(content, operation_model.output_shape).generate_report()
    if wrong := [line for line in report.splitlines() if not line.startswith(RANGES)]:
        raise DamagedAnswer(operation=name, why=wrong[0])
    outer, *inner = NEEDED.get(name, (None,))
    if outer is not None:
        inside = member(name, content, outer)
        for needed in inner:
            member(name, inside, needed)


def _without_nulls(content: Any) -> Any:
    """Content as botocore sees it: a member that is null is not there."""
    if isinstance(content, dict):
        return {name: _without_nulls(value) for name, value in content.items() if value is not None}
    return [_without_nulls(value) for value in content] if isinstance(content, list) else content
