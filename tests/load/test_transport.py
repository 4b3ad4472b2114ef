"""Both transports make the same `Answer` of the same bytes, and give trouble a short stable name."""

import socket
from itertools import pairwise, repeat
from zlib import crc32

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.transport.answer import Answer, BadAnswer, NoCredentials, Reason, kind_of
from keyheat.load.transport.signed import SignedTransport, receive
from keyheat.load.transport.signer import AccessKeys
from keyheat.load.transport.target import LOCAL_KEYS, target_at
from tests.load.scripted import HANG, HANG_UP, RESET, answered, serving
from tests.make import a_transport
from tests.outside import eventually, free_port

pytestmark = pytest.mark.opens

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/t"
CAPACITY = orjson.dumps({"ConsumedCapacity": {"TableName": "t", "CapacityUnits": 2.0}})
WITH_CRC = answered("200 OK", CAPACITY, f"x-amz-crc32: {crc32(CAPACITY)}")

both = pytest.mark.parametrize("kind", ["signed", "boto3"])


def one_answer(kind: str, scripted: bytes) -> Answer:
    with serving(scripted) as server:
        transport = a_transport(kind, server.url)
        answer: Answer = transport.send("PutItem", b'{"TableName":"t","Item":{"pk":{"S":"k"}}}')
        transport.close()
    return answer


def refused(body: object) -> bytes:
    return answered("400 Bad Request", body if isinstance(body, bytes) else orjson.dumps(body))


REASON = {"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": f"{ARN}/index/by-land"}


@both
@pytest.mark.parametrize(
    ("code", "spelling"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
        ("RequestLimitExceeded", None),
    ],
)
def test_a_throttle_has_the_reasons_that_are_given_in_either_spelling(
    kind: str, code: str, spelling: str | None
) -> None:
    said = {"__type": f"com.amazonaws#{code}", "message": "m"} | ({spelling: [REASON]} if spelling else {})
    answer = one_answer(kind, refused(said))
    assert (answer.accepted, answer.throttled, answer.error_code) == (False, True, code)
    assert answer.reasons == ((Reason(REASON["reason"], REASON["resource"]),) if spelling else ())
    assert {reason.index for reason in answer.reasons} <= {"by-land"}


EXPIRED = refused({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "it has expired"})
REFUSALS = {
    "ExpiredTokenException": EXPIRED,
    "ResourceNotFoundException": refused({"__type": "ResourceNotFoundException"}),
    "HTTP400": refused({}),
    "InternalServerError": answered("500 Internal Server Error", b'{"__type":"a#InternalServerError"}'),
    "HTTP502": answered("502 Bad Gateway", b"<html><h1>Bad Gateway</h1></html>"),
    "HTTP503": answered("503 Service Unavailable", b""),
}


@both
@pytest.mark.parametrize("code", REFUSALS)
def test_refusals_have_names_and_are_no_throttles(kind: str, code: str) -> None:
    answer = one_answer(kind, REFUSALS[code])
    assert (answer.failure_name, answer.accepted, answer.throttled) == (code, False, False)


@both
@pytest.mark.usefixtures("some_account")
@pytest.mark.parametrize(
    ("host", "failure"), [("127.0.0.1", "connection_refused"), ("x.invalid", "name_lookup")]
)
def test_a_connection_that_is_none_has_a_name(kind: str, host: str, failure: str) -> None:
    answer = a_transport(kind, f"http://{host}:{free_port()}").send("PutItem", b"{}")
    assert (answer.status, answer.failure, answer.throttled) == (0, failure, False)


