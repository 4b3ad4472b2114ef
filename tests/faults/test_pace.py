"""An endpoint that is down: users whose requests fail at once, or hang, and what is asked for all the same.

On a clock of the test's own. `took_s` is how long a request takes to fail: nothing, or its whole time limit.
"""

from heapq import heappop, heappush
from random import Random

import pytest

from keyheat.load.pacer import ClosedLoop, ClosedPacer
from keyheat.load.record.record import Record
from keyheat.scenario import shape
from tests.endpoint.clients import FakeClock

PER_S, SECONDS, USERS = 50.0, 60.0, 10
RATE = shape.constant(PER_S, duration_s=2 * SECONDS)


def closed_loop(took_s: float) -> tuple[list[float], Record]:
    """When requests were sent within the time, by users that all fail."""
    clock, record, sent = FakeClock(0.0), Record(), list[float]()
    loop = ClosedLoop(RATE, record, users=USERS, started_s=0.0, clock=clock)
    paces = [ClosedPacer(loop, Random(number)) for number in range(USERS)]
    due = [(pace.wait(), number) for number, pace in enumerate(paces)]
    due.sort()
    while due:
        clock.now_s, number = heappop(due)
        if clock.now_s >= SECONDS:
            continue
        sent.append(clock.now_s)
        paces[number].begin(clock.now_s, 1.0)
        ended_s = clock.now_s = clock.now_s + took_s
        heappush(due, (ended_s + paces[number].wait(), number))
    clock.now_s = SECONDS  # the load is over; who waits for an answer has not come back
    loop.close()
    return sent, record


@pytest.mark.parametrize("took_s", [0.0, 0.001, 10.0])
def test_users_that_fail_at_once_keep_their_pace(took_s: float) -> None:
    sent, record = closed_loop(took_s)
    possible = min(PER_S * SECONDS, USERS * SECONDS / max(took_s, 1e-9))
    assert len(sent) <= possible + USERS
    assert len(sent) >= 0.9 * possible - USERS
    busiest = max(sum(start <= at_s < start + 1 for at_s in sent) for start in range(int(SECONDS)))
    assert busiest <= PER_S + USERS
    assert record.health.demand == pytest.approx(PER_S * SECONDS)  # whatever became of it
    assert record.health.offered == len(sent)
    assert (record.health.missed > 0) == (took_s > USERS / PER_S)  # what could not be sent is counted
