"""Requests as they may arrive: in pieces, several at once, broken, too long, or never ended."""

import json
import socket
from zlib import crc32

import pytest

from keyheat.endpoint.http import Connections
from keyheat.endpoint.options import ClientBounds
from keyheat.endpoint.process import EndpointProcess
from tests.endpoint.clients import ServiceApp
from tests.endpoint.peers import Peer, chunked, request

# With a Content-Length beside them, so that two readers might see two different ends of the request.
CODINGS = ["chunked", "identity", "gzip, chunked", "chunked, chunked", "xchunked", "", "\x0bchunked"]
NO_SIZES = [b"-1", b"+2", b"0x2", b"2 ", b"", b"ffffffffffffffffff", b"two", b"2_0"]


@pytest.fixture
def peer(refusing: ServiceApp) -> Peer:
    """A client of a whole endpoint."""
    return Peer(Connections(refusing.router.answer, ClientBounds()))


def test_answer_has_id_checksum_and_type(peer: Peer) -> None:
    peer.send(request() + request())
    answers = peer.answers()
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
def test_a_wrong_request_is_refused_and_the_connection_lives_on(peer: Peer, raw: bytes, kind: str) -> None:
    peer.send(raw)
    ((status, headers, body),) = peer.answers()
    assert status == 400
    assert json.loads(body)["__type"].rpartition("#")[2] == kind
    assert int(headers["x-amz-crc32"]) == crc32(body)
    assert b"Traceback" not in body
    assert peer.ask(request()) == [200]


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
def test_what_is_not_http_is_refused_and_hung_up_on(peer: Peer, raw: bytes) -> None:
    peer.send(raw)
    ((status, headers, _body),) = peer.answers()
    assert (status, headers["connection"], peer.transport.ended) == (400, "close", True)


def test_requests_may_come_several_at_once_byte_by_byte_and_in_chunks(peer: Peer) -> None:
    several = request() + request("MakeCoffee") + request(body=b"no") + request()
    assert peer.ask(several) == [200, 400, 400, 200]
    for byte in request():
        peer.send(bytes([byte]))
    assert peer.ask(chunked(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")) == [200, 200]


def test_what_follows_a_chunked_body_is_no_signature(peer: Peer) -> None:
    unsigned = chunked(b"2\r\n{}\r\n0\r\nAuthorization: AWS4-HMAC-SHA256 x\r\n\r\n")
    assert peer.ask(unsigned.replace(b"Authorization: AWS4-HMAC-SHA256 Credential=a\r\n", b"")) == [400]
    assert peer.ask(request()) == [200]


def test_close_is_honoured_and_nothing_is_answered_after_it(peer: Peer) -> None:
    peer.send(request(more="Connection: close\r\n") + request() + b"complete nonsense\r\n\r\n")
    ((status, headers, _body),) = peer.answers()
    assert (status, headers["connection"], peer.transport.ended) == (200, "close", True)


def test_a_long_body_is_read_to_its_end_and_one_beyond_all_measure_is_not(peer: Peer) -> None:
    assert peer.ask(request(body=b"x" * (17 * 1024 * 1024 + 1))) == [413]
    assert peer.ask(request()) == [200]
    assert peer.ask(request().removesuffix(b"{}").replace(b"Length: 2", b"Length: 99999999999")) == [413]
    assert peer.transport.ended


@pytest.mark.opens
def test_a_slow_reader_gets_everything_it_asked_for(endpoint: EndpointProcess) -> None:
    each = request("NoSuchOperation" + "x" * 1000)
    host, _, port = endpoint.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.setblocking(False)
        sent = 0
        try:
            while True:  # until the endpoint stops reading, since we do not read
                sent += slow.send((each * 1_000)[sent % len(each) :])
        except BlockingIOError:
            slow.settimeout(600)
        answers, whole = b"", sent // len(each)
        while answers.count(b"HTTP/1.1 400") < whole:
            answers += slow.recv(1 << 20)
    assert whole > 0
