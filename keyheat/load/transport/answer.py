"""What every transport is: one request out, one `Answer` back, never an exception and never a retry."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from keyheat.words import THROTTLE_CODES

TIMEOUT_S = 10.0  # for which an answer is waited for
CODE_LETTERS = 100  # error tables keep the names of codes, and a name is not a page
CANCELLED = "TransactionCanceledException"
THROTTLED_ITEMS = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})
"""Why an item cancelled its transaction, where that is a throttle; a code, and never a reason.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html"""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why DynamoDB refused a request, and the ARN of the table or index that refused it."""

    reason: str | None  # None: it did not say
    resource: str | None

    @property
    def index(self) -> str | None:
        """The index that the ARN names; None: the table itself."""
        _, slash, name = (self.resource or "").partition("/index/")
        return name if slash else None


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request: bytes, and the JSON that they are."""

    status: int  # 0: nothing came back
    body: bytes
    service_s: float
    retry_after: str | None = None  # x-amz-retry-after, milliseconds, where an error has it
    failure: str | None = None  # why nothing (or nothing whole) came back: see `failures`
    json: dict[str, Any] | None = field(init=False, repr=False)  # None: the body is no JSON object

    def __post_init__(self) -> None:
        object.__setattr__(self, "json", _json_in(self.body))

    @property
    def accepted(self) -> bool:
        return self.status == 200 and self.failure is None

    @property
    def throttled(self) -> bool:
        if self.status != 400:
            return False
        code = self.error_code
        return code in THROTTLE_CODES or (
            code == CANCELLED and not THROTTLED_ITEMS.isdisjoint(self.cancellations)
        )

    @property
    def cancellations(self) -> tuple[str, ...]:
        """Of a cancelled transaction: a code for each item, in the order of the request."""
        entries = self.content().get("CancellationReasons")
        entries = entries if isinstance(entries, list) else []
        return tuple(str(entry.get("Code")) for entry in entries if isinstance(entry, dict))

    @property
    def error_code(self) -> str | None:
        """The error's name without its namespace; None for an accepted request."""
        if self.status == 200 or self.failure:
            return None
        code = self.content().get("__type")
        name = code.rpartition("#")[2] if isinstance(code, str) else ""
        return name if name.isidentifier() and len(name) <= CODE_LETTERS else f"HTTP{self.status}"

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """DynamoDB's own reasons for a throttle, however it spells the member's name.

        The exceptions spell it `ThrottlingReasons` or `throttlingReasons`:
        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
        """
        lists = [value for name, value in self.content().items() if name.lower() == "throttlingreasons"]
        entries = lists[0] if lists and isinstance(lists[0], list) else []
        reasons = [entry for entry in entries if isinstance(entry, dict) and "reason" in entry]
        return tuple(Reason(_text(entry["reason"]), _text(entry.get("resource"))) for entry in reasons)

    def content(self) -> dict[str, Any]:
        """The body as JSON; empty where it is not a JSON object."""
        return self.json or {}


def _json_in(body: bytes) -> dict[str, Any] | None:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Transport(Protocol):
    """Sends requests to one endpoint."""

    def send(self, operation: str, body: bytes) -> Answer:
        """Send one request, its body being the operation's JSON, and wait for what comes back."""

    def close(self) -> None:
        """Close the connections."""
