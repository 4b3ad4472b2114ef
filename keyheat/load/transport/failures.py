"""Why nothing, or nothing whole, came back: one short stable name for each kind, for both transports.

    name_lookup          the host has no address
    connection_refused   nobody listens there
    connection_failed    another reason why there is no connection: no route, say
    tls                  the certificate is not trusted, or is not that host's
    timeout              no connection, or no further byte of the answer, in time
    connection_reset     the connection ended before an answer began, or was reset within it
    cut_off              the connection ended within the answer
    crc32_mismatch       the answer was damaged on its way
    bad_http             what came back is not HTTP
    answer_too_long      it went on after all that DynamoDB can say; what was left of it was not read
    not_an_answer        an HTTP 200 whose body is not what DynamoDB says: a proxy's page, say
    no_units             an answer without the consumed capacity that was asked for
    credentials          there are none any more: they could not be refreshed, and nothing was sent

Error tables grow with the number of names, so there are few of them.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from http.client import BadStatusLine, HTTPException, IncompleteRead
from zlib import crc32

from keyheat.answer_size import AnswerTooLong

CUT_OFF, DAMAGED, BAD_HTTP, CREDENTIALS = "cut_off", "crc32_mismatch", "bad_http", "credentials"
RESET, TOO_LONG = "connection_reset", "answer_too_long"
NOT_AN_ANSWER, NO_UNITS = "not_an_answer", "no_units"
STATUS_LINE = b"HTTP/1."


class BadAnswer(Exception):
    """What the other side sent is not a whole HTTP answer; the text is the failure's kind."""


class NoCredentials(Exception):
    """The credentials could not be refreshed; the text says why."""


KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (NoCredentials, CREDENTIALS),
    (AnswerTooLong, TOO_LONG),
    (TimeoutError, "timeout"),
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
    return next(filter(None, map(_kind_of_one, _made_from(error))), type(error).__name__)


def _kind_of_one(error: BaseException) -> str | None:
    if isinstance(error, BadAnswer):
        return str(error)
    if isinstance(error, BadStatusLine) and not isinstance(error, ConnectionError):
        line = str(error.args[0])
        return cut(line.encode("latin-1")) if not line.endswith("\n") else BAD_HTTP
    return next((kind for of_type, kind in KINDS if isinstance(error, of_type)), None)


def _made_from(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it wraps: SDKs put what happened into their own."""
    yield error
    wrapped = [getattr(error, "kwargs", {}).get("error"), *error.args, error.__cause__]
    for inner in wrapped:
        if isinstance(inner, BaseException):
            yield from _made_from(inner)


def cut(so_far: bytes) -> str:
    """The kind of an answer of which no more came than this."""
    if not so_far:
        return RESET
    return CUT_OFF if so_far.startswith(STATUS_LINE[: len(so_far)]) else BAD_HTTP


def damage(body: bytes, headers: Mapping[str, str]) -> str | None:
    """What is wrong with an answer that botocore took for a whole one; None where nothing is.

    It does not hold a body against its length, and against its CRC-32 only to decide on a retry: the last
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
