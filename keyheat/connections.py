"""Connections of an SDK client that stay on this machine, and bound the time of a whole response.

botocore has no event for either, and its read timeout restarts with each byte. So these classes replace its
own connections.
"""

import http.client
import socket
from io import BufferedReader, RawIOBase
from time import monotonic
from typing import Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)

from keyheat.addresses import check_peer


class _Pieces(RawIOBase):
    """A socket's bytes, until the timeout has passed since the response began."""

    def __init__(self, raw: RawIOBase, connection: socket.socket) -> None:
        self._raw, self._connection = raw, connection
        self._ends_s = monotonic() + (connection.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left_s = self._ends_s - monotonic()
        if left_s <= 0:
            raise TimeoutError("the answer was not whole in time")
        self._connection.settimeout(left_s)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class Reply(http.client.HTTPResponse):
    """A response that is complete within the timeout of its connection, or fails."""

    def __init__(self, sock: socket.socket, *more: Any, **named: Any) -> None:
        super().__init__(sock, *more, **named)
        self.fp = BufferedReader(_Pieces(self.fp.detach(), sock))


class _LeftMachine(Exception):
    """Not an `OSError`: botocore drops the reason of those."""


class _Local:
    """Check each new connection: a name may lead elsewhere by now."""

    host: str

    def _new_conn(self) -> socket.socket:
        connection: socket.socket = super()._new_conn()  # type: ignore[misc]
        try:
            check_peer(connection, self.host)
        except OSError as error:
            connection.close()
            raise _LeftMachine(str(error)) from error
        return connection


def pools(*, local: bool) -> dict[str, type]:
    """Connection pool classes by scheme; `local`: only for this machine."""
    kinds = (
        ("http", AWSHTTPConnectionPool, AWSHTTPConnection),
        ("https", AWSHTTPSConnectionPool, AWSHTTPSConnection),
    )
    looks = (_Local,) if local else ()
    return {
        scheme: type(
            "Pool",
            (pool,),
            {"ConnectionCls": type("Connection", (*looks, connection), {"response_class": Reply})},
        )
        for scheme, pool, connection in kinds
    }
