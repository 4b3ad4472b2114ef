"""DynamoDB's JSON protocol over kept-alive connections: several times cheaper per request than an SDK.

Connections (name lookup, TLS, timeouts) are made by geventhttpclient, and take turns (`idle`). One that idled
too long, or that the server closed meanwhile, is not used: nothing was sent on it, so nothing failed. No SDK
would have noticed more.
"""

import select
from collections.abc import Callable
from time import perf_counter, time
from typing import Any

import gevent.socket
from gevent.monkey import get_original
from geventhttpclient.connectionpool import ConnectionPool, SSLConnectionPool

from keyheat.addresses import is_loopback
from keyheat.answer_size import most_bytes
from keyheat.load.transport.answer import Answer
from keyheat.load.transport.failures import BadAnswer, NoCredentials, kind_of
from keyheat.load.transport.http import Reply, receive
from keyheat.load.transport.idle import IDLE_S, Idle
from keyheat.load.transport.proxy import Proxy, plain_proxy_of
from keyheat.load.transport.signer import REQUEST_LINE, Keys, Signer
from keyheat.load.transport.target import Target
from keyheat.load.transport.trust import ca_bundle

TIMEOUT_S = 10.0
EXPIRED = b"ExpiredToken"
_poll = get_original("select", "poll")  # asks the system; gevent's would let other users run


class SignedTransport:
    """Signed requests to one endpoint; `keys` is asked once a second, to see rotated credentials.

    They are spread over `connections` at least, however soon answers come. They go through the proxy that
    the environment names, as an SDK's do. Raises `TargetError` where they cannot.
    """

    def __init__(
        self,
        target: Target,
        keys: Callable[[], Keys],
        *,
        timeout_s: float = TIMEOUT_S,
        connections: int = 1,
        pool: ConnectionPool | None = None,
    ) -> None:
        proxy = plain_proxy_of(target)
        self._keys = keys
        self._region = target.region
        self._host = target.host_header
        self._request_line = REQUEST_LINE if target.tls or proxy is None else proxy.request_line(target)
        self._local = target.local
        self._timeout_s = timeout_s
        self._pool = pool or _pool_for(target, timeout_s, proxy)
        self._idle: Idle[gevent.socket.socket] = Idle(connections)
        self._signer = self._signer_with(keys())
        self._second = 0

    def send(self, operation: str, body: bytes) -> Answer:
        """Send one request and wait; see `Transport`."""
        started = perf_counter()
        connection = None
        try:
            head = self._signed_head(operation, body)
            connection = self._take(started)
            connection.sendall(head + body)
            reply = receive(connection, within_s=self._timeout_s, most_bytes=most_bytes(operation))
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
        self._look_at(reply)
        return Answer(reply.status, reply.body, ended - started, reply.request_id, reply.retry_after)

    def close(self) -> None:
        """Close the idle connections."""
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

    def _signer_with(self, keys: Keys) -> Signer:
        return Signer(keys, region=self._region, host=self._host, request_line=self._request_line)

    def _look_at(self, reply: Reply) -> None:
        """Keys that the service says have expired are asked for again at once, not with the next second."""
        if reply.status == 400 and EXPIRED in reply.body:
            self._second = 0

    def _take(self, now_s: float) -> Any:
        while (found := self._idle.take(now_s)) is not None:
            connection, used_s = found
            if now_s - used_s < IDLE_S and not _readable(connection):
                return connection
            self._discard(connection)
        return self._connected()

    def _connected(self) -> Any:
        """A new connection; to this machine alone, where that is what the target was taken for."""
        try:
            connection = self._pool.get_socket()
        except RuntimeError as refusal:  # the proxy's
            raise OSError(str(refusal)) from refusal
        connection.setsockopt(gevent.socket.IPPROTO_TCP, gevent.socket.TCP_NODELAY, 1)
        if self._local and not is_loopback(connection.getpeername()[0]):
            self._discard(connection)
            raise OSError(f"{self._host} is not on this machine any more")
        return connection

    def _discard(self, connection: Any) -> None:
        if connection is not None:
            self._pool.release_socket(connection)


def _readable(connection: Any) -> bool:
    """Whether something waits on an idle connection: its end, or what belongs to no request."""
    poll = _poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _pool_for(target: Target, timeout_s: float, proxy: Proxy | None) -> ConnectionPool:
    first = (target.host, target.port) if proxy is None else (proxy.host, proxy.port)
    where = (*first, target.host, target.port)
    bounds: dict[str, Any] = {
        "size": 1_000_000,  # users bound the number of connections, not the pool
        "connection_timeout": timeout_s,
        "network_timeout": timeout_s,
    }
    if proxy is not None:
        bounds |= {"use_proxy": True, "proxy_user": proxy.user, "proxy_password": proxy.password}
    if not target.tls:
        return ConnectionPool(*where, **bounds)
    bundle = ca_bundle()
    return SSLConnectionPool(*where, ssl_options={"ca_certs": bundle} if bundle else None, **bounds)
