"""What the package asks of a DynamoDB client: `boto3.client("dynamodb")` is one."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Answered = Mapping[str, Any]
Note = Callable[[str, float], None]
"""Is told what happened and how often or how much: `shards.increments`, `metadata.read_units` ..."""


class Client(Protocol):
    """Sends requests, and raises botocore's `ClientError` for an error response."""

    def get_item(self, **request: Any) -> Answered: ...

    def put_item(self, **request: Any) -> Answered: ...

    def update_item(self, **request: Any) -> Answered: ...

    def query(self, **request: Any) -> Answered: ...


def nobody_is_told(name: str, number: float) -> None:
    """The `Note` of an application that does not count."""


def error_code(response: Mapping[str, Any]) -> str | None:
    """The error code of a `ClientError.response`."""
    code = response.get("Error", {}).get("Code")
    return code if isinstance(code, str) else None
