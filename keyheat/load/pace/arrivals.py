"""The open loop: requests arrive at their own times, whatever the answers do.

The users of a process take turns. Whose turn it is waits until the next arrival is due and then runs its
task, while the next user waits for the next arrival: there is one timer, it follows whatever the schedule
learns meanwhile, and the number of users is how many requests can be under way at once.
"""

from collections.abc import Callable
from time import time

import gevent
from gevent.lock import BoundedSemaphore

from keyheat.load.pace.pace import Timetable
from keyheat.load.record.record import Record

LATE_S = 0.010
"""An arrival that starts later than this after it was due is counted as late."""
LOOK_AGAIN_S = 1.0

LATE, DROPPED = "arrivals.late", "arrivals.dropped"


class Arrivals:
    """The arrivals of one process during one run."""

    def __init__(
        self,
        schedule: Timetable,
        record: Record,
        *,
        started_s: float,
        clock: Callable[[], float] = time,
        sleep: Callable[[float], object] = gevent.sleep,
    ) -> None:
        self.schedule, self.record = schedule, record
        self._started_s, self._clock, self._sleep = started_s, clock, sleep
        self._turn = BoundedSemaphore(1)
        self._waiting = 0
        self._accounted_s: float | None = None  # None: no user has come yet
        self._closed = False

    def next(self) -> tuple[float, float]:
        """Wait for the next arrival; gives its intended start, and what it is taken to cost."""
        while not self.schedule.has_share:  # a worker that joined a run whose parts were given away
            self._sleep(LOOK_AGAIN_S)
        if self._accounted_s is None:
            self._begin()
        nobody_was_free = self._waiting == 0
        self._waiting += 1
        try:
            with self._turn:
                while (wait_s := self._wait_s(nobody_was_free)) > 0:
                    nobody_was_free = False
                    self._sleep(min(wait_s, LOOK_AGAIN_S))
                intended_s = self._due_s()
                return intended_s, self.schedule.take()
        finally:
            self._waiting -= 1

    def account(self) -> None:
        """Note how much has been asked for until now; after `close`, no more is."""
        if self._accounted_s is not None and not self._closed:
            self._account(self._accounted_s, self._clock())

    def _account(self, accounted_s: float, now_s: float) -> None:
        health = self.record.health
        health.asked += self.schedule.asked(accounted_s - self._started_s, now_s - self._started_s)
        health.began_s = min(health.began_s, accounted_s)
        health.ended_s = max(health.ended_s, now_s)
        self._accounted_s = now_s

    def close(self) -> None:
        """No further arrival is asked for, nor those that are due in this moment."""
        if self._accounted_s is not None and not self._closed:
            self._drop(nobody_was_free=self._waiting == 0)
            self._account(self._accounted_s, min(self._clock(), self._due_s()))
        self._closed = True

    def _begin(self) -> None:
        self._accounted_s = self._clock()
        self.schedule.begin(self._accounted_s - self._started_s)
        for name in (LATE, DROPPED):
            self.record.count(name, 0)

    def _wait_s(self, nobody_was_free: bool) -> float:
        self._drop(nobody_was_free)
        return self._due_s() - self._clock()

    def _drop(self, nobody_was_free: bool) -> None:
        dropped = self.schedule.drop(self._clock() - self._started_s)
        if dropped:
            self.record.count(DROPPED, dropped)
            if nobody_was_free:
                self.record.health.no_user += dropped

    def _due_s(self) -> float:
        return self._started_s + self.schedule.due_s


class OpenPace:
    """One user's part in the arrivals: it pays for what its task sends."""

    def __init__(self, arrivals: Arrivals, *, clock: Callable[[], float] = time) -> None:
        self._arrivals, self._clock = arrivals, clock
        self._intended_s: float | None = None  # of the task's first request, until it is sent
        self._took_s: float | None = None  # when the present task began; None: there is none
        self._paid = self._cost = 0.0

    def wait(self) -> float:
        """Finish one task, and wait for the arrival that the next one is."""
        self._finish()
        self._intended_s, self._paid = self._arrivals.next()
        self._took_s, self._cost = self._clock(), 0.0
        return 0.0

    def begin(self, now_s: float, cost: float) -> float:
        """A request is sent: the first of a task was due with it, the others when they are sent."""
        self._spend(cost)
        intended_s, self._intended_s = self._intended_s, None
        if intended_s is None:
            return now_s
        if now_s - intended_s > LATE_S:
            self._arrivals.record.count(LATE)
        return intended_s

    def settle(self, difference: float) -> None:
        """The answer says what a request cost."""
        self._spend(difference)

    def _spend(self, cost: float) -> None:
        """Spend what was paid in advance; what goes beyond it is owed at once."""
        self._arrivals.record.health.offered += cost
        owed_before = max(0.0, self._cost - self._paid)
        self._cost += cost
        owed = max(0.0, self._cost - self._paid)
        if owed != owed_before:
            self._arrivals.schedule.settle(owed - owed_before)

    def _finish(self) -> None:
        if self._took_s is None:
            return
        health, schedule = self._arrivals.record.health, self._arrivals.schedule
        health.arrivals += 1
        health.task_s += self._clock() - self._took_s
        if self._cost < self._paid:
            schedule.settle(self._cost - self._paid)
        schedule.learn(self._cost)
        self._took_s = None
