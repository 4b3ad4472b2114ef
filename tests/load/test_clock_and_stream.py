"""Around a load: the clock by the Date of answers, the start of a minute, and the shards of a stream."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime, formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.clock import AFTER_S, ClockWrong, align, measure
from keyheat.load.observation import Observation, StreamShards, service_clock
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.boto import Boto3Transport, make_client
from keyheat.load.transport.signed import SignedTransport
from keyheat.load.transport.target import credentials_for, target_at
from keyheat.runfiles import MOST_SKEW_S
from keyheat.runs.manifest import Manifest
from keyheat.runs.table_facts import table_facts
from tests.load.conftest import Loaded
from tests.load.scripted import HANG_UP, ScriptedServer, answered, serving
from tests.outside import PATIENCE_S, eventually, run_of

NOON_S = datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp()


class Clock:
    """A clock that only sleep, and answers, move."""

    def __init__(self, now_s: float = NOON_S) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Service:
    """Answers after `takes_s`, dated by a clock that is `ahead_s` ahead of ours."""

    def __init__(
        self, clock: Clock, ahead_s: float, *, takes_s: float = 0.03, code: str | None = None
    ) -> None:
        self.clock, self.ahead_s, self.takes_s, self.code = clock, ahead_s, takes_s, code

    def describe_table(self, *, TableName: str) -> dict[str, Any]:
        self.clock.sleep(self.takes_s / 2)
        there = datetime.fromtimestamp(int(self.clock() + self.ahead_s), UTC)
        self.clock.sleep(self.takes_s / 2)
        metadata = {"HTTPHeaders": {"date": format_datetime(there, usegmt=True)}, "HTTPStatusCode": 200}
        if self.code:
            said: Any = {"Error": {"Code": self.code, "Message": "no"}, "ResponseMetadata": metadata}
            raise ClientError(said, "DescribeTable")
        return {"Table": {"TableName": TableName}, "ResponseMetadata": metadata}


def measured(ahead_s: float, **more: Any) -> Any:
    clock = Clock(NOON_S + 0.37)
    return measure(Service(clock, ahead_s, **more), "orders", clock)


@pytest.mark.parametrize("ahead_s", [-420.0, -3.25, -0.1, 0.0, 0.4, 2.6, 75.0])
@pytest.mark.parametrize("takes_s", [0.002, 0.03, 0.4])
def test_the_clock_is_known_to_half_a_second_and_an_answer(ahead_s: float, takes_s: float) -> None:
    skew = measured(ahead_s, takes_s=takes_s)
    assert abs(skew.ahead_s - ahead_s) <= skew.within_s + 1e-6
    assert skew.within_s <= 0.5 + takes_s


def test_only_a_notable_difference_is_said() -> None:
    assert measured(1.5).said is None
    assert re.search(r"[34]\.\d s behind the service's", measured(3.5).said)
    assert "2 minutes ahead of the service's" in measured(-120.0).said


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [(420.0, "7 minutes behind AWS: set it"), (-900.0, "15 minutes ahead of AWS: set it")],
)
def test_a_clock_for_which_every_request_is_refused_is_said(ahead_s: float, words: str) -> None:
    with pytest.raises(ClockWrong, match=words):
        measured(ahead_s, code="InvalidSignatureException")


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [(86_500.0, "1,442 minutes behind that of"), (-3 * 86_400.0, "3.0 days ahead of that of the service")],
)
@pytest.mark.parametrize("code", [None, "ResourceNotFoundException"])
def test_a_service_whose_date_is_more_than_a_day_off_is_not_loaded(
    ahead_s: float, words: str, code: str | None
) -> None:
    """Whatever else it says: the run could not be read afterwards."""
    with pytest.raises(ClockWrong, match=words):
        measured(ahead_s, code=code)


@pytest.mark.parametrize("ahead_s", [-86_399.0, 86_399.0])
def test_what_is_loaded_can_be_read(ahead_s: float) -> None:
    found = measured(ahead_s).ahead_s
    run = {"started_at": "2026-11-20T12:00:00Z", "table": {"name": "orders"}}
    assert Manifest.model_validate({**run, "clock_skew_s": round(found, 3)}).clock_skew_s
    with pytest.raises(ValueError, match="clock_skew_s"):
        Manifest.model_validate({**run, "clock_skew_s": 1.01 * MOST_SKEW_S})


def test_a_date_that_is_none_is_no_time() -> None:
    clock = Clock()
    for date in ("tomorrow", "", "Mon, 32 Nov 2026 12:00:00 GMT"):
        metadata = {"HTTPHeaders": {"date": date}}
        odd = SimpleNamespace(describe_table=lambda TableName, said=metadata: {"ResponseMetadata": said})
        assert measure(odd, "orders", clock) is None


@contextmanager
def late(by_s: float) -> Iterator[ScriptedServer]:
    """DynamoDB for a machine whose clock is behind: it refuses everything."""
    said = b'{"__type": "com.amazon.coral.service#InvalidSignatureException", "message": "expired"}'
    date = f"Date: {formatdate(time.time() + by_s, usegmt=True)}"
    with serving(*[answered("400 Bad Request", said, date, "Connection: close") + HANG_UP] * 50) as server:
        yield server


KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}


def elsewhere(url: str) -> str:
    return url.replace("127.0.0.1", "0.0.0.0")


def test_a_run_at_a_service_of_another_day_sends_nothing(
    load_run: Loaded, scenario_file: Path, tmp_path: Path
) -> None:
    with late(4 * 86_400) as server:
        where = ("--host", elsewhere(server.url), "--yes")
        err = load_run("hotkey.py", scenario_file, *where, code=2, env=KEYS)
    assert "this machine's clock is 4.0 days behind that of the service" in err
    assert all(b"DynamoDB_20120810.DescribeTable\r\n" in request for request in server.requests)
    assert not (tmp_path / "run").exists()


@pytest.mark.opens
def test_such_a_clock_is_named_before_anything_starts_and_its_refusals_are_no_throttles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with late(420.0) as server:
        target = target_at(elsewhere(server.url))
        with pytest.raises(TableError, match="this machine's clock is 7 minutes behind AWS: set it"):
            service_clock(target, "orders", time.time)
        for transport in (
            Boto3Transport(target, connections=1),
            SignedTransport(target, credentials_for(target)),
        ):
            answer = transport.send("GetItem", b'{"TableName": "orders", "Key": {"pk": {"S": "a"}}}')
            assert (answer.error_code, answer.throttled) == ("InvalidSignatureException", False)
            transport.close()


def test_a_refusal_for_another_reason_is_not_the_clocks_fault() -> None:
    assert abs(measured(0.5, code="InvalidSignatureException").ahead_s) < 1  # a wrong secret
    assert measured(420.0, code="ResourceNotFoundException").ahead_s > 400  # it takes any time


def test_without_dates_nothing_is_known() -> None:
    clock = Clock()
    dateless = SimpleNamespace(describe_table=lambda TableName: {"ResponseMetadata": {"HTTPHeaders": {}}})
    assert measure(dateless, "orders", clock) is None

    def nobody(TableName: str) -> Any:
        raise ConnectTimeoutError(endpoint_url="https://nowhere")

    silent = SimpleNamespace(describe_table=nobody)
    assert measure(silent, "orders", clock) is None


@pytest.mark.parametrize(
    ("second", "ahead_s", "told"),
    [
        (37.0, 0.0, [23, 19, 9]),
        (37.0, 8.0, [15, 9]),  # it is 45 there
        (37.0, 30.0, [53, 49, 39, 29, 19, 9]),
        (59.9, 0.0, [0]),
        (0.0, 0.0, [0]),  # just so: the service's clock is known to half a second
    ],
)
def test_the_load_begins_with_a_minute_of_the_service(second: float, ahead_s: float, told: list[int]) -> None:
    clock = Clock(NOON_S + second)
    heard: list[float] = []
    align(ahead_s, clock=clock, sleep=clock.sleep, tell=heard.append)
    assert (clock() + ahead_s) % 60 == pytest.approx(AFTER_S)
    assert clock() - NOON_S - second <= 60 + AFTER_S
    assert [int(left_s) for left_s in heard] == told


@pytest.fixture
def streamed(endpoint: EndpointProcess) -> Any:
    """An on-demand table with a stream on an endpoint of ours, and a client of it."""
    client = make_client(target_at(endpoint.url))
    client.create_table(
        TableName="orders", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )  # fmt: skip
    yield client
    client.close()


def look(endpoint: EndpointProcess, described: dict[str, Any]) -> Observation:
    facts = table_facts(described).model_dump()
    return Observation.look(target_at(endpoint.url), described, facts, 1.0, time.time)


def test_partitions_are_counted_before_and_after_and_splits_between_are_seen(
    streamed: Any, endpoint: EndpointProcess
) -> None:
    around = look(endpoint, streamed.describe_table(TableName="orders")["Table"])
    began_s = time.time()
    partitions = around.noted()["partitions"]
    assert partitions["estimated"] == 4
    assert "its warm throughput is 12,000 reads/s and 4,000 writes/s" in partitions["because"]
    assert partitions["open_shards"] == {"before": 4, "after": None}

    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 8_000}
    streamed.update_table(TableName="orders", WarmThroughput=warm)
    eventually(lambda: streamed.describe_table(TableName="orders")["Table"]["TableStatus"] == "ACTIVE")
    partitions = around.noted_at_end(began_s, time.time())["partitions"]
    assert partitions["open_shards"] == {"before": 4, "after": 8}
    assert len(partitions["splits"]) == 4
    assert all(abs(datetime.fromisoformat(at).timestamp() - time.time()) < 30 for at in partitions["splits"])
    again = look(endpoint, streamed.describe_table(TableName="orders")["Table"])
    assert again.noted_at_end(began_s, time.time())["partitions"]["splits"] == []  # those were before


def test_a_time_outside_of_the_run_is_not_believed(streamed: Any, endpoint: EndpointProcess) -> None:
    around = look(endpoint, streamed.describe_table(TableName="orders")["Table"])
    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 5_000}
    streamed.update_table(TableName="orders", WarmThroughput=warm)
    eventually(lambda: streamed.describe_table(TableName="orders")["Table"]["TableStatus"] == "ACTIVE")
    partitions = around.noted_at_end(1_000.0, 2_000.0)["partitions"]
    assert set(partitions["splits"]) == {None}


def test_without_a_stream_the_estimate_is_all() -> None:
    stream = StreamShards.look(lambda: pytest.fail("nobody is asked"), {"TableName": "orders"})
    off = {"LatestStreamArn": "arn", "StreamSpecification": {"StreamEnabled": False}}
    assert StreamShards.look(lambda: pytest.fail("nobody is asked"), off).noted() == {}
    assert (stream.noted(), stream.noted_at_end(0, 1), stream.missing) == ({}, {}, ())


def test_a_stream_that_may_not_be_described_is_said() -> None:
    def denied(**_asked: Any) -> Any:
        said: Any = {"Error": {"Code": "AccessDeniedException", "Message": "not you"}}
        raise ClientError(said, "DescribeStream")

    client = SimpleNamespace(describe_stream=denied, close=lambda: None)
    described = {"LatestStreamArn": "arn", "StreamSpecification": {"StreamEnabled": True}}
    stream = StreamShards.look(lambda: client, described)
    assert stream.noted_at_end(0, 1) == {}
    assert "not you" in stream.missing[0]


def test_an_interrupt_before_the_minute_begins_leaves_nothing_behind(
    start_locust: Callable[..., Any], scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    """On a target that is not this machine. Where a minute is about to begin, the test waits for it."""
    time.sleep(max(0.0, 15.0 - (60.0 - time.time() % 60.0)))
    child = start_locust(
        "hotkey.py", "--headless", "--only-summary", "--scenario", str(scenario_file), "--out",
        str(tmp_path / "run"), "--no-report", "--host", elsewhere(endpoint.url), "--yes", "--progress",
        env=KEYS,
    )  # fmt: skip
    phases: list[str] = []
    for line in child.stdout:
        phases.append(json.loads(line).get("phase"))
        if phases[-1] == "aligning":
            assert 0 < json.loads(line)["left_s"] <= 60 + AFTER_S
            assert run_of(tmp_path / "run")["status"] == "running"
            child.send_signal(signal.SIGINT)
            break
    _out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, phases[-1]) == (130, "aligning"), err
    assert not (tmp_path / "run").exists()
    client = make_client(target_at(endpoint.url))
    assert client.list_tables()["TableNames"] == []
    client.close()
