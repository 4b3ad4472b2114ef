"""Connections of an SDK's client to this machine: none leads elsewhere, whatever its name resolves to.

botocore has no event for it. So its own classes of connections are replaced by these.
"""

import socket

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)

from keyheat.addresses import check_peer


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


class _Plain(_Local, AWSHTTPConnection):  # type: ignore[misc]  # botocore has no types
    pass


class _Secure(_Local, AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _PlainPool(AWSHTTPConnectionPool):  # type: ignore[misc]
    ConnectionCls = _Plain


class _SecurePool(AWSHTTPSConnectionPool):  # type: ignore[misc]
    ConnectionCls = _Secure


LOCAL_POOLS = {"http": _PlainPool, "https": _SecurePool}
