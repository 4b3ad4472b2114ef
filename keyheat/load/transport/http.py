"""One HTTP/1.1 answer read from a socket.

The usual shape is read by hand: an AWS answer has a Content-Length and mostly arrives in one piece, so that
reading it takes one `recv` and four searches. Chunked bodies, interim answers and the like go to
geventhttpclient's parser, which is right and slower.
"""

from dataclasses import dataclass
from time import perf_counter
from zlib import crc32

from gevent.socket import socket
from geventhttpclient.response import HTTPParseError, HTTPResponse

from keyheat.answer_size import OTHER_BYTES
from keyheat.load.transport.failures import BAD_HTTP, DAMAGED, TOO_LONG, BadAnswer, cut

RECEIVE_BYTES = HEAD_BYTES = 65_536
BLANK_LINE = b"\r\n\r\n"
LENGTH_DIGITS = 9  # a longer length is nonsense


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer."""

    status: int
    body: bytes
    request_id: str | None
    reusable: bool  # the connection may carry another request
    retry_after: str | None = None  # milliseconds; only errors have it


def receive(connection: socket, *, within_s: float = 10.0, most_bytes: int = OTHER_BYTES) -> Reply:
    """Read one answer. Raises `BadAnswer`, or `OSError` from the socket.

    `within_s`: when all of it has to be there, for an answer of which a byte comes now and then never ends.
    `most_bytes`: of the body, and of what comes around the pieces of a chunked one.
    """
    pieces = _Pieces(connection, perf_counter() + within_s)
    data = pieces.more(b"")
    while (end := data.find(BLANK_LINE)) < 0:
        if len(data) > HEAD_BYTES:
            raise BadAnswer(BAD_HTTP)
        data += pieces.more(data)
    head = data[:end].lower()
    length = _value(head, b"\r\ncontent-length:")
    if not _usual(head, length):
        return _receive_parsed(pieces, data, most_bytes)
    body = data[end + len(BLANK_LINE) :]
    if len(body) != int(length):
        body = _rest(pieces, data, body, int(length), most_bytes)
    _check(body, _value(head, b"\r\nx-amz-crc32:"))
    status = int(head[9:12])
    return Reply(
        status=status,
        body=body,
        request_id=_original(data, head, b"\r\nx-amzn-requestid:"),
        reusable=b"\r\nconnection: close" not in head,
        retry_after=None if status == 200 else _original(data, head, b"\r\nx-amz-retry-after:"),
    )


def _rest(pieces: "_Pieces", data: bytes, start: bytes, length: int, most_bytes: int) -> bytes:
    """A body that did not come with its head."""
    if length > most_bytes:
        raise BadAnswer(TOO_LONG)
    body = bytearray(start)  # which grows without being copied
    while len(body) < length:
        body += pieces.more(data)
    if len(body) > length:
        raise BadAnswer(BAD_HTTP)
    return bytes(body)


@dataclass(slots=True)
class _Pieces:
    """What comes from a socket, piece by piece, until it is too late."""

    connection: socket
    give_up_s: float

    def more(self, so_far: bytes) -> bytes:
        """The next piece of an answer that began with `so_far`."""
        if so_far and perf_counter() > self.give_up_s:
            raise TimeoutError
        data: bytes = self.connection.recv(RECEIVE_BYTES)
        if not data:
            raise BadAnswer(cut(so_far))
        return data


def _usual(head: bytes, length: bytes) -> bool:
    """Whether an answer has the usual shape: HTTP/1.1, a final status of three digits, a length."""
    return (
        length.isdigit()
        and len(length) <= LENGTH_DIGITS
        and head.startswith(b"http/1.1 ")
        and head[9:12].isdigit()
        and head[9:10] != b"1"
    )


def _value(head: bytes, name: bytes) -> bytes:
    start = head.find(name)
    if start < 0:
        return b""
    start += len(name)
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].strip()


def _original(data: bytes, head: bytes, name: bytes) -> str | None:
    """A header's value in its own spelling: `head` is `data` in lower case, so places agree."""
    start = head.find(name)
    if start < 0:
        return None
    start += len(name)
    return data[start : data.find(b"\r\n", start)].strip().decode("latin-1")


def _check(body: bytes, stated: bytes) -> None:
    """DynamoDB sends the CRC-32 of the body; a body that differs was damaged on its way."""
    if stated and stated != b"%d" % crc32(body):
        raise BadAnswer(DAMAGED)


def _receive_parsed(pieces: _Pieces, data: bytes, most_bytes: int) -> Reply:
    parser, first, so_far = HTTPResponse(method="POST"), data, len(data)
    try:
        parser.feed(data)
        while not parser.message_complete or parser.get_code() < 200:
            data = pieces.more(first)
            so_far += len(data)
            parser.feed(data)
            body_bytes = len(parser._body_buffer)
            if body_bytes > most_bytes or so_far > HEAD_BYTES + 2 * body_bytes:  # heads, chunks' own lines
                raise BadAnswer(TOO_LONG)
    except HTTPParseError as error:
        raise BadAnswer(BAD_HTTP) from error
    request_id, retry_after = parser.get("x-amzn-requestid"), parser.get("x-amz-retry-after")
    return Reply(
        status=parser.get_code(),
        body=bytes(parser._body_buffer),
        request_id=request_id if isinstance(request_id, str) else None,
        reusable=not parser.should_close(),
        retry_after=retry_after if isinstance(retry_after, str) else None,
    )
