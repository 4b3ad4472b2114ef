"""One client's HTTP/1.1 connection: bytes in, requests out, each answered with one write.

A request is never an object: its method, URL, headers and body go to `answer`, and what comes back goes to
the socket as it is. What a request may make the endpoint hold is bounded (`ClientBounds`), and a client that
does not read its answers is not read from.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal, cast

import httptools

from keyheat.endpoint.options import ClientBounds


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
TOO_SLOW = refusal(408, "RequestTimeoutException", "The request did not arrive in time")
TOO_LARGE = refusal(413, "RequestEntityTooLargeException", "Request body is larger than 17 MiB")
HEAD_TOO_LARGE = refusal(431, "SerializationException", "Request header is too large")
NOT_HTTP = refusal(400, "SerializationException", "Not a well-formed HTTP request")


HEADER: Final = b"x-keyheat-fault"
"""The response header that names the fault rules that struck."""
Loss = Literal["none", "all", "half"]
"""How much of a response is lost with its connection: half is its whole head and half of its body."""


@dataclass(slots=True)
class Delivery:
    """A response that waits, names the fault rules that struck, or ends its connection."""

    raw: bytes = b""  # the whole response
    waits_s: float = 0.0
    faults: tuple[str, ...] = ()
    loses: Loss = "none"

    def sent(self) -> bytes:
        if self.loses == "all":
            return b""
        raw = self.raw
        if self.faults:
            raw = raw.replace(b"\r\n", b"\r\n%b: %b\r\n" % (HEADER, ", ".join(self.faults).encode()), 1)
        body = raw.index(b"\r\n\r\n") + 4
        return raw if self.loses == "none" else raw[: body + (len(raw) - body) // 2]


Headers = dict[bytes, bytes]
Answer = Callable[[bytes, bytes, Headers, bytes, int], bytes | Delivery]
"""(method, URL, headers with lower-case names, body, number of the connection) -> the whole response."""


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
READ_BYTES = 256 * 1024
"""What the event loop reads at once, at most."""
HEADER_BYTES = 100
"""What holding a header takes beside its own text."""


@dataclass(slots=True)
class Connections:
    """The open connections of one server, and what they share. `tick` counts seconds, roughly.

    `accepted` counts connections, so that each has a number.
    """

    answer: Answer
    bounds: ClientBounds
    open: set["Connection"] = field(default_factory=set)
    accepted: int = 0
    tick: int = 0
    answered: int = 0

    def sweep(self) -> None:
        """One second has passed: hang up on those who have been silent, or half silent, for too long."""
        self.tick += 1
        for connection in list(self.open):
            silent_s = self.tick - connection.since
            if silent_s > (self.bounds.linger_s if connection.closing else self.bounds.idle_s):
                connection.abort()
            elif silent_s > self.bounds.request_s and connection.arriving:
                connection.hang_up(TOO_SLOW)

    def close_idle(self) -> bool:
        """Close connections that are owed no answer; True if none is left."""
        for connection in list(self.open):
            if connection.idle:
                connection.close()
        return not self.open


class Connection(asyncio.Protocol):
    """One connection: the parser calls the `on_` methods as parts of a request arrive."""

    _head_bytes: int
    _body_bytes: int
    _body: bytes | bytearray
    _too_large: bool
    _in_request: bool

    def __init__(self, shared: Connections) -> None:
        self._shared = shared
        self._bounds = shared.bounds
        self._most_head_bytes = shared.bounds.head_bytes
        self._answer = shared.answer
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._parser: Any = None
        self._waiting: deque[tuple[bytes, bytes, Headers, bytes, bool]] = deque()
        self._paused = self._ended = self.closing = self._thinking = False
        self._refusal = NOT_HTTP
        self.since = shared.tick
        self._number = shared.accepted
        shared.accepted += 1
        self._begin()

    @property
    def idle(self) -> bool:
        """Whether nothing is half received, waiting or unsent."""
        unsent = self._transport.get_write_buffer_size()
        owed = self._in_request or self._waiting or self._thinking
        return not (owed or (unsent and not self.closing))

    @property
    def arriving(self) -> bool:
        """Whether a request has begun, is not whole, and would be read on."""
        return self._in_request and not (self._paused or self.closing)

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._shared.open) >= self._bounds.connections:
            self.hang_up(TOO_MANY)
            self._transport.close()
            return
        self._shared.open.add(self)
        self._parser = httptools.HttpRequestParser(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._shared.open.discard(self)
        self._forget()
        self.closing = True
        self._parser = None  # it refers back to this object; cut by hand, since cycles are collected rarely

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.hang_up(b"")  # the request itself has been answered; nothing else is spoken here
        except httptools.HttpParserError:
            if not self.closing:  # by itself, or what came after the last request that was asked for
                self.hang_up(self._refusal)
        else:
            if self._in_request:
                self._grow(len(data))

    def eof_received(self) -> bool:
        self._ended = True
        return (
            bool(self._waiting) or self._thinking
        )  # True: our side stays open until the waiting requests are answered

    def pause_writing(self) -> None:
        self._paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        self._go_on()

    def _go_on(self) -> None:
        """Answer what is waiting, as far as answers can be sent."""
        self.since = self._shared.tick
        while self._waiting and not (self._paused or self._thinking):
            self._respond(*self._waiting.popleft())
        if self._paused or self._thinking or self.closing:
            return
        if self._ended:
            self.close()
        else:
            self._transport.resume_reading()

    # What the parser calls.

    def on_url(self, piece: bytes) -> None:
        if not self._in_request:  # a URL may come in parts, and each of them late
            self._in_request = self._in_head = True
            self.since = self._shared.tick
        self._url += piece
        self._head_bytes += len(piece)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what comes after a body could pass for what was signed
            key = name.lower()
            if key == b"host" and key in self._headers:
                raise ValueError("two hosts: which one is meant?")  # RFC 9112, 3.2: 400
            self._headers[key] = value
            self._head_bytes += len(name) + len(value) + HEADER_BYTES
            if self._head_bytes > self._most_head_bytes:
                self._refusal = HEAD_TOO_LARGE
                raise ValueError("a head longer than will be held")

    def on_headers_complete(self) -> None:
        self._in_head = False
        length = int(self._headers.get(b"content-length", b"0"))
        if length > self._bounds.body_bytes:
            self._drop_body(length)
        elif b"expect" in self._headers:
            self._transport.write(CONTINUE)

    def on_body(self, piece: bytes) -> None:
        self._body_bytes += len(piece)
        if self._too_large or self._body_bytes > self._bounds.body_bytes:
            self._drop_body(self._body_bytes)
        elif self._body_bytes == len(piece):
            self._body = piece
        else:  # not a list of parts, each of which may be one byte
            self._body = self._body if isinstance(self._body, bytearray) else bytearray(self._body)
            self._body += piece

    def on_message_complete(self) -> None:
        parser, body = self._parser, bytes(self._body)
        method, url, headers = parser.get_method(), self._url, self._headers
        keep_alive = parser.should_keep_alive()
        if self._too_large:
            method = b""  # answered in its turn, without asking
        self._begin()
        if self._paused or self._thinking:
            self._waiting.append((method, url, headers, body, keep_alive))
        elif not self.closing:
            self._respond(method, url, headers, body, keep_alive)

    # What they have in common.

    def _begin(self) -> None:
        self._url = b""
        self._headers: Headers = {}
        self._body = b""
        self._head_bytes = self._body_bytes = self._arrived_bytes = 0
        self._in_request = self._in_head = self._too_large = False

    def _respond(self, method: bytes, url: bytes, headers: Headers, body: bytes, keep_alive: bool) -> None:
        shared = self._shared
        shared.answered += 1
        self.since = shared.tick
        answer = self._answer(method, url, headers, body, self._number) if method else TOO_LARGE
        if isinstance(answer, bytes):
            self._send(answer, keep_alive)
        elif answer.waits_s:
            self._think(answer, keep_alive)
        else:
            self._deliver(answer, keep_alive)

    def _think(self, delivery: Delivery, keep_alive: bool) -> None:
        """Send an answer that takes its time when that is over; later requests wait for their turn."""
        self._thinking = True
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(delivery.waits_s, self._thought, delivery, keep_alive)

    def _thought(self, delivery: Delivery, keep_alive: bool) -> None:
        self._thinking = False
        if not self.closing:
            self._deliver(delivery, keep_alive)
            self._go_on()

    def _deliver(self, delivery: Delivery, keep_alive: bool) -> None:
        """Send what is to arrive of an answer; where that is not all, nothing else comes after it."""
        if delivery.loses == "none":
            self._send(delivery.sent(), keep_alive)
        else:
            self._forget()
            self._transport.write(delivery.sent())
            self.close()

    def _send(self, raw: bytes, keep_alive: bool) -> None:
        if keep_alive:
            self._transport.write(raw)
        else:
            self.hang_up(raw)

    def _drop_body(self, length: int) -> None:
        """Answer 413 when the body ends; one that is longer than will be read ends the connection."""
        self._too_large = True
        self._body = b""
        if length > self._bounds.drained_bytes:
            self._refusal = TOO_LARGE
            raise ValueError("a body longer than will be read")

    def _grow(self, more_bytes: int) -> None:
        """More of a request has come, and it is not whole. What never ends reaches no `on_` method."""
        self._arrived_bytes += more_bytes
        beside_body = self._arrived_bytes - self._body_bytes
        framing = min(self._body_bytes, self._bounds.body_bytes)  # of chunks, which may be small
        if beside_body > 2 * self._bounds.head_bytes + READ_BYTES + framing:
            self.hang_up(HEAD_TOO_LARGE)

    def _forget(self) -> None:
        self._waiting.clear()
        self._begin()

    def hang_up(self, last: bytes) -> None:
        """Say a last word and end our side; the client's is read and dropped until it ends too."""
        self.closing = True
        self.since = self._shared.tick
        self._forget()
        if last:
            self._transport.write(last.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        self.closing = True
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