@both
@pytest.mark.parametrize("end", [HANG_UP, RESET])
def test_a_reset_connection_has_a_name_and_is_not_sent_again(kind: str, end: bytes) -> None:
    with serving(end, answered("200 OK", b"{}")) as server:
        transport = a_transport(kind, server.url)
        failed, accepted = transport.send("PutItem", b"{}"), transport.send("PutItem", b"{}")
        transport.close()
    assert (failed.failure, accepted.failure) == ("connection_reset", None)
    assert (len(server.requests), server.connections) == (2, 2)


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + f"{len(CAPACITY):x}".encode() + b"\r\n" + CAPACITY + b"\r\n0\r\n\r\n"
)  # fmt: skip
SHAPES = {
    "body apart": (WITH_CRC.replace(b"\r\n\r\n", b"\r\n\r\n|PAUSE|"), None),
    "chunked": (CHUNKED, None),
    "after an interim answer": (b"HTTP/1.1 100 Continue\r\n\r\n" + WITH_CRC, None),
    "lower-case header names": (WITH_CRC.replace(b"Content-Length", b"content-length"), None),
    "not HTTP at all": (b"hello there, this is not HTTP\r\n\r\n", "bad_http"),
    "no HTTP, and then nothing": (b"hello" + HANG_UP, "bad_http"),
    "a length that is none": (b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}" + HANG_UP, "bad_http"),
    "damaged on its way": (answered("200 OK", CAPACITY, "x-amz-crc32: 1"), "crc32_mismatch"),
    "a damaged refusal": (answered("400 Bad Request", b"{}", "x-amz-crc32: 1"), "crc32_mismatch"),
    "half an answer, and a reset": (WITH_CRC[: len(WITH_CRC) // 2] + RESET, "connection_reset"),
    "half a head": (WITH_CRC[:50] + HANG_UP, "cut_off"),
    "a head alone": (WITH_CRC[: WITH_CRC.index(b"{")] + HANG_UP, "cut_off"),
    "half the chunks": (CHUNKED[:-15] + HANG_UP, "cut_off"),
}


@both
@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_shape_an_answer_has(kind: str, shape: str) -> None:
    scripted, failure = SHAPES[shape]
    answer = one_answer(kind, scripted)
    assert (answer.failure, answer.throttled) == (failure, False)
    assert answer.content() == ({} if failure else orjson.loads(CAPACITY))


class Pieces:
    """A socket from which an answer comes in pieces, and then its end."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def recv(self, size: int) -> bytes:
        return next(self._pieces, b"")


@given(
    start=st.integers(0, len(WITH_CRC)),
    length=st.integers(0, 40),
    other=st.binary(max_size=40),
    cuts=st.lists(st.integers(1, 300), max_size=5),
)
def test_a_damaged_answer_is_read_or_is_a_failure_with_a_name(
    start: int, length: int, other: bytes, cuts: list[int]
) -> None:
    """And never another exception, which would end the user's task and lose its attempt to the record."""
    data = WITH_CRC[:start] + other + WITH_CRC[start + length :]
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[begin:end] for begin, end in pairwise(places) if data[begin:end]]
    try:
        found: object = receive(Pieces(pieces)).status
    except BadAnswer as bad:
        found = str(bad)
    assert found in {"bad_http", "cut_off", "crc32_mismatch", "connection_reset", *range(1_000)}


def test_more_than_was_announced_is_no_http() -> None:
    assert one_answer("signed", WITH_CRC + b"surplus").failure == "bad_http"


def test_an_answer_that_never_ends_is_a_timeout() -> None:
    body = WITH_CRC.index(b"{")
    dribbled = [WITH_CRC[:body], *[bytes([byte]) for byte in WITH_CRC[body:]]]
    assert receive(Pieces(dribbled)).status == 200
    with pytest.raises(TimeoutError):
        receive(Pieces(dribbled), within_s=0.0)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (CHUNKED[: CHUNKED.index(b"\r\n\r\n") + 4], b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", b"x" * 65_536),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", b"x-more: of this\r\n" * 4_000),
    ],
)
def test_an_answer_without_end_is_dropped(
    start: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keyheat.load.transport.signed.MOST_BYTES", 2**20)
    with pytest.raises(BadAnswer, match="bad_http"):
        receive(Pieces([start, *repeat(piece, 40)]))


def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_used() -> None:
    with serving(WITH_CRC + HANG_UP, WITH_CRC, WITH_CRC) as server:
        transport = a_transport("signed", server.url)
        assert transport.send("PutItem", b"{}").accepted
        eventually(lambda: server.hung_up)
        assert transport.send("PutItem", b"{}").accepted
        assert transport.send("PutItem", b"{}").accepted
        transport.close()
    assert (len(server.requests), server.connections) == (3, 2)


def test_silence_is_a_timeout() -> None:
    with serving(HANG) as server:
        answer = a_transport("signed", server.url, 0.2).send("PutItem", b"{}")
    assert (answer.failure, answer.status) == ("timeout", 0)


def test_connections_are_kept_unless_the_server_closes_them() -> None:
    good, last = answered("200 OK", b"{}"), answered("200 OK", b"{}", "Connection: close")
    with serving(good, good, last, good) as server:
        transport = a_transport("signed", server.url)
        assert [transport.send("PutItem", b"{}").status for _ in range(4)] == [200] * 4
        transport.close()
    assert server.connections == 2


def test_rotated_credentials_are_seen() -> None:
    keys = iter([AccessKeys("FIRST", "s"), *[AccessKeys("SECOND", "s", "token")] * 10])
    with serving(answered("200 OK", b"{}")) as server:
        transport = SignedTransport(target_at(server.url), lambda: next(keys))
        transport.send("PutItem", b"{}")
        transport.close()
    assert b"Credential=SECOND/" in server.requests[0]
    assert b"X-Amz-Security-Token: token" in server.requests[0]


def test_expired_keys_are_asked_for_again_at_once() -> None:
    asked: list[AccessKeys] = []

    def keys() -> AccessKeys:
        asked.append(LOCAL_KEYS)
        return LOCAL_KEYS

    with serving(*[EXPIRED] * 5, *[WITH_CRC] * 3) as server:
        transport = SignedTransport(target_at(server.url), keys)
        answers = [transport.send("PutItem", b"{}") for _ in range(5)]
        assert {answer.error_code for answer in answers} == {"ExpiredTokenException"}
        assert len(asked) >= 6  # one to begin with, and one for each refused request but the last
        before = len(asked)
        assert all(transport.send("PutItem", b"{}").accepted for _ in range(3))
        transport.close()
    assert len(asked) <= before + 1 + 2  # the last one's, and a new second or two


def test_credentials_that_cannot_be_refreshed_are_a_failure_of_the_request() -> None:
    def keys() -> AccessKeys:
        nonlocal asked
        asked += 1
        if 1 < asked < 4:
            raise NoCredentials("the session has expired")
        return LOCAL_KEYS

    asked = 0
    with serving(WITH_CRC) as server:
        transport = SignedTransport(target_at(server.url), keys)
        answers = [transport.send("PutItem", b"{}") for _ in range(3)]
        transport.close()
    assert [answer.failure for answer in answers] == ["credentials", "credentials", None]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(113, "No route to host"), "connection_failed"),
        (BrokenPipeError(), "connection_reset"),
        (socket.gaierror(-2, "Name or service not known"), "name_lookup"),
        (KeyError("something else"), "KeyError"),
    ],
)
def test_kinds_of_errors(error: Exception, kind: str) -> None:
    assert kind_of(error) == kind


@both
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
@pytest.mark.parametrize(
    "body", [b"[]", b'"no"', b"null", b'{"ConsumedCapacity":[]}', b'{"__type":7}', b"[" * 9999]
)
def test_an_answer_of_another_type_is_an_answer(kind: str, status: str, body: bytes) -> None:
    answer = one_answer(kind, answered(status, body))
    assert (answer.status, answer.body, answer.failure) == (int(status[:3]), body, None)
