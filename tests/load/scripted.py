"""A server that answers what a script says, whatever it is asked."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HANG, HANG_UP, RESET = b"hang", b"hang up", b"reset"
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: a connection that is closed is reset


def answered(status: str, body: bytes, *headers: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/x-amz-json-1.0",
        "x-amzn-RequestId: ABC123",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class ScriptedServer:
    """Answers one request after the other with what the script says."""

    def __init__(self, script: Iterable[bytes], tls: Path | None = None) -> None:
        self._script = iter(script)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if self._tls and tls:
            self._tls.load_cert_chain(tls)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.connections = 0
        self.hung_up = False
        self._open: list[socket.socket] = []
        self._answering: list[threading.Thread] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if self._ended.is_set():
                connection.close()
                return
            self.connections += 1
            self._answering.append(threading.Thread(target=self._answer, args=[connection]))
            self._answering[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), self._secured(connection) as secured:
            self._open.append(secured)
            if not self._ended.is_set():
                self._answer_all(secured)
        self.hung_up = True

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def _answer_all(self, connection: socket.socket) -> None:
        while request := self._request(connection):
            self.requests.append(request)
            scripted = next(self._script)
            if scripted == HANG_UP:
                return
            if scripted == HANG:
                self._ended.wait()
                return
            for piece in scripted.removesuffix(HANG_UP).removesuffix(RESET).split(b"|PAUSE|"):
                connection.sendall(piece)
            if scripted.endswith(RESET):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            if scripted.endswith((HANG_UP, RESET)):
                return

    def _request(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65_536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = (line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        length = int(next(lengths, b":0").split(b":")[1])
        while len(body) < length:
            body += connection.recv(65_536)
        return head + b"\r\n\r\n" + body

    def stop(self) -> None:
        self._ended.set()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with socket.create_connection(self._listener.getsockname()):
            pass  # wakes the thread
        for thread in (self._thread, *self._answering):
            thread.join()
        self._listener.close()


@contextmanager
def serving(*script: bytes, tls: Path | None = None) -> Iterator[ScriptedServer]:
    """`tls` is a file with a certificate and its key."""
    server = ScriptedServer(script, tls)
    try:
        yield server
    finally:
        server.stop()
