"""Both transports make the same `Answer` of the same bytes, and give trouble a short stable name."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from zlib import crc32

import orjson
import pytest

from generator.transport.answer import Answer, Reason, Transport
from generator.transport.boto import Boto3Transport
from generator.transport.signed import SignedTransport
from generator.transport.signer import Keys
from generator.transport.target import LOCAL_KEYS, target_at

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/t"
CAPACITY = orjson.dumps({"ConsumedCapacity": {"TableName": "t", "CapacityUnits": 2.0}})
HANG, HANG_UP = b"hang", b"hang up"


def throttle(code: str, spelling: str, *reasons: dict[str, str]) -> bytes:
    return orjson.dumps({"__type": f"com.amazonaws#{code}", "message": "m", spelling: list(reasons)})


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

    def __init__(self, script: list[bytes]) -> None:
        self._script = iter(script)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.connections = 0
        self._current: socket.socket | None = None
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
            self._current = connection
            with connection, suppress(OSError):
                self._answer_all(connection)

    def _answer_all(self, connection: socket.socket) -> None:
        while request := self._request(connection):
            self.requests.append(request)
            scripted = next(self._script)
            if scripted == HANG_UP:
                return
            if scripted == HANG:
                self._ended.wait(10)
                return
            for piece in scripted.split(b"|PAUSE|"):
                connection.sendall(piece)

    def _request(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65_536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        while len(body) < length:
            body += connection.recv(65_536)
        return head + b"\r\n\r\n" + body

    def stop(self) -> None:
        self._ended.set()
        if self._current is not None:
            with suppress(OSError):
                self._current.shutdown(socket.SHUT_RDWR)
        with socket.create_connection(self._listener.getsockname()):
            pass  # wakes the thread
        self._thread.join()
        self._listener.close()


@contextmanager
def serving(*script: bytes) -> Iterator[ScriptedServer]:
    server = ScriptedServer(list(script))
    try:
        yield server
    finally:
        server.stop()


def signed(url: str, timeout_s: float = 5.0) -> Transport:
    return SignedTransport(target_at(url), lambda: LOCAL_KEYS, timeout_s=timeout_s)


def boto3(url: str) -> Transport:
    return Boto3Transport(target_at(url, region="us-east-1"), connections=1)


def one_answer(make: Callable[[str], Transport], scripted: bytes) -> Answer:
    with serving(scripted) as server:
        transport = make(server.url)
        answer = transport.send("PutItem", b'{"TableName":"t","Item":{"pk":{"S":"k"}}}')
        transport.close()
    return answer


both = pytest.mark.parametrize("make", [signed, boto3])


@both
def test_an_accepted_request_carries_its_capacity(make: Callable[[str], Transport]) -> None:
    answer = one_answer(make, answered("200 OK", CAPACITY, f"x-amz-crc32: {crc32(CAPACITY)}"))
    assert (answer.accepted, answer.throttled, answer.error_code, answer.reasons) == (True, False, None, ())
    assert answer.content()["ConsumedCapacity"]["CapacityUnits"] == 2.0
    assert answer.request_id == "ABC123"
    assert 0 < answer.service_s < 5


@both
@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
)
@pytest.mark.parametrize("spelling", ["ThrottlingReasons", "throttlingReasons"])
def test_reasons_are_read_in_either_spelling(
    make: Callable[[str], Transport], code: str, spelling: str
) -> None:
    reason = {"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": f"{ARN}/index/by-land"}
    answer = one_answer(make, answered("400 Bad Request", throttle(code, spelling, reason)))
    assert (answer.accepted, answer.throttled, answer.error_code) == (False, True, code)
    assert answer.reasons == (Reason(reason["reason"], reason["resource"]),)
    assert answer.reasons[0].index == "by-land"


@both
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"__type":"com.amazon.coral.validate#ValidationException","message":"m"}', "ValidationException"),
        (b'{"__type":"ResourceNotFoundException"}', "ResourceNotFoundException"),
        (b"{}", "HTTP400"),
    ],
)
def test_other_errors_are_not_throttles(make: Callable[[str], Transport], body: bytes, code: str) -> None:
    answer = one_answer(make, answered("400 Bad Request", body))
    assert (answer.accepted, answer.throttled, answer.error_code, answer.reasons) == (False, False, code, ())


@both
def test_a_throttle_without_reasons_is_a_throttle(make: Callable[[str], Transport]) -> None:
    body = b'{"__type":"com.amazon.coral.availability#ThrottlingException","message":"m"}'
    answer = one_answer(make, answered("400 Bad Request", body))
    assert (answer.throttled, answer.reasons) == (True, ())


@both
def test_a_refused_connection_has_a_name(make: Callable[[str], Transport]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    answer = make(f"http://127.0.0.1:{port}").send("PutItem", b"{}")
    assert (answer.status, answer.failure, answer.throttled) == (0, "connection_refused", False)


@both
def test_a_reset_connection_has_a_name_and_is_not_sent_again(make: Callable[[str], Transport]) -> None:
    with serving(HANG_UP, answered("200 OK", b"{}")) as server:
        transport = make(server.url)
        failed, accepted = transport.send("PutItem", b"{}"), transport.send("PutItem", b"{}")
        transport.close()
    assert (failed.failure, accepted.failure) == ("connection_reset", None)
    assert (len(server.requests), server.connections) == (2, 2)


USUAL = answered("200 OK", CAPACITY)
SHAPES = {
    "in two pieces": (USUAL[:60] + b"|PAUSE|" + USUAL[60:], None),
    "body apart": (USUAL.replace(b"\r\n\r\n", b"\r\n\r\n|PAUSE|"), None),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + f"{len(CAPACITY):x}".encode() + b"\r\n" + CAPACITY + b"\r\n0\r\n\r\n",
        None,
    ),
    "after an interim answer": (b"HTTP/1.1 100 Continue\r\n\r\n" + USUAL, None),
    "lower-case header names": (USUAL.replace(b"Content-Length", b"content-length"), None),
    "not HTTP at all": (b"hello there, this is not HTTP\r\n\r\n", "bad_http"),
    "more than was announced": (USUAL + b"surplus", "bad_http"),
    "damaged on its way": (answered("200 OK", CAPACITY, "x-amz-crc32: 1"), "crc32_mismatch"),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_shape_an_answer_has(shape: str) -> None:
    scripted, failure = SHAPES[shape]
    answer = one_answer(signed, scripted)
    assert answer.failure == failure
    assert answer.content() == ({} if failure else orjson.loads(CAPACITY))


def test_silence_is_a_timeout() -> None:
    with serving(HANG) as server:
        answer = signed(server.url, timeout_s=0.2).send("PutItem", b"{}")
    assert (answer.failure, answer.status) == ("timeout", 0)


def test_connections_are_kept_unless_the_server_closes_them() -> None:
    last = answered("200 OK", b"{}", "Connection: close")
    with serving(
        answered("200 OK", b"{}"), answered("200 OK", b"{}"), last, answered("200 OK", b"{}")
    ) as server:
        transport = signed(server.url)
        assert [transport.send("PutItem", b"{}").status for _ in range(4)] == [200] * 4
        transport.close()
    assert server.connections == 2


def test_rotated_credentials_are_seen() -> None:
    keys = iter([Keys("FIRST", "s"), *[Keys("SECOND", "s", "token")] * 10])
    with serving(answered("200 OK", b"{}")) as server:
        transport = SignedTransport(target_at(server.url), lambda: next(keys))
        transport.send("PutItem", b"{}")
        transport.close()
    assert b"Credential=SECOND/" in server.requests[0]
    assert b"X-Amz-Security-Token: token" in server.requests[0]
