"""A client of botocore, and the published policy decide alike, attempt by attempt."""

import json
import random
from contextlib import AbstractContextManager, suppress
from heapq import heappop, heappush
from typing import Any
from zlib import crc32

import botocore.endpoint
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.transport.answer import Answer
from keyheat.load.transport.retries import LOOK_AGAIN_S, PolicyRetries, RetriedCall, given_up
from keyheat.model.retries import policy_of
from tests.load.scripted import HANG_UP, ScriptedServer, serving

pytestmark = pytest.mark.opens

KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
Reply = tuple[int, bytes, dict[str, str]]


def error(code: str, status: int = 400, *, retry_after_ms: int | None = None) -> Reply:
    body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}).encode()
    return status, body, {} if retry_after_ms is None else {"x-amz-retry-after": str(retry_after_ms)}


GOOD: Reply = (200, b"{}", {})
CUT: Reply = (200, b'{"Consu', {"x-amz-crc32": str(crc32(b"{}")), "content-length": "60"})
GONE: Reply = (0, b"", {})
SILENT: Reply = (200, b"{}", {"silent": "yes"})  # a client that heeds this head gets no answer in time
DAMAGED: Reply = (200, b"{}", {"x-amz-crc32": str(crc32(b"{}") ^ 1)})
NO_ANSWERS = (
    (DAMAGED, "crc32_mismatch"), (CUT, "cut_off"), (GONE, "connection_reset"), (SILENT, "timeout")
)  # fmt: skip
THROTTLED = error("ProvisionedThroughputExceededException")
SCRIPTS: dict[str, list[Reply]] = {
    "accepted": [GOOD],
    "throttled once": [THROTTLED, GOOD],
    "throttled for good": [THROTTLED],
    "ThrottlingException": [error("ThrottlingException"), GOOD],
    "RequestLimitExceeded": [error("RequestLimitExceeded"), GOOD],
    "a condition that fails": [error("ConditionalCheckFailedException"), GOOD],
    "a cancelled transaction": [error("TransactionCanceledException"), GOOD],
    "a transaction in progress": [error("TransactionInProgressException"), GOOD],
    "invalid": [error("ValidationException"), GOOD],
    "internal error": [error("InternalServerError", 500), error("ServiceUnavailable", 503), GOOD],
    "a wait that the server asks for": [error("ThrottlingException", retry_after_ms=3_000), GOOD],
    "too many requests": [(429, b"{}", {}), GOOD],
    "bad gateway": [(502, b"<html></html>", {}), (504, b"", {}), (503, b"", {}), GOOD],
    "an expired token": [error("ExpiredTokenException"), GOOD],
    "a token that nobody knows": [error("UnrecognizedClientException"), GOOD],
    "another region's signature": [error("InvalidSignatureException"), GOOD],
    "damaged": [DAMAGED, GOOD],
    "cut off": [CUT, GOOD],
    "gone": [GONE, GOOD],
    "gone for good": [GONE],
}


def raw(reply: Reply) -> bytes:
    """A reply on the wire; after one that is cut off, and one that does not come, the connection ends."""
    status, body, headers = reply
    if not status:
        return HANG_UP
    head = "".join(f"{name}: {value}\r\n" for name, value in {"content-length": len(body), **headers}.items())
    ends = HANG_UP if "content-length" in headers else b""
    return f"HTTP/1.1 {status} said\r\n{head}\r\n".encode() + body + ends


def server(script: list[Reply]) -> AbstractContextManager[ScriptedServer]:
    """An endpoint that answers from a script, and then with its last line."""
    return serving(*map(raw, [*script, *[script[-1]] * 200]))


