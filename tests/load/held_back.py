"""A user whose client holds everything back for a long time, on a clock of its own; prints what was noted.

`python -m tests.load.held_back closed|open ENDS_S`, in a process of its own: a user imports locust, which
replaces sockets.
"""

import json
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from locust.exception import StopUser

from keyheat.load.pacer import ClosedLoop, OpenLoop
from keyheat.load.record.record import Record
from keyheat.load.run.load import STALLED_AFTER_S, Load, stalled
from keyheat.load.schedule import Schedule, even
from keyheat.load.transport.answer import Answer
from keyheat.load.transport.retries import LOOK_AGAIN_S, RetriedCall
from keyheat.load.users.user import TableUser
from keyheat.scenario import shape

HELD_S = 10 * STALLED_AFTER_S
RATE = shape.constant(1.0, duration_s=2 * HELD_S)


class Time:
    """A clock that goes on while somebody waits for the end of the load, which comes after so long."""

    def __init__(self, ends_s: float) -> None:
        self.now_s, self.ends_s = 0.0, ends_s
        self.load: Load | None = None
        self.stalled = 0  # users that seemed not to come back, the most at one time

    def __call__(self) -> float:
        return self.now_s

    def is_set(self) -> bool:
        return self.now_s >= self.ends_s

    def wait(self, wait_s: float) -> bool:
        assert self.load is not None
        self.stalled = max(self.stalled, stalled(self.load, self.now_s))
        self.now_s += wait_s
        return self.is_set()


class Holding:
    """Retries of a client that lets nothing go for so long, and then sends everything once."""

    def __init__(self, time: Time) -> None:
        self._time = time

    def hold_s(self, call: RetriedCall) -> float:
        return LOOK_AGAIN_S if self._time.now_s < HELD_S else 0.0

    def leave(self, call: RetriedCall) -> None:
        """Nobody stands in line."""

    def delay_s(self, call: RetriedCall, answer: Answer) -> None:
        call.attempts += 1


class Failing:
    """A transport that has no answer."""

    def send(self, operation: str, body: bytes) -> Answer:
        return Answer(500, b"", 0.001)


class User(TableUser):
    """One that puts when it is told to."""


def loaded(time: Any, loop: str) -> Load:
    """A load with nothing in it but what a request takes."""
    record, nothing = Record(), SimpleNamespace()
    made: Any = (
        ClosedLoop(RATE, record, users=1, started_s=0.0, clock=time)
        if loop == "closed"
        else OpenLoop(Schedule(RATE, even), record, started_s=0.0, clock=time)
    )
    parts: Any = {
        "order": SimpleNamespace(scenario=SimpleNamespace(seed=1)), "transport": Failing(), "items": nothing,
        "keys": nothing, "record": record, "started_s": 0.0, "unit": "requests", "loop": made, "clock": time,
        "retries": Holding(time), "stopped": time,
    }  # fmt: skip
    return Load(**parts)


def put(loop: str, ends_s: float) -> dict[str, float]:
    """One request, and what its load has noted of it then."""
    time = Time(ends_s)
    load = time.load = loaded(time, loop)
    events = SimpleNamespace(request=SimpleNamespace(fire=lambda **_said: None))
    user = User(SimpleNamespace(keyheat=load, events=events))
    load.under_way[user.number] = time()  # its turn has come
    with suppress(StopUser):
        user.send("PutItem", b"{}", key="k", direction="write", units=1.0)
    health = load.record.health
    noted = {"offered": health.offered, "sent": health.sent, "held_s": health.held_s, "stalled": time.stalled}
    return noted | {name: load.record.counted.get(f"retries.{name}", 0) for name in ("requests", "waiting")}


if __name__ == "__main__":
    print(json.dumps(put(sys.argv[1], float(sys.argv[2]))))
