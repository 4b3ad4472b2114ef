"""DynamoDB's JSON protocol over kept-alive connections: several times cheaper per request than an SDK.

Connections (name lookup, TLS, timeouts) are made by geventhttpclient, and take turns. One that idled
too long, or that the server closed meanwhile, is not used: nothing was sent on it, so nothing failed. No SDK
would have noticed more.

One HTTP/1.1 answer read from a socket.
The usual shape is read by hand: an AWS answer has a Content-Length and mostly arrives in one piece, so that
reading it takes one `recv` and four searches. Chunked bodies, interim answers and the like go to
geventhttpclient's parser, which is right and slower.

Open connections that wait for a request, each used in its turn.

    used last ->  [ 4 | 3 | 2 | 1 ]  -> the next request

A service hands out what a small table has in parts, and a connection stays with one of them
(`keyheat.model.nodes`). Were the connection that was used last the next one, a whole load would go over one
wherever answers come soon, and how soon they come would decide how much of the table it finds.
"""

import select
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, time
from typing import Any, Final, NamedTuple
from zlib import crc32

import gevent.socket
from gevent.monkey import get_original
from gevent.socket import socket
from geventhttpclient.connectionpool import ConnectionPool, SSLConnectionPool
from geventhttpclient.response import HTTPParseError, HTTPResponse

from keyheat.load.transport.answer import (
    BAD_HTTP,
    DAMAGED,
    TIMEOUT_S,
    Answer,
    BadAnswer,
    NoCredentials,
    cut,
    kind_of,
)
from keyheat.load.transport.signer import AccessKeys, Signer
from keyheat.load.transport.target import Target, ca_bundle, check_no_proxy

RECEIVE_BYTES = HEAD_BYTES = 65_536
BLANK_LINE = b"\r\n\r\n"
LENGTH_DIGITS = 8  # a longer length is nonsense
MOST_BYTES = 10**LENGTH_DIGITS


class HttpReply(NamedTuple):
    status: int
    body: bytes
    reusable: bool  # the connection may carry another request
    retry_after: str | None = None  # milliseconds; only errors have it


def receive(connection: socket, *, within_s: float = 10.0) -> HttpReply:
    """Read one answer. Raises `BadAnswer`, or `OSError` from the socket.

    `within_s`: when all of it has to be there, for an answer of which a byte comes now and then never ends.
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
        return _receive_parsed(pieces, data)
    body = data[end + len(BLANK_LINE) :]
    if len(body) != int(length):  # it did not come with its head
        grown = bytearray(body)  # which grows without being copied
        while len(grown) < int(length):
            grown += pieces.more(data)
        if len(grown) > int(length):
            raise BadAnswer(BAD_HTTP)
        body = bytes(grown)
    stated = _value(head, b"\r\nx-amz-crc32:")
    if stated and stated != b"%d" % crc32(body):
        raise BadAnswer(DAMAGED)
    status = int(head[9:12])
    return HttpReply(
        status=status,
        body=body,
        reusable=b"\r\nconnection: close" not in head,
        retry_after=None
        if status == 200
        else _value(head, b"\r\nx-amz-retry-after:", data).decode("latin-1") or None,
    )


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
    """Return whether an answer has the usual shape: HTTP/1.1, a final status of three digits, a length."""
    return (
        length.isdigit()
        and len(length) <= LENGTH_DIGITS
        and head.startswith(b"http/1.1 ")
        and head[9:12].isdigit()
        and head[9:10] != b"1"
    )


def _value(head: bytes, name: bytes, spelling: bytes | None = None) -> bytes:
    """A header's value; in its own spelling where `spelling` is the head before it was lower case."""
    start = head.find(name)
    if start < 0:
        return b""
    start += len(name)
    end = head.find(b"\r\n", start)
    return (spelling or head)[start : end if end >= 0 else len(head)].strip()


def _receive_parsed(pieces: _Pieces, data: bytes) -> HttpReply:
    parser, first, so_far = HTTPResponse(method="POST"), data, len(data)
    try:
        parser.feed(data)
        while not parser.message_complete or parser.get_code() < 200:
            data = pieces.more(first)
            so_far += len(data)
            parser.feed(data)
            if so_far > min(MOST_BYTES, HEAD_BYTES + 2 * len(parser._body_buffer)):  # heads, lines of chunks
                raise BadAnswer(BAD_HTTP)
    except HTTPParseError as error:
        raise BadAnswer(BAD_HTTP) from error
    retry_after = parser.get("x-amz-retry-after")
    return HttpReply(
        status=parser.get_code(),
        body=bytes(parser._body_buffer),
        reusable=not parser.should_close(),
        retry_after=retry_after if isinstance(retry_after, str) else None,
    )