def delays_of_botocore(url: str, calls: int, monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    """The back-offs of each of some calls of one client."""
    slept: list[float] = []
    monkeypatch.setattr(botocore.endpoint.time, "sleep", slept.append)
    client = botocore.session.get_session().create_client(
        "dynamodb", region_name="us-east-1", endpoint_url=url, config=Config(connect_timeout=600), **KEYS
    )
    found = []
    for _ in range(calls):
        with suppress(ClientError, BotoCoreError):
            client.delete_item(TableName="orders", Key={"pk": {"S": "a"}})
        found.append(slept[:])
        slept.clear()
    client.close()
    return found


def answer_of(reply: Reply) -> Answer:
    status, body, headers = reply
    for broken, failure in NO_ANSWERS:
        if reply is broken:
            return Answer(0, b"", 0.001, failure=failure)
    return Answer(status, body, 0.001, retry_after=headers.get("x-amz-retry-after"))


def published(mode: str = "standard") -> PolicyRetries:
    policy = policy_of("boto3-2026", mode=mode)  # type: ignore[arg-type]
    return PolicyRetries(policy, clock=lambda: 0.0, chance=random.random)


def delays_of_ours(retries: PolicyRetries, answers: list[Answer]) -> tuple[list[float], Answer]:
    call, delays = RetriedCall("DeleteItem"), list[float]()
    place = 0
    while (delay_s := retries.delay_s(call, answers[min(place, len(answers) - 1)])) is not None:
        delays.append(delay_s)
        place += 1
    return delays, answers[min(place, len(answers) - 1)]


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        *(("standard", name) for name in SCRIPTS),  # botocore's default; an application may say otherwise
        *(("legacy", name) for name in SCRIPTS),
    ],
)
def test_the_same_answers_are_retried_after_the_same_time(
    mode: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode != "standard":
        monkeypatch.setenv("AWS_RETRY_MODE", mode)
    script = SCRIPTS[name]
    with server(script) as endpoint:
        random.seed(5)
        theirs = delays_of_botocore(endpoint.url, 1, monkeypatch)[0]
    random.seed(5)
    ours, _ = delays_of_ours(published(mode), [answer_of(reply) for reply in script])
    assert ours == pytest.approx(theirs)
    assert len(endpoint.requests) == len(ours) + 1


BROKEN, WORSE = error("InternalServerError", 500), (502, b"", {})


def waiting(asked: str) -> Reply:
    return 500, b"", {"x-amz-retry-after": asked}


@pytest.mark.parametrize("sdk", ["go-v2", "java-v2", "js-v3", "dotnet-v4", "boto3-2026"])
@pytest.mark.parametrize(
    ("own", "calls", "pauses_s"),
    [
        ({}, [[BROKEN, BROKEN, GOOD]], [[0.025, 0.05]]),
        ({}, [[BROKEN]], [[0.025, 0.05, 0.1]]),
        ({}, [[THROTTLED]], [[1, 2, 4]]),
        ({"attempts": 8}, [[THROTTLED]], [[1, 2, 4, 8, 16, 20, 20]]),
        ({"quota_tokens": 28}, [[SILENT]], [[0.025, 0.05]]),  # it was 10 of them before 2026
        ({"quota_tokens": 20}, [[BROKEN, WORSE]], [[0.025]]),
        (
            {"quota_tokens": 30},
            [[BROKEN, WORSE, GOOD], [BROKEN, GOOD], [BROKEN]],
            [[0.025, 0.05], [0.025], [0.025]],
        ),
        ({}, [[waiting("1500"), GOOD]], [[1.5]]),
        ({}, [[waiting("10000"), GOOD]], [[5.025]]),
        ({}, [[waiting("soon"), GOOD]], [[0.025]]),
    ],
)
def test_the_shared_policy_does_as_the_sdks_test_it(
    sdk: Any, own: dict[str, Any], calls: list[list[Reply]], pauses_s: list[list[float]]
) -> None:
    """The cases by which AWS's SDKs test it, each pause drawn at its longest, for DynamoDB.

    https://github.com/aws/aws-sdk-go-v2/blob/main/aws/retry/retry2026_test.go; Java's and .NET's
    (RetryHandlerStandardMode21Tests.cs) have the same.
    """
    retries = PolicyRetries(policy_of(sdk, **own), clock=lambda: 0.0, chance=lambda: 1.0)
    found = [delays_of_ours(retries, [answer_of(reply) for reply in one])[0] for one in calls]
    assert found == [pytest.approx(pauses) for pauses in pauses_s]


def test_an_adaptive_client_holds_back_from_the_first_throttle_on_and_others_do_not() -> None:
    now_s = [1_000.0]
    policy = policy_of("boto3-2026", mode="adaptive")
    retries = PolicyRetries(policy, clients=2, clock=lambda: now_s[0], chance=lambda: 0.5)
    mine, theirs = (RetriedCall("PutItem", client=number) for number in (0, 1))
    assert retries.hold_s(mine) == 0.0
    assert retries.delay_s(mine, answer_of(THROTTLED)) == pytest.approx(0.5)
    held_s = 0.0
    while (wait_s := retries.hold_s(mine)) > 0:
        now_s[0] += wait_s
        held_s += wait_s
    assert held_s >= 1.0, "half a request a second is what is let through at first"
    assert retries.hold_s(theirs) == 0.0


def adaptive_at(now: list[float]) -> PolicyRetries:
    """One client that was throttled at a rate of 20 a second, and sends no more than 14 from then on."""
    retries = PolicyRetries(policy_of("boto3-2026", mode="adaptive"), clock=lambda: now[0])
    for _ in range(20):
        retries.delay_s(RetriedCall("PutItem"), answer_of(GOOD))
        now[0] += 0.05
    retries.delay_s(RetriedCall("PutItem"), answer_of(THROTTLED))
    return retries


def test_calls_that_are_held_back_are_sent_in_the_order_in_which_they_came_and_look_seldom() -> None:
    now = [100.0]
    retries = adaptive_at(now)
    due = [(now[0] + number * 0.001, number, RetriedCall("PutItem")) for number in range(200)]
    sent, looks = list[int](), 0
    while due:
        now[0], number, call = heappop(due)
        looks += 1
        wait_s = retries.hold_s(call)
        if wait_s:
            heappush(due, (now[0] + wait_s, number, call))
        else:
            sent.append(number)
    assert sent == sorted(sent)
    assert looks < 200 * (now[0] - 100.0) / LOOK_AGAIN_S  # and not each for every one that is sent


def test_who_leaves_the_line_is_not_waited_for() -> None:
    now = [100.0]
    retries = adaptive_at(now)
    first, gone, last = (RetriedCall("PutItem") for _ in range(3))
    waits = [retries.hold_s(call) for call in (first, gone, last)]
    assert 0 < waits[0] < waits[1] < waits[2]
    retries.leave(gone)
    retries.leave(gone)
    assert retries.hold_s(last) == pytest.approx(waits[1])
    now[0] += waits[0] + 1e-6
    assert retries.hold_s(first) == 0.0
    now[0] += waits[0]
    assert retries.hold_s(last) < waits[0]


def test_credentials_that_are_gone_are_not_retried() -> None:
    gone = Answer(0, b"", 0.001, failure="credentials")
    assert delays_of_ours(published(), [gone])[0] == []
    assert not given_up(gone)


def test_the_quota_of_a_client_is_used_up_and_comes_back_with_accepted_answers_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = [THROTTLED] * 140 + [GOOD]
    calls = 160
    with server(script) as endpoint:
        theirs = [len(delays) for delays in delays_of_botocore(endpoint.url, calls, monkeypatch)]
    retries, ours, left = published(), list[int](), [answer_of(reply) for reply in script]
    for number in range(calls):
        delays, end = delays_of_ours(retries, left)
        left = left[len(delays) + 1 :] or [answer_of(GOOD)]
        ours.append(len(delays))
        assert given_up(end) is (number < 40)
    assert ours == theirs
    assert sum(ours) == 100  # 500 tokens, of which a retry of a throttled request takes 5
