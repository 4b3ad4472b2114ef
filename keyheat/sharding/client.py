"""The DynamoDB client that the package needs, and how it reads a throttled response."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from keyheat.model.resources import Cause, parse_reason
from keyheat.words import THROTTLE_CODES, Direction

Answered = Mapping[str, Any]
Note = Callable[[str, float], None]
"""A callback for counts: `shards.increments`, `metadata.read_units` ..."""


class Client(Protocol):
    """Sends requests, and raises botocore's `ClientError` for an error response."""

    def get_item(self, **request: Any) -> Answered: ...

    def put_item(self, **request: Any) -> Answered: ...

    def update_item(self, **request: Any) -> Answered: ...

    def query(self, **request: Any) -> Answered: ...


def no_callback(name: str, number: float) -> None:
    """The `Note` of an application that counts nothing."""


def error_code(response: Mapping[str, Any]) -> str | None:
    code = response.get("Error", {}).get("Code")
    return code if isinstance(code, str) else None


SPELLINGS = ("ThrottlingReasons", "throttlingReasons")


class Limit(StrEnum):
    """Whose limit a write ran into."""

    PARTITION = "partition"  # of the key's own partition: more shards help
    TABLE = "table"  # of the table as a whole, or of its account: more shards do not help
    INDEX = "index"  # of an index, whose keys a suffix on the table's key does not spread
    UNKNOWN = "unknown"  # an SDK that drops the reasons, or a reason that we do not know


@dataclass(frozen=True, slots=True)
class Throttle:
    """A throttled write: the limit, and the cause as DynamoDB names it where that was said."""

    limit: Limit
    cause: Cause | None = None


def throttle_of(response: Mapping[str, Any]) -> Throttle | None:
    """What an error response of a write says; None where it was not throttled.

    `response` is botocore's `ClientError.response`. Its reasons are spelt in two ways:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
    """
    if response.get("Error", {}).get("Code") not in THROTTLE_CODES:
        return None
    reasons = [_of_reason(reason) for reason in _reasons(response)]
    # With several reasons, all of them hold: as long as the table is too small, more shards are in vain.
    for limit in (Limit.TABLE, Limit.INDEX, Limit.PARTITION):
        for throttle in reasons:
            if throttle.limit is limit:
                return throttle
    return Throttle(Limit.UNKNOWN)


def _reasons(response: Mapping[str, Any]) -> list[str]:
    entries: list[dict[str, str]] = next((response[name] for name in SPELLINGS if response.get(name)), [])
    return [entry["reason"] for entry in entries if "reason" in entry]


def _of_reason(reason: str) -> Throttle:
    parsed = parse_reason(reason)
    if parsed is None or parsed[1] is not Direction.WRITE:
        return Throttle(Limit.UNKNOWN)
    of_index, _direction, cause = parsed
    if of_index:
        return Throttle(Limit.INDEX, cause)
    return Throttle(Limit.PARTITION if cause is Cause.KEY_RANGE else Limit.TABLE, cause)
