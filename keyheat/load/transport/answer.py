"""What every transport is: one request out, one `Answer` back, never an exception and never a retry.

Why nothing, or nothing whole, came back has a short stable name, of which there are few, since error tables
grow with their number (docs/run.md lists them). Whether what came is an answer at all is judged once, where
it comes in: HTTP 200 alone is any proxy's login page, and a bare `{}`, too.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.client import BadStatusLine, HTTPException, IncompleteRead
from typing import Any, Final, Protocol
from zlib import crc32

import botocore.exceptions as sdk
import orjson

from keyheat.words import THROTTLE_CODES

TIMEOUT_S = 10.0  # for which an answer is waited for
CODE_LETTERS = 100  # error tables keep the names of codes, and a name is not a page
CANCELLED = "TransactionCanceledException"
THROTTLED_ITEMS = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})
"""Why an item cancelled its transaction, where that is a throttle; a code, and never a reason.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html"""
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})


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
    failure: str | None = None  # why nothing (or nothing whole) came back
    json: dict[str, Any] | None = field(init=False, repr=False)  # None: the body is no JSON object

    def __post_init__(self) -> None:
        try:
            content = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            content = None
        object.__setattr__(self, "json", content if isinstance(content, dict) else None)

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
    def failure_name(self) -> str:
        """A short stable name for why the request failed."""
        return self.failure or self.error_code or f"HTTP{self.status}"

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


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Transport(Protocol):
    """Sends requests to one endpoint."""

    def send(self, operation: str, body: bytes) -> Answer:
        """Send one request, its body being the operation's JSON, and wait for what comes back."""

    def close(self) -> None:
        """Close the connections."""


CUT_OFF, DAMAGED, BAD_HTTP, CREDENTIALS = "cut_off", "crc32_mismatch", "bad_http", "credentials"
RESET, TIMEOUT = "connection_reset", "timeout"
NOT_AN_ANSWER, NO_UNITS = "not_an_answer", "no_units"
IN_FLIGHT = "still_in_flight_at_stop"
STATUS_LINE = b"HTTP/1."


class BadAnswer(Exception):
    """What the other side sent is not a whole HTTP answer; the text is the failure's kind."""


class NoCredentials(Exception):
    """The credentials could not be refreshed; the text says why."""


KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    # What only botocore knows; everything else it makes of an error of the system, which says more.
    ((sdk.ConnectTimeoutError, sdk.ReadTimeoutError), TIMEOUT),
    (sdk.SSLError, "tls"),
    ((sdk.CredentialRetrievalError, sdk.NoCredentialsError, sdk.PartialCredentialsError), CREDENTIALS),
    ((sdk.SSOError, sdk.TokenRetrievalError, NoCredentials), CREDENTIALS),
    (TimeoutError, TIMEOUT),
    (ConnectionRefusedError, "connection_refused"),
    (ConnectionError, RESET),
    (socket.gaierror, "name_lookup"),
    (ssl.SSLError, "tls"),
    (OSError, "connection_failed"),
    (IncompleteRead, CUT_OFF),
    (HTTPException, BAD_HTTP),
)


def kind_of(error: BaseException) -> str:
    """The kind of a failure: that of the first error which has one, of those that it was made from."""
    for cause in _causes_of(error):
        if isinstance(cause, BadAnswer):
            return str(cause)
        if isinstance(cause, BadStatusLine) and not isinstance(cause, ConnectionError):
            line = str(cause.args[0])
            return cut(line.encode("latin-1")) if not line.endswith("\n") else BAD_HTTP
        for of_type, kind in KINDS:
            if isinstance(cause, of_type):
                return kind
    return type(error).__name__


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it wraps: SDKs put what happened into their own."""
    yield error
    for inner in (getattr(error, "kwargs", {}).get("error"), *error.args, error.__cause__):
        if isinstance(inner, BaseException):
            yield from _causes_of(inner)


def cut(so_far: bytes) -> str:
    """The kind of an answer of which no more came than this."""
    if not so_far:
        return RESET
    return CUT_OFF if so_far.startswith(STATUS_LINE[: len(so_far)]) else BAD_HTTP


def damage(body: bytes, headers: Mapping[str, str]) -> str | None:
    """Return what is wrong with an answer that botocore took for a whole one; None if nothing is.

    It does not check a body's length, and its CRC-32 only to decide on a retry: the last
    attempt's answer is taken as it is. Header names are in lower case.
    """
    length = headers.get("content-length")
    if length is None:
        return None if "transfer-encoding" in headers else CUT_OFF
    if not length.isdigit():
        return BAD_HTTP
    if len(body) < int(length):
        return CUT_OFF
    stated = headers.get("x-amz-crc32")
    return DAMAGED if stated and stated != str(crc32(body)) else None


MOST_UNITS: Final = 1e6  # of one request: twice a full batch with all of its index entries
UNITS_ASKED: Final = b'"ReturnConsumedCapacity":"'
PAGED: Final = ("Query", "Scan")


class CheckedTransport:
    """A transport whose accepted answers are what DynamoDB would say, or are not accepted.

    `units_needed`: whether an answer without the consumed capacity that was requested is a failure.
    """

    def __init__(self, transport: Transport, *, units_needed: bool = True) -> None:
        self._transport = transport
        self._units_needed = units_needed

    def send(self, operation: str, body: bytes) -> Answer:
        answer = self._transport.send(operation, body)
        if not answer.accepted:
            return answer
        content, failure = answer.json, None
        units = None if content is None else _units_in(content.get("ConsumedCapacity"))
        if content is None or units is None or (operation in PAGED and "Items" not in content):
            failure = NOT_AN_ANSWER
        elif units <= 0 and self._units_needed and UNITS_ASKED in body:
            some = operation not in WRITES or content.get("UnprocessedItems")
            failure = None if some and content.get("ConsumedCapacity") else NO_UNITS
        return answer if failure is None else replace(answer, failure=failure)

    def close(self) -> None:
        self._transport.close()


def _units_in(capacity: Any) -> float | None:
    """The units consumed from one table, or those of a list with an entry for each; None where none can be.

    DynamoDB accepts no write for 0 units, but where nothing of a batch was done.
    """
    total = 0.0
    for entry in capacity if isinstance(capacity, list) else (capacity,) if capacity else ():
        units: Any = entry.get("CapacityUnits") if isinstance(entry, dict) else None
        if type(units) not in (float, int) or not 0 <= units <= MOST_UNITS:
            return None
        total += units
    return total
