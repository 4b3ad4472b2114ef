"""The clock of a run: the service's by the Date of its answers, and the start of a minute."""

import ast
import json
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime, formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.options import TableError
from keyheat.load.run.load import SteadyClock
from keyheat.load.run.preflight import AFTER_S, align, measure_ahead_s, preflight
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.runs.manifest import Manifest
from tests.endpoint.clients import FakeClock
from tests.load.scripted import HANG_UP, answered, serving
from tests.make import a_plan
from tests.outside import PATIENCE_S, elsewhere, run_of

ROOT = Path(__file__).parents[2]
NOON_S = datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp()


class Service:
    """Answers after `takes_s`, dated by a clock that is `ahead_s` ahead of ours."""

    def __init__(
        self, clock: FakeClock, ahead_s: float, *, takes_s: float = 0.03, code: str | None = None
    ) -> None:
        self.clock, self.ahead_s, self.takes_s, self.code = clock, ahead_s, takes_s, code

    def describe_table(self, *, TableName: str) -> dict[str, Any]:
        self.clock.advance(self.takes_s / 2)
        there = datetime.fromtimestamp(int(self.clock() + self.ahead_s), UTC)
        self.clock.advance(self.takes_s / 2)
        metadata = {"HTTPHeaders": {"date": format_datetime(there, usegmt=True)}, "HTTPStatusCode": 200}
        if self.code:
            said: Any = {"Error": {"Code": self.code, "Message": "no"}, "ResponseMetadata": metadata}
            raise ClientError(said, "DescribeTable")
        return {"Table": {"TableName": TableName}, "ResponseMetadata": metadata}


def measured(ahead_s: float, **more: Any) -> float | None:
    clock = FakeClock(NOON_S + 0.37)
    return measure_ahead_s(Service(clock, ahead_s, **more), "orders", clock)


@pytest.mark.parametrize("ahead_s", [-140.0, -3.25, 0.0, 0.4, 2.6, 75.0])
@pytest.mark.parametrize("takes_s", [0.002, 0.4])
def test_the_clock_is_known_to_half_a_second_and_an_answer(ahead_s: float, takes_s: float) -> None:
    found = measured(ahead_s, takes_s=takes_s)
    assert found == pytest.approx(ahead_s, abs=0.5 + takes_s)
    run = {"started_at": "2026-11-20T12:00:00Z", "table": {"name": "orders"}, "clock_skew_s": found}
    assert Manifest.model_validate(run).clock_skew_s == found, "what is loaded can be read"


@pytest.mark.parametrize(
    ("ahead_s", "code", "words"),
    [
        (500.0, "InvalidSignatureException", "8 min behind the service's: set"),
        (-160.0, None, "3 min.* ahead of the service's: set"),
        (-3 * 86_400.0, "ResourceNotFoundException", "3 d.* ahead of the service's: set"),
    ],
)
def test_a_clock_with_which_no_run_can_be_made_is_said(ahead_s: float, code: str | None, words: str) -> None:
    with pytest.raises(TableError, match=words):
        measured(ahead_s, code=code)


def test_a_refusal_for_another_reason_is_not_the_clocks_fault() -> None:
    assert measured(0.5, code="InvalidSignatureException") == pytest.approx(0.5, abs=1)  # a wrong secret


@pytest.mark.parametrize("date", [None, "tomorrow", "Mon, 32 Nov 2026 12:00:00 GMT"])
def test_without_a_date_nothing_is_known(date: str | None) -> None:
    metadata = {"HTTPHeaders": {} if date is None else {"date": date}}
    odd = SimpleNamespace(describe_table=lambda TableName: {"ResponseMetadata": metadata})
    assert measure_ahead_s(odd, "orders", FakeClock()) is None


@pytest.mark.parametrize("ahead_s", [0.0, -75.2])
def test_a_run_keeps_the_services_time_although_somebody_sets_the_wall_clock(ahead_s: float) -> None:
    wall, monotonic = FakeClock(NOON_S), FakeClock(7.0)
    clock = SteadyClock(ahead_s, wall, monotonic)
    monotonic.advance(13.0)
    wall.advance(3_600.0)
    assert clock() == pytest.approx(NOON_S + ahead_s + 13.0, rel=0, abs=0.001)


BY_THE_WALL = {"signed.py": 1}
"""A signature has the time of day."""


def wall_clock_calls(path: Path) -> int:
    """How often a module asks the wall clock for the time."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return sum(ast.unparse(call.func) in ("time", "time.time") for call in calls)


def test_no_part_of_a_load_goes_by_the_wall_clock() -> None:
    paths = list((ROOT / "keyheat" / "load").rglob("*.py"))
    assert {path.name: number for path in paths if (number := wall_clock_calls(path))} == BY_THE_WALL


@pytest.mark.opens
@pytest.mark.usefixtures("some_account")
def test_a_run_at_a_service_of_another_day_sends_nothing() -> None:
    """Which refuses everything, and says its time."""
    said = b'{"__type": "com.amazon.coral.service#InvalidSignatureException", "message": "expired"}'
    date = f"Date: {formatdate(time.time() + 4 * 86_400, usegmt=True)}"
    refusal = answered("400 Bad Request", said, date, "Connection: close") + HANG_UP
    with serving(*[refusal] * 50) as server, pytest.raises(TableError, match="this machine's clock is 4 d"):
        preflight(a_plan(target=target_at(elsewhere(server.url))))
    assert all(b"DynamoDB_20120810.DescribeTable\r\n" in request for request in server.requests)


KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (37.0, [23, 19, 9]),
        (7.0, [53, 49, 39, 29, 19, 9]),
        (59.9, [0]),
        (0.0, [0]),  # just so: the service's clock is known to half a second
    ],
)
def test_the_load_begins_with_a_minute_of_the_service(second: float, told: list[int]) -> None:
    clock = FakeClock(NOON_S + second)
    heard: list[float] = []
    align(clock=clock, sleep=clock.advance, tell=heard.append)
    assert clock() % 60 == pytest.approx(AFTER_S)
    assert clock() - NOON_S - second <= 60 + AFTER_S
    assert [int(left_s) for left_s in heard] == told


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
