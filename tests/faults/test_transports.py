"""The same fault has the same name in both transports, and the proxy knows what became of every request."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.transport.answer import Transport
from keyheat.load.transport.boto import Boto3Transport, make_client
from keyheat.load.transport.signed import SignedTransport
from keyheat.load.transport.target import LOCAL_KEYS, target_at
from keyheat.load.users.outcomes import failure_of
from tests.faults.kinds import FAULTS, Fault
from tests.faults.process import FaultProxy

TIMEOUT_S = 10.0  # silence lasts so long; on a busy machine nothing else does
SENT = 3
PUT = b'{"TableName":"faulty","Item":{"pk":{"S":"k"}},"ReturnConsumedCapacity":"TOTAL"}'
Make = Callable[[str], Transport]


def signed(url: str) -> Transport:
    return SignedTransport(target_at(url), lambda: LOCAL_KEYS, timeout_s=TIMEOUT_S)


def boto3(url: str) -> Transport:
    return Boto3Transport(target_at(url, region="us-east-1"), connections=1, timeout_s=TIMEOUT_S)


both = pytest.mark.parametrize("make", [signed, boto3])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EndpointProcess]:
    with EndpointProcess.start(scale=1_000) as process:
        client = make_client(target_at(process.url))
        client.create_table(
            TableName="faulty",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.close()
        yield process


@pytest.fixture(scope="module")
def proxy(endpoint: EndpointProcess) -> Iterator[FaultProxy]:
    with FaultProxy.start(endpoint.url) as process:
        yield process


@pytest.fixture(scope="module", params=[signed, boto3])
def transport(request: pytest.FixtureRequest, proxy: FaultProxy) -> Iterator[Transport]:
    """One of each kind for all tests: making an SDK's client takes longer than a test."""
    made: Transport = request.param(proxy.url)
    yield made
    made.close()


def sent(transport: Transport, times: int = SENT) -> Counter[str | None]:
    """What so many requests came to: None is an accepted one."""
    answers = [transport.send("PutItem", PUT) for _ in range(times)]
    return Counter(None if answer.accepted else failure_of(answer) for answer in answers)


def since(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in before if isinstance(before[name], int)}


OF_REQUESTS = {name: fault for name, fault in FAULTS.items() if fault.where != "connection"}


@pytest.mark.parametrize("name", OF_REQUESTS)
def test_a_fault_of_a_request(proxy: FaultProxy, transport: Transport, name: str) -> None:
    fault: Fault = FAULTS[name]
    before = proxy.counts()
    proxy.turn_on(name)
    found = sent(transport, 1 if name == "silence" else SENT)
    proxy.turn_off()
    assert sent(transport, 1) == {None: 1}  # it goes on as if nothing had been
    times, lost = found.total(), 0
    if name == "close_after":  # a request that is faster than the end of the connection is lost with it
        lost = found.pop("connection_reset", 0)
    assert found == {fault.seen_as: times - lost}
    forwarded = 1 if fault.where == "before" else times + 1 - lost
    assert since(before, proxy.counts()) | {"connections": 0} == {
        "connections": 0, "seen": times + 1, "forwarded": forwarded, "lost": lost, "answered": forwarded,
        "unanswered": 0,
    }  # fmt: skip


def test_a_connection_that_was_closed_while_it_was_idle_is_no_failure(
    proxy: FaultProxy, transport: Transport
) -> None:
    transport.close()  # and with that the connection of the last test
    found, before = Counter[str | None](), proxy.counts()
    for _ in range(SENT):
        found += sent(transport, 1)
        proxy.turn_on("close_idle")
    assert found == {None: SENT}
    assert since(before, proxy.counts()) == {
        "connections": SENT, "seen": SENT, "forwarded": SENT, "lost": 0, "answered": SENT, "unanswered": 0
    }  # fmt: skip


@pytest.mark.parametrize("how", ["refuse", "restart"])
def test_nobody_listens_for_a_while(
    proxy: FaultProxy, endpoint: EndpointProcess, transport: Transport, how: str
) -> None:
    before = proxy.counts()
    found = sent(transport, 1)
    proxy.turn_on(how)
    found += sent(transport)
    proxy.come_back(endpoint.url)
    found += sent(transport, 1)
    assert found == {None: 2, "connection_refused": SENT}
    assert since(before, proxy.counts())["seen"] == 2


@both
def test_a_host_without_an_address(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert sent(make("http://nothing.invalid:8000"), 1) == {"name_lookup": 1}


@pytest.mark.opens
@both
def test_the_endpoint_dies_while_it_answers(make: Make) -> None:
    with EndpointProcess.start() as mortal, FaultProxy.start(mortal.url) as proxy:
        transport = make(proxy.url)
        assert sent(transport, 1) == {"ResourceNotFoundException": 1}
        mortal.stop()
        assert sent(transport, 2) == {"connection_reset": 2}
        assert proxy.counts()["unanswered"] == 2
        transport.close()


def test_expired_keys_are_asked_for_again_at_once(proxy: FaultProxy) -> None:
    asked = 0

    def keys() -> object:
        nonlocal asked
        asked += 1
        return LOCAL_KEYS

    proxy.turn_on("expired_token")
    transport = SignedTransport(target_at(proxy.url), keys)  # type: ignore[arg-type]
    sent(transport, 5)
    proxy.turn_off()
    before = asked
    assert before >= 6  # one to begin with, and one for each refused request but the last
    sent(transport, 3)
    transport.close()
    assert asked <= before + 1 + 2  # the last one's, and a new second or two
