"""One client's HTTP/1.1 connection: bytes in, requests out, each answered with one write.

A request is never an object: its method, URL, headers and body go to `answer`, and what comes back goes to
the socket as it is. What a client may make the endpoint hold is bounded (`Bounds`), and a client that does
not read its answers is not read from.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

import httptools

from tablemodel.nodes import Caller

Headers = dict[bytes, bytes]
Answer = Callable[[bytes, bytes, Headers, bytes], bytes]
"""(method, URL, headers with lower-case names, body) -> the whole response, head and body."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What clients can make the endpoint hold.

    `body_bytes`: DynamoDB takes requests of 16 MB at most; the JSON around them needs some room.
    `drained_bytes`: a longer body is still read to its end (and dropped), so that its sender sees the answer.
    """

    body_bytes: int = 17 * 1024 * 1024
    drained_bytes: int = 256 * 1024 * 1024
    head_bytes: int = 64 * 1024
    connections: int = 4096
    idle_s: int = 300
    linger_s: int = 5


@dataclass(slots=True)
class Connections:
    """The open connections of one server, and what they share. `tick` counts seconds, roughly.

    `made` counts connections, so that each has a number; `caller` has that of the request at hand.
    """

    answer: Answer
    bounds: Bounds
    caller: Caller = field(default_factory=Caller)
    open: set["Connection"] = field(default_factory=set)
    made: int = 0
    tick: int = 0
    answered: int = 0

    def sweep(self) -> None:
        """One second has passed: hang up on those who have been silent, or half silent, for too long."""
        self.tick += 1
        silent_before = self.tick - self.bounds.idle_s
        lingering_before = self.tick - self.bounds.linger_s
        for connection in list(self.open):
            if connection.since < (lingering_before if connection.closing else silent_before):
                connection.abort()

    def close_idle(self) -> bool:
        """Hang up on everyone who is owed nothing; True when nobody is left."""
        for connection in list(self.open):
            if connection.idle:
                connection.close()
        return not self.open


def response(
    status: int,
    body: bytes,
    *,
    content_type: bytes = b"application/json",
    request_id: bytes = b"",
    extra: bytes = b"",
) -> bytes:
    """A whole HTTP response; `extra` is further header lines, each ended by CRLF."""
    if request_id:
        extra = b"x-amzn-RequestId: %b\r\n%b" % (request_id, extra)
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n%b" % (
        status,
        HTTPStatus(status).phrase.encode(),
        content_type,
        extra,
        len(body),
        body,
    )


def refusal(status: int, code: str, message: str) -> bytes:
    """The answer to what is not a proper HTTP request, in the shape that AWS clients read."""
    body = b'{"__type":"com.amazon.coral.service#%b","message":"%b"}' % (code.encode(), message.encode())
    return response(status, body, content_type=b"application/x-amz-json-1.0")


TOO_MANY = refusal(503, "ServiceUnavailableException", "Too many connections")
TOO_LARGE = refusal(413, "RequestEntityTooLargeException", "Request body is too large")
HEAD_TOO_LARGE = refusal(431, "SerializationException", "Request header is too large")
NOT_HTTP = refusal(400, "SerializationException", "Not a well-formed HTTP request")


class Connection(asyncio.Protocol):
    """One connection: the parser calls the `on_` methods as parts of a request arrive."""

    def __init__(self, shared: Connections) -> None:
        self._shared = shared
        self._bounds = shared.bounds
        self._answer = shared.answer
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._parser: Any = None
        self._waiting: deque[tuple[bytes, bytes, Headers, bytes, bool]] = deque()
        self._paused = self._ended = self.closing = False
        self._refusal = NOT_HTTP
        self.since = shared.tick
        self._number = shared.made
        shared.made += 1
        self._begin()

    @property
    def idle(self) -> bool:
        """Whether nothing is half received, waiting or unsent."""
        unsent = self._transport.get_write_buffer_size()
        return not (self._in_request or self._waiting or (unsent and not self.closing))

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._shared.open) >= self._bounds.connections:
            self._hang_up(TOO_MANY)
            self._transport.close()
            return
        self._shared.open.add(self)
        self._parser = httptools.HttpRequestParser(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._shared.open.discard(self)
        self._waiting.clear()
        self.closing = True
        self._parser = None  # it refers back to this object; cut by hand, since cycles are collected rarely

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        head = self._headers if self._in_head else None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._hang_up(b"")  # the request itself has been answered; nothing else is spoken here
        except httptools.HttpParserError:
            self._hang_up(self._refusal)
        else:
            if self._in_head and self._headers is head:
                self._unfinished_head(len(data))

    def eof_received(self) -> bool:
        self._ended = True
        return bool(self._waiting)  # True: our side stays open until the waiting requests are answered

    def pause_writing(self) -> None:
        self._paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        while self._waiting and not self._paused:
            self._respond(*self._waiting.popleft())
        if self._paused or self.closing:
            return
        if self._ended:
            self.close()
        else:
            self._transport.resume_reading()

    # What the parser calls.

    def on_url(self, part: bytes) -> None:
        self._in_request = self._in_head = True
        self.since = self._shared.tick
        self._url += part
        self._count_head(len(part))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value
        self._count_head(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        length = int(self._headers.get(b"content-length", b"0"))
        if length > self._bounds.body_bytes:
            self._drop_body(length)
        elif b"expect" in self._headers:
            self._transport.write(CONTINUE)

    def on_body(self, part: bytes) -> None:
        self._body_bytes += len(part)
        if self._too_large or self._body_bytes > self._bounds.body_bytes:
            self._drop_body(self._body_bytes)
        else:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        parser, parts = self._parser, self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        method, url, headers = parser.get_method(), self._url, self._headers
        keep_alive = parser.should_keep_alive()
        if self._too_large:
            method = b""  # answered in its turn, without asking
        self._begin()
        if self._paused:
            self._waiting.append((method, url, headers, body, keep_alive))
        elif not self.closing:
            self._respond(method, url, headers, body, keep_alive)

    # What they have in common.

    def _begin(self) -> None:
        """Be ready for the next request."""
        self._url = b""
        self._headers: Headers = {}
        self._parts: list[bytes] = []
        self._head_bytes = self._body_bytes = 0
        self._in_request = self._in_head = self._too_large = False

    def _respond(self, method: bytes, url: bytes, headers: Headers, body: bytes, keep_alive: bool) -> None:
        shared = self._shared
        shared.answered += 1
        self.since = shared.tick
        shared.caller.connection = self._number
        raw = self._answer(method, url, headers, body) if method else TOO_LARGE
        if keep_alive:
            self._transport.write(raw)
        else:
            self._hang_up(raw)

    def _count_head(self, more_bytes: int) -> None:
        self._head_bytes += more_bytes
        if self._head_bytes > self._bounds.head_bytes:
            self._refusal = HEAD_TOO_LARGE
            raise ValueError("a head longer than will be held")

    def _drop_body(self, length: int) -> None:
        """Answer 413 when the body ends; one that is longer than will be read ends the connection."""
        self._too_large = True
        self._parts.clear()
        if length > self._bounds.drained_bytes:
            self._refusal = TOO_LARGE
            raise ValueError("a body longer than will be read")

    def _unfinished_head(self, more_bytes: int) -> None:
        """One header that never ends reaches no `on_header`, so what arrives is counted here too."""
        self._head_bytes += more_bytes
        if self._head_bytes > 2 * self._bounds.head_bytes:
            self._hang_up(HEAD_TOO_LARGE)

    def _hang_up(self, last: bytes) -> None:
        """Say a last word and end our side; the client's is read and dropped until it ends too."""
        self.closing = True
        self.since = self._shared.tick
        self._waiting.clear()
        if last:
            self._transport.write(last.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        """Hang up after what is written has been sent."""
        self.closing = True
        self._transport.close()

    def abort(self) -> None:
        """Hang up at once."""
        self._transport.abort()
