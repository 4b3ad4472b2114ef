"""The socket and the loop of the server: werkzeug's, which is enough for one person's browser."""

import errno
import socket
from collections.abc import Callable
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """Says nothing about each request, and lets nobody hold a connection open for nothing."""

    timeout = 30

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Not a line for every second of every open page."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, on any free port where `port` is 0. Raises `ValueError` where it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"port {port} of {host} is taken, perhaps by another keyheat serve: "
                f"open http://{host}:{port}/, or say another one (--port 0 takes any that is free)"
            ) from error
        if error.errno == errno.EACCES:
            raise ValueError(f"port {port} is not for everybody: say one from 1024 on") from error
        raise ValueError(
            f"cannot listen on {host}: {error.strerror or error}; say --host 127.0.0.1"
        ) from error


def address_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    host, port = listener.getsockname()[:2]
    host = "127.0.0.1" if host == "0.0.0.0" else "::1" if host == "::" else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(listener: socket.socket, app: Callable[..., Any]) -> None:
    """Answer until Ctrl-C."""
    host, port = listener.getsockname()[:2]
    server = make_server(host, port, app, threaded=True, request_handler=Quiet, fd=listener.fileno())
    try:
        server.serve_forever()
    finally:
        server.server_close()
