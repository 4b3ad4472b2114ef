"""A request that its own client holds back is not sent, and its user has not failed to come back."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keyheat.load.pacer import OpenLoop, OpenPacer
from keyheat.load.record.record import Record
from keyheat.load.run.load import STALLED_AFTER_S
from keyheat.load.schedule import Schedule, even
from keyheat.scenario import shape
from tests.outside import PATIENCE_S

ROOT = Path(__file__).parents[2]

HELD_S = 10 * STALLED_AFTER_S


def noted(loop: str, ends_s: float) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.load.held_back", loop, str(ends_s)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.opens
@pytest.mark.parametrize("loop", ["closed", "open"])
def test_it_is_sent_once_its_client_lets_it_go(loop: str) -> None:
    found = noted(loop, ends_s=2 * HELD_S)
    assert found == {
        "offered": 1.0, "sent": 1.0, "held_s": HELD_S, "stalled": 0, "requests": 1, "waiting": 0,
    }  # fmt: skip


@pytest.mark.opens
@pytest.mark.parametrize("loop", ["closed", "open"])
def test_it_was_not_sent_where_the_load_ends_before(loop: str) -> None:
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
