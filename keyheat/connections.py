"""Connections of an SDK's client: none leaves this machine unseen, and no answer takes longer than it may.

botocore has no event for either, and its read timeout starts anew with each byte. So its own classes of
connections are replaced by these.
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
    """What comes from a socket, until its timeout has passed since the answer began."""

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
    """An answer that is whole within the timeout of its connection, or fails."""

    def __init__(self, sock: socket.socket, *more: Any, **named: Any) -> None:
        super().__init__(sock, *more, **named)
        self.fp = BufferedReader(_Pieces(self.fp.detach(), sock))


class _LeftMachine(Exception):
    """No `OSError`: of those botocore's message leaves out the reason."""


class _Local:
    """Looks at each new connection: a name may lead elsewhere by now."""

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
    """Classes of pools by scheme; `local`: for a target that was taken for this machine."""
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
