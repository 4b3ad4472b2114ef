"""A DynamoDB endpoint that others wrote, as a server."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def moto() -> Iterator[str]:
    """moto's server, in a thread; gives its URL."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
