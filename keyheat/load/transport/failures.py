"""Why nothing, or nothing whole, came back: short stable names; and whether what came is an answer at all.

docs/run.md lists them. Error tables grow with the number of names, so there are few of them.

Whether what came back is an answer: HTTP 200 alone is any proxy's login page, and a bare `{}`, too.
Judged once, where it comes in, so that readers of an accepted answer can rely on its members.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.client import BadStatusLine, HTTPException, IncompleteRead
from typing import Any, Final
from zlib import crc32

import botocore.exceptions as sdk

from keyheat.load.transport.answer import Answer, Transport

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
    return next(filter(None, map(_kind_of_one, _causes_of(error))), type(error).__name__)


def _kind_of_one(error: BaseException) -> str | None:
    if isinstance(error, BadAnswer):
        return str(error)
    if isinstance(error, BadStatusLine) and not isinstance(error, ConnectionError):
        line = str(error.args[0])
        return cut(line.encode("latin-1")) if not line.endswith("\n") else BAD_HTTP
    return next((kind for of_type, kind in KINDS if isinstance(error, of_type)), None)


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it wraps: SDKs put what happened into their own."""
    yield error
    wrapped = [getattr(error, "kwargs", {}).get("error"), *error.args, error.__cause__]
    for inner in wrapped:
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
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
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
        failure = self._fault(operation, body, answer)
        return answer if failure is None else replace(answer, failure=failure)

    def close(self) -> None:
        self._transport.close()

    def _fault(self, operation: str, body: bytes, answer: Answer) -> str | None:
        content = answer.json
        units = None if content is None else _units_in(content.get("ConsumedCapacity"))
        if content is None or units is None or (operation in PAGED and "Items" not in content):
            return NOT_AN_ANSWER
        if units > 0 or not (self._units_needed and UNITS_ASKED in body):
            return None
        some = operation not in WRITES or content.get("UnprocessedItems")
        return None if some and content.get("ConsumedCapacity") else NO_UNITS


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
