"""Requests that begin and do not end: what they hold is bounded, and so is their time."""

import pytest

from keyheat.endpoint.http import READ_BYTES, Connections
from keyheat.endpoint.options import ClientBounds
from tests.endpoint.peers import Peer, chunked, request

KB = 1024
BOUNDS = ClientBounds(body_bytes=16 * KB, drained_bytes=64 * KB, head_bytes=2 * KB, connections=64)


@pytest.fixture
def shared() -> Connections:
    """Connections whose every answer is the length of the request's body."""

    def answer(method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, connection: int) -> bytes:
        assert type(body) is bytes
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)

    return Connections(answer, BOUNDS)


@pytest.mark.parametrize(
    ("begun", "status"),
    [
        (b"POST / HTTP/1.1\r\nX: ", 431),
        (b"POST /", 431),
        (chunked(b"2\r\n{}\r\n0\r\nX: "), 431),
        (chunked(b"2;"), 431),
        (chunked(b"2\r\n{}\r\n0\r\n" + b"X: y\r\n"), 431),
    ],
    ids=["header", "url", "trailer", "chunk extension", "trailers"],
)
def test_what_stands_around_a_body_ends(shared: Connections, begun: bytes, status: int) -> None:
    peer = Peer(shared)
    shared.bounds = ClientBounds(head_bytes=2 * KB)
    peer.send(begun)
    line = b"X: y\r\n" * 200 if begun.endswith(b"y\r\n") else b"x" * KB
    for _ in range(2 * READ_BYTES // KB):
        if not peer.transport.ended:
            peer.send(line)
    assert peer.status == status


def test_many_short_headers_are_counted_as_what_they_take(shared: Connections) -> None:
    peer = Peer(shared)
    peer.send(b"GET / HTTP/1.1\r\n" + b"".join(b"a%d:\r\n" % number for number in range(100)) + b"\r\n")
    assert peer.status == 431


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (b"POST /", b"x"),
        (request()[:-20], b""),
        (request(body=b"x" * KB)[:-KB], b"x"),
        (chunked(b"2\r\n{}\r\n"), b"1\r\nx\r\n"),
    ],
    ids=["url", "head", "body", "chunks"],
)
def test_a_request_arrives_in_time_or_is_refused(shared: Connections, begun: bytes, more: bytes) -> None:
    """A byte a second does not help."""
    idle, slow = Peer(shared), Peer(shared)
    slow.send(begun)
    for _ in range(BOUNDS.request_s):
        shared.sweep()
        slow.send(more)
    assert slow.status is None
    shared.sweep()
    assert (slow.status, slow.transport.ended) == (408, True)
    assert idle.status is None
    for _ in range(BOUNDS.linger_s + 1):
        slow.send(b"x" * KB)
        shared.sweep()
    assert slow.transport.aborted
    assert not idle.transport.aborted


def test_who_is_not_read_from_is_not_late(shared: Connections) -> None:
    peer = Peer(shared)
    peer.connection.pause_writing()
    peer.send(request() + request()[:-1])
    for _ in range(BOUNDS.request_s + 1):
        shared.sweep()
    peer.connection.resume_writing()
    shared.sweep()
    assert peer.status == 200
    peer.send(b"}")
    assert peer.transport.written.count(b"200 OK") == 2


def test_connections_are_counted_and_silent_ones_closed(shared: Connections) -> None:
    peers = [Peer(shared) for _ in range(BOUNDS.connections)]
    assert Peer(shared).status == 503
    for _ in range(BOUNDS.idle_s):
        shared.sweep()
    assert not any(peer.transport.aborted for peer in peers)
    shared.sweep()
    assert all(peer.transport.aborted for peer in peers)
    for peer in peers:
        peer.connection.connection_lost(None)
    later = Peer(shared)
    later.send(request())
    assert later.status == 200
