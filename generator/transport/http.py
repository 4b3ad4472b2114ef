"""One HTTP/1.1 answer read from a socket.

The usual shape is read by hand: an AWS answer has a Content-Length and mostly arrives in one piece, so that
reading it takes one `recv` and four searches. Chunked bodies, interim answers and the like go to
geventhttpclient's parser, which is right and slower.
"""

from dataclasses import dataclass
from zlib import crc32

from gevent.socket import socket
from geventhttpclient.response import HTTPParseError, HTTPResponse

RECEIVE_BYTES = 65_536
BLANK_LINE = b"\r\n\r\n"


class BadAnswer(Exception):
    """What the other side sent is not a whole HTTP answer; the text is the error's kind."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer."""

    status: int
    body: bytes
    request_id: str | None
    reusable: bool  # the connection may carry another request
    retry_after: str | None = None  # milliseconds; only errors have it


def receive(connection: socket) -> Reply:
    """Read one answer. Raises `BadAnswer`, or `OSError` from the socket."""
    data = _more(connection)
    while (end := data.find(BLANK_LINE)) < 0:
        data += _more(connection)
    head = data[:end].lower()
    length = _value(head, b"\r\ncontent-length:")
    if not length.isdigit() or not head.startswith(b"http/1.1 ") or head[9:10] == b"1":
        return _receive_parsed(connection, data)
    body = data[end + len(BLANK_LINE) :]
    while len(body) < int(length):
        body += _more(connection)
    if len(body) > int(length):
        raise BadAnswer("bad_http")
    _check(body, _value(head, b"\r\nx-amz-crc32:"))
    status = int(head[9:12])
    return Reply(
        status=status,
        body=body,
        request_id=_original(data, head, b"\r\nx-amzn-requestid:"),
        reusable=b"\r\nconnection: close" not in head,
        retry_after=None if status == 200 else _original(data, head, b"\r\nx-amz-retry-after:"),
    )


def _more(connection: socket) -> bytes:
    data: bytes = connection.recv(RECEIVE_BYTES)
    if not data:
        raise BadAnswer("connection_reset")
    return data


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
    if stated and crc32(body) != int(stated):
        raise BadAnswer("crc32_mismatch")


def _receive_parsed(connection: socket, data: bytes) -> Reply:
    parser = HTTPResponse(method="POST")
    try:
        parser.feed(data)
        while not parser.message_complete or parser.get_code() < 200:
            parser.feed(_more(connection))
    except HTTPParseError as error:
        raise BadAnswer("bad_http") from error
    request_id, retry_after = parser.get("x-amzn-requestid"), parser.get("x-amz-retry-after")
    return Reply(
        status=parser.get_code(),
        body=bytes(parser._body_buffer),
        request_id=request_id if isinstance(request_id, str) else None,
        reusable=not parser.should_close(),
        retry_after=retry_after if isinstance(retry_after, str) else None,
    )