IDLE_S: Final = 15.0
"""Less than servers wait before they close, for a request on a closing connection is lost."""
SPREAD: Final = 13
"""Connections that a load is spread over at least: two for each of a small table's nodes, and a prime, so
that operations in a fixed order do not meet the same few again and again."""


class Idle:
    """The idle connections, and when each was used last; `at_least` of them are kept.

    Where requests are so rare that more connections would idle too long, there are fewer.
    """

    def __init__(self, at_least: int) -> None:
        self._at_least = at_least
        self._waiting: deque[tuple[Any, float]] = deque()

    def add(self, connection: Any, now_s: float) -> None:
        """Let a connection wait that was used until now."""
        self._waiting.append((connection, now_s))

    def take(self, now_s: float) -> tuple[Any, float] | None:
        """The connection whose turn it is, and when it was used last; None: another one is to be opened."""
        if not self._waiting:
            return None
        _connection, used_s = self._waiting[0]
        if len(self._waiting) < self._at_least and now_s - used_s < IDLE_S / 2:
            return None
        return self._waiting.popleft()

    def emptied(self) -> Iterator[Any]:
        """Every connection that waits; none does afterwards."""
        while self._waiting:
            yield self._waiting.popleft()[0]


EXPIRED = b"ExpiredToken"
_poll = get_original("select", "poll")  # asks the system; gevent's would let other users run


class SignedTransport:
    """Signed requests to one endpoint; `keys` is asked once a second, to see rotated credentials.

    They are spread over `connections` at least, however soon answers come. Raises `TargetError` if the
    environment names a proxy.
    """

    def __init__(
        self,
        target: Target,
        keys: Callable[[], AccessKeys],
        *,
        timeout_s: float = TIMEOUT_S,
        connections: int = 1,
    ) -> None:
        check_no_proxy(target)
        self._keys = keys
        self._region = target.region
        self._host = target.host_header
        self._timeout_s = timeout_s
        self._pool = _pool_for(target, timeout_s)
        self._idle = Idle(connections)
        self._signer = self._signer_with(keys())
        self._second = 0

    def send(self, operation: str, body: bytes) -> Answer:
        started = perf_counter()
        connection = None
        try:
            head = self._signed_head(operation, body)
            connection = self._take(started)
            _send(connection, head + body)
            reply = receive(connection, within_s=self._timeout_s)
        except (OSError, BadAnswer, NoCredentials) as error:
            self._discard(connection)
            return Answer(0, b"", perf_counter() - started, failure=kind_of(error))
        except BaseException:  # the user was killed while waiting: what comes next here is not its answer
            self._discard(connection)
            raise
        ended = perf_counter()
        if reply.reusable:
            self._idle.add(connection, ended)
        else:
            self._discard(connection)
        if reply.status == 400 and EXPIRED in reply.body:
            self._second = 0  # keys are asked for again at once, not with the next second
        return Answer(reply.status, reply.body, ended - started, reply.retry_after)

    def close(self) -> None:
        for connection in self._idle.emptied():
            self._discard(connection)

    def _signed_head(self, operation: str, body: bytes) -> bytes:
        now_s = time()
        if int(now_s) != self._second:
            keys = self._keys()
            self._second = int(now_s)
            if keys != self._signer.keys:
                self._signer = self._signer_with(keys)
        return self._signer.head(operation, body, now_s)

    def _signer_with(self, keys: AccessKeys) -> Signer:
        return Signer(keys, region=self._region, host=self._host)

    def _take(self, now_s: float) -> Any:
        while (idle := self._idle.take(now_s)) is not None:
            connection, used_s = idle
            if now_s - used_s < IDLE_S and not _readable(connection):
                return connection
            self._discard(connection)
        connection = self._pool.get_socket()
        connection.setsockopt(gevent.socket.IPPROTO_TCP, gevent.socket.TCP_NODELAY, 1)
        return connection

    def _discard(self, connection: Any) -> None:
        if connection is not None:
            self._pool.release_socket(connection)


def _readable(connection: Any) -> bool:
    """Return whether something waits on an idle connection: its end, or what belongs to no request."""
    poll = _poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _send(connection: Any, request: bytes) -> None:
    """Send a request: mostly in one call, where `sendall` asks for the size of a buffer first."""
    sent = connection.send(request)
    if sent < len(request):
        connection.sendall(request[sent:])


def _pool_for(target: Target, timeout_s: float) -> ConnectionPool:
    where = (target.host, target.port, target.host, target.port)
    bounds: dict[str, Any] = {
        "size": 1_000_000,  # users bound the number of connections, not the pool
        "connection_timeout": timeout_s,
        "network_timeout": timeout_s,
    }
    if not target.tls:
        return ConnectionPool(*where, **bounds)
    bundle = ca_bundle()
    return SSLConnectionPool(*where, ssl_options={"ca_certs": bundle} if bundle else None, **bounds)
