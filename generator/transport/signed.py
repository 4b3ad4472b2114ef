"""DynamoDB's JSON protocol over kept-alive connections: several times cheaper per request than an SDK.

Connections (name lookup, TLS, timeouts) are made by geventhttpclient. A request takes the connection that was
used last, so there are never more of them than users, and those that idled too long are left to die.
"""

import ssl
from collections.abc import Callable
from time import perf_counter, time
from typing import Any

import gevent.socket
from geventhttpclient.connectionpool import ConnectionPool, SSLConnectionPool

from generator.transport.answer import Answer
from generator.transport.http import BadAnswer, receive
from generator.transport.signer import Keys, Signer
from generator.transport.target import Target

IDLE_S = 15.0  # less than servers wait before they close, for a request on a closed connection is lost
TIMEOUT_S = 10.0


class SignedTransport:
    """Signed requests to one endpoint; `keys` is asked once a second, to see rotated credentials."""

    def __init__(self, target: Target, keys: Callable[[], Keys], *, timeout_s: float = TIMEOUT_S) -> None:
        self._keys = keys
        self._region = target.region
        self._host = target.host_header
        self._pool = _pool_for(target, timeout_s)
        self._idle: list[tuple[gevent.socket.socket, float]] = []
        self._signer = Signer(keys(), region=self._region, host=self._host)
        self._second = 0

    def send(self, operation: str, body: bytes) -> Answer:
        """Send one request and wait; see `Transport`."""
        started = perf_counter()
        connection = None
        try:
            head = self._signed_head(operation, body)
            connection = self._take(started)
            connection.sendall(head + body)
            reply = receive(connection)
        except (OSError, BadAnswer) as error:
            self._discard(connection)
            return Answer(0, b"", perf_counter() - started, failure=kind_of(error))
        except BaseException:  # the user was killed while waiting: what comes next here is not its answer
            self._discard(connection)
            raise
        ended = perf_counter()
        if reply.reusable:
            self._idle.append((connection, ended))
        else:
            self._discard(connection)
        return Answer(reply.status, reply.body, ended - started, reply.request_id, reply.retry_after)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._discard(self._idle.pop()[0])

    def _signed_head(self, operation: str, body: bytes) -> bytes:
        now_s = time()
        if int(now_s) != self._second:
            self._second = int(now_s)
            keys = self._keys()
            if keys != self._signer.keys:
                self._signer = Signer(keys, region=self._region, host=self._host)
        return self._signer.head(operation, body, now_s)

    def _take(self, now_s: float) -> Any:
        if self._idle:
            connection, used_s = self._idle.pop()
            if now_s - used_s < IDLE_S:
                return connection
            self._discard(connection)
            self.close()  # the others are older still
        connection = self._pool.get_socket()
        connection.setsockopt(gevent.socket.IPPROTO_TCP, gevent.socket.TCP_NODELAY, 1)
        return connection

    def _discard(self, connection: Any) -> None:
        if connection is not None:
            self._pool.release_socket(connection)


def kind_of(error: Exception) -> str:
    """A short stable name for why nothing came back: error tables grow with the number of names."""
    kinds: list[tuple[type[BaseException], str]] = [
        (TimeoutError, "timeout"),
        (ConnectionRefusedError, "connection_refused"),
        (ConnectionError, "connection_reset"),
        (gevent.socket.gaierror, "name_lookup"),
        (ssl.SSLError, "tls"),
        (OSError, "connection_failed"),
    ]
    if isinstance(error, BadAnswer):
        return str(error)
    return next((kind for of_type, kind in kinds if isinstance(error, of_type)), type(error).__name__)


def _pool_for(target: Target, timeout_s: float) -> ConnectionPool:
    pool = SSLConnectionPool if target.tls else ConnectionPool
    return pool(
        target.host,
        target.port,
        target.host,
        target.port,
        size=1_000_000,  # users bound the number of connections, not the pool
        connection_timeout=timeout_s,
        network_timeout=timeout_s,
    )
