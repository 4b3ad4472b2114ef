"""A request that its own client holds back is not sent, and its user has not failed to come back."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keyheat.load.pacer import OpenLoop, OpenPacer
from keyheat.load.record.record import Record
from keyheat.load.run.load import STALLED_AFTER_S
from keyheat.load.schedule import Schedule, even
from keyheat.scenario import shape
from tests.load.forked import LocustServer
from tests.outside import PATIENCE_S

Noted = Callable[..., dict[str, float]]
HELD_S = 10 * STALLED_AFTER_S


@pytest.fixture
def noted(locust_server: LocustServer) -> Callable[..., dict[str, float]]:
    def put(loop: str, ends_s: float) -> dict[str, float]:
        arguments = [loop, str(ends_s)]
        load = locust_server.start(arguments, Path(), os.environ, module="tests.load.held_back")
        out, err = load.communicate(timeout=PATIENCE_S)
        assert load.returncode == 0, err
        found: dict[str, float] = json.loads(out)
        return found

    return put


@pytest.mark.opens
@pytest.mark.parametrize("loop", ["closed", "open"])
def test_it_is_sent_once_its_client_lets_it_go(noted: Noted, loop: str) -> None:
    found = noted(loop, ends_s=2 * HELD_S)
    assert found == {
        "offered": 1.0, "sent": 1.0, "held_s": HELD_S, "stalled": 0, "requests": 1, "waiting": 0,
    }  # fmt: skip


@pytest.mark.opens
@pytest.mark.parametrize("loop", ["closed", "open"])
def test_it_was_not_sent_where_the_load_ends_before(noted: Noted, loop: str) -> None:
    found = noted(loop, ends_s=10.0)
    assert found == {
        "offered": 1.0, "sent": 0.0, "held_s": 10.0, "stalled": 0, "requests": 0, "waiting": 1,
    }  # fmt: skip


def test_what_a_request_cost_more_was_sent_as_well() -> None:
    record, rate = Record(), shape.constant(1.0, duration_s=60.0)
    pace = OpenPacer(OpenLoop(Schedule(rate, even), record, started_s=0.0, clock=lambda: 0.0))
    pace.begin(0.0, 2.0)
    assert (record.health.offered, record.health.sent) == (2.0, 0.0)
    pace.sent(2.0)
    pace.settle(3.0)
    assert (record.health.offered, record.health.sent) == (5.0, 5.0)
