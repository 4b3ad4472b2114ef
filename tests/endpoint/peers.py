"""Clients of an HTTP server of this process: what they send arrives as it is cut, and nobody waits."""

from keyheat.endpoint.http import Connection, Connections
from tests.endpoint.clients import taken_apart

HEAD = (
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=a\r\n"
    "X-Amz-Target: DynamoDB_20120810.{operation}\r\n"
)


def request(operation: str = "ListTables", body: bytes = b"{}", more: str = "") -> bytes:
    head = HEAD.format(operation=operation) + more + f"Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunked(chunks: bytes, operation: str = "ListTables") -> bytes:
    return HEAD.format(operation=operation).encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


class Transport:
    """Where a connection writes; nobody reads it."""

    def __init__(self) -> None:
        self.written = b""
        self.ended = self.aborted = False

    def write(self, data: bytes) -> None:
        assert not self.ended, "nothing can be written after the end"
        self.written += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        assert not self.ended, "an end comes once"
        self.ended = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self.aborted = True

    close = abort


class Peer:
    """One client's connection."""

    def __init__(self, shared: Connections) -> None:
        self.transport = Transport()
        self.connection = Connection(shared)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    @property
    def status(self) -> int | None:
        """Of the first answer."""
        return int(self.transport.written.split()[1]) if self.transport.written else None

    def answers(self) -> list[tuple[int, dict[str, str], bytes]]:
        """Status, headers and body of each response since the last call."""
        left, answers = self.transport.written, []
        self.transport.written = b""
        while left:
            status, headers, rest = taken_apart(left)
            body, left = rest[: int(headers["content-length"])], rest[int(headers["content-length"]) :]
            answers.append((status, headers, body))
        return answers

    def ask(self, data: bytes) -> list[int]:
        """Send, and tell the statuses of what comes back."""
        self.send(data)
        return [status for status, _headers, _body in self.answers()]
