"""Requests as they may arrive: in pieces, several at once, broken, too long, or never ended."""

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit
from zlib import crc32

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.endpoint.clients import taken_apart

pytestmark = pytest.mark.opens

HEAD = (
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=a\r\n"
    "X-Amz-Target: DynamoDB_20120810.{operation}\r\n"
)


def request(operation: str = "ListTables", body: bytes = b"{}", more: str = "") -> bytes:
    head = HEAD.format(operation=operation) + more + f"Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunked(chunks: bytes, operation: str = "ListTables") -> bytes:
    return HEAD.format(operation=operation).encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


# With a Content-Length beside them, so that two readers might see two different ends of the request.
CODINGS = ["chunked", "identity", "gzip, chunked", "chunked, chunked", "xchunked", "", "\x0bchunked"]
NO_SIZES = [b"-1", b"+2", b"0x2", b"2 ", b"", b"ffffffffffffffffff", b"two", b"2_0"]


class Wire:
    """A raw connection that reads whole responses."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self.socket = socket.create_connection((split.hostname, split.port), timeout=600)
        self.held = b""

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def response(self) -> tuple[int, dict[str, str], bytes]:
        """The next response; fails where the connection ends before it does."""
        while b"\r\n\r\n" not in self.held:
            self._more()
        _, headers, _ = taken_apart(self.held.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        length = int(headers.get("content-length", 0))
        whole = self.held.index(b"\r\n\r\n") + 4 + length
        while len(self.held) < whole:
            self._more()
        raw, self.held = self.held[:whole], self.held[whole:]
        return taken_apart(raw)

    def ended(self) -> bool:
        """Whether the other side has closed."""
        try:
            return self.held == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _more(self) -> None:
        data = self.socket.recv(65_536)
        assert data, f"connection ended after {self.held!r}"
        self.held += data


@pytest.fixture
def wire(endpoint: EndpointProcess) -> Iterator[Wire]:
    connection = Wire(endpoint.url)
    yield connection
    connection.socket.close()


def lives_on(wire: Wire) -> None:
    wire.send(request())
    assert wire.response()[0] == 200


def test_answer_has_id_checksum_and_type(wire: Wire) -> None:
    wire.send(request() + request())
    answers = [wire.response() for _ in range(2)]
    for status, headers, body in answers:
        assert status == 200
        assert int(headers["x-amz-crc32"]) == crc32(body)
        assert headers["content-type"] == "application/x-amz-json-1.0"
        assert len(headers["x-amzn-requestid"]) == 52
    assert answers[0][1]["x-amzn-requestid"] != answers[1][1]["x-amzn-requestid"]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (request(body=b"{not json"), "SerializationException"),
        (request(body=b""), "SerializationException"),
        (request(body=b"[1]"), "SerializationException"),
        (request(body=b"\xff\xfe"), "SerializationException"),
        (request(body=b"[" * 100_000), "SerializationException"),
        (request("MakeCoffee"), "UnknownOperationException"),
        (request().replace(b"DynamoDB_20120810.ListTables", b"nonsense"), "UnknownOperationException"),
        (request().replace(b"X-Amz-Target", b"X-Other"), "UnknownOperationException"),
        (b"GET /where HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "UnknownOperationException"),
        (request().replace(b"Authorization", b"X-Other"), "MissingAuthenticationTokenException"),
        (request("DescribeTable", b'{"TableName": "no-such-table"}'), "ResourceNotFoundException"),
        (request("DescribeTable", b'{"TableName": 5}'), "SerializationException"),
    ],
)
def test_a_wrong_request_is_refused_and_the_connection_lives_on(wire: Wire, raw: bytes, kind: str) -> None:
    wire.send(raw)
    status, headers, body = wire.response()
    assert status == 400
    assert json.loads(body)["__type"].rpartition("#")[2] == kind
    assert int(headers["x-amz-crc32"]) == crc32(body)
    assert b"Traceback" not in body
    lives_on(wire)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS greeting
        b"complete nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: twelve\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET / HTTP/1.1\r\nHost: elsewhere.example\r\nhost: 127.0.0.1\r\n\r\n",
        request(more="Content-Length: 99999999999999999999999\r\n"),
        *(request(body=b"0\r\n\r\n", more=f"Transfer-Encoding: {coding}\r\n") for coding in CODINGS),
        *(chunked(size + b"\r\n{}\r\n0\r\n\r\n") for size in NO_SIZES),
        chunked(b"2\r\n{}0\r\n\r\n"),  # no line's end after a chunk
        chunked(b"2\n{}\n0\n\n"),
        chunked(b"2\r\n{}\r\n0\r\nContent-Length: 2\r\n\r\n"),
        chunked(b"2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ],
)
def test_what_is_not_http_is_refused_and_hung_up_on(wire: Wire, raw: bytes) -> None:
    wire.send(raw)
    status, headers, _ = wire.response()
    assert status == 400
    assert headers["connection"] == "close"
    assert wire.ended()


def test_requests_may_come_several_at_once_byte_by_byte_and_in_chunks(wire: Wire) -> None:
    wire.send(request() + request("MakeCoffee") + request(body=b"no") + request())
    assert [wire.response()[0] for _ in range(4)] == [200, 400, 400, 200]
    for byte in request():
        wire.send(bytes([byte]))
    assert wire.response()[0] == 200
    wire.send(chunked(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"))
    assert wire.response()[0] == 200
    lives_on(wire)


def test_what_follows_a_chunked_body_is_no_signature(wire: Wire) -> None:
    unsigned = chunked(b"2\r\n{}\r\n0\r\nAuthorization: AWS4-HMAC-SHA256 x\r\n\r\n")
    wire.send(unsigned.replace(b"Authorization: AWS4-HMAC-SHA256 Credential=a\r\n", b""))
    assert wire.response()[0] == 400
    lives_on(wire)


def test_close_is_honoured_and_nothing_is_answered_after_it(wire: Wire) -> None:
    wire.send(request(more="Connection: close\r\n") + request() + b"complete nonsense\r\n\r\n")
    status, headers, _ = wire.response()
    assert (status, headers["connection"]) == (200, "close")
    assert wire.ended()


def test_a_slow_reader_gets_everything_it_asked_for(wire: Wire) -> None:
    many = 20_000
    wire.socket.settimeout(60)
    unsent = request("NoSuchOperation" + "x" * 1000) * many
    answers = 0
    wire.socket.setblocking(False)
    while unsent:  # until the endpoint stops reading, since we do not read
        try:
            sent = wire.socket.send(unsent)
        except BlockingIOError:
            break
        unsent = unsent[sent:]
    wire.socket.settimeout(60)
    complete = many - -(-len(unsent) // (len(request("NoSuchOperation" + "x" * 1000))))
    for _ in range(complete):
        answers += wire.response()[0] == 400
    assert answers == complete > 0


def test_a_long_body_is_read_to_its_end_and_refused(wire: Wire) -> None:
    wire.send(request(body=b"x" * (17 * 1024 * 1024 + 1)))
    assert wire.response()[0] == 413
    lives_on(wire)


def test_a_body_beyond_all_measure_is_not_read(endpoint: EndpointProcess) -> None:
    wire = Wire(endpoint.url)
    wire.send(HEAD.format(operation="PutItem").encode() + b"Content-Length: 99999999999\r\n\r\n")
    assert wire.response()[0] == 413
    assert wire.ended()
    wire.socket.close()


@pytest.mark.parametrize(
    "head", [b"X-Long: " + b"x" * 600_000, b"X-Short: x\r\n" * 2000], ids=["one line", "many lines"]
)
def test_a_long_head_is_refused_and_hung_up_on(wire: Wire, head: bytes) -> None:
    wire.send(b"POST / HTTP/1.1\r\n" + head[:1000])
    wire.send(head[1000:] + b"\r\n\r\n")
    assert wire.response()[0] == 431
