"""When a user sends: in a closed loop after its answer, in an open one at its own times, or as a trace says.

The open loop: requests arrive at their own times, whatever the answers do.
The users of a process take turns. Whose turn it is waits until the next arrival is due and then runs its
task, while the next user waits for the next arrival: there is one timer, it follows whatever the schedule
learns meanwhile, and the number of users is how many requests can be under way at once.
"""

from collections.abc import Callable, Iterator
from random import Random
from time import time

import gevent
from gevent.lock import BoundedSemaphore

from keyheat.load.record.record import Record
from keyheat.load.schedule import DROPPED_AFTER_S, Schedule
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.trace import TraceRow

LONGEST_WAIT_S = 3_600.0  # a user looks again after so long whether a shape asks for something
LATE_S = 0.010
"""An arrival that starts later than this after it was due is counted as late."""
LOOK_AGAIN_S = 1.0
LATE, DROPPED = "arrivals.late", "arrivals.dropped"


class Demand:
    """What is asked of one process, accounted for from when its first user is there until `close`."""

    def __init__(self, record: Record, *, started_s: float, clock: Callable[[], float]) -> None:
        self.record, self.started_s, self.clock = record, started_s, clock
        self._accounted_s: float | None = None  # None: no user has come yet
        self._closed = False

    def account(self) -> None:
        """Note how much has been asked for until now; after `close`, no more is."""
        self._account(self.clock())

    def _account(self, now_s: float) -> None:
        if self._accounted_s is None or self._closed:
            return
        health = self.record.health
        health.demand += self._demand(self._accounted_s - self.started_s, now_s - self.started_s)
        health.began_s = min(health.began_s, self._accounted_s)
        health.ended_s = max(health.ended_s, now_s)
        self._accounted_s = now_s

    def _demand(self, from_s: float, to_s: float) -> float:
        raise NotImplementedError

    def close(self) -> None:
        self.account()
        self._closed = True


class ClosedLoop(Demand):
    """The users of one process in a closed loop.

    Each is asked for its even part of the rate from when it is there until the load is over, whether it
    could send that or waits for an answer.
    """

    def __init__(
        self, shape: LoadShape, record: Record, *, users: int, started_s: float,
        clock: Callable[[], float] = time,
    ) -> None:  # fmt: skip
        super().__init__(record, started_s=started_s, clock=clock)
        self.shape, self.users = shape, users
        self._here = 0  # users that there are by now

    def join(self) -> None:
        if self._accounted_s is None:
            self._accounted_s = self.clock()
        self.account()
        self._here += 1

    def total_demand(self, now_s: float) -> float:
        """Return how much the load has asked of the users of all processes by then."""
        return self.shape.total(now_s - self.started_s)

    def _demand(self, from_s: float, to_s: float) -> float:
        return (self.shape.total(to_s) - self.shape.total(from_s)) * self._here / self.users


class ClosedPacer:
    """The pace of one user: each request is due when the load has asked all of the users for one more each.

    A user that waits for an answer misses the starts that pass meanwhile; they are counted and not made up.
    Locust asks for `wait` between two tasks; each request begins, goes out, and is settled.
    """

    row: TraceRow | None = None  # as no trace is sent

    def __init__(self, loop: ClosedLoop, rng: Random) -> None:
        self._loop = loop
        demand = loop.total_demand(loop.clock())
        self._due = demand + rng.random() * loop.users  # users do not send in step
        self._due_s: float | None = None  # when that is, where it has been worked out
        self._joined = False

    def wait(self) -> float:
        """Seconds until the next request is due."""
        if not self._joined:  # here, for there are users that go by times of their own and never ask
            self._loop.join()
            self._joined = True
        now_s = self._loop.clock()
        behind = self._loop.total_demand(now_s) - self._due
        if behind > self._loop.users:
            missed = int(behind // self._loop.users)
            self._loop.record.health.missed += missed
            self._due += missed * self._loop.users
        self._due_s = self._when_due_s()
        wait_s = self._due_s - now_s
        return 0.0 if wait_s <= 0 else min(wait_s, LONGEST_WAIT_S)

    def begin(self, now_s: float, cost: float) -> float:
        """A request is begun now that is taken to cost so much; returns its intended start.

        The next one is due when each user has been asked for one more.
        """
        intended_s, self._due_s = self._due_s, None
        if intended_s is None:
            intended_s = self._when_due_s()
        self._due += self._loop.users
        self._loop.record.health.offered += 1
        return intended_s if intended_s < now_s else now_s

    def sent(self, cost: float) -> None:
        """It goes out; until then its client may hold it back. A closed loop counts requests."""
        self._loop.record.health.sent += 1

    def settle(self, difference: float) -> None:
        """A closed loop is steered by requests, whatever they cost."""

    def _when_due_s(self) -> float:
        return self._loop.started_s + self._loop.shape.at(self._due)


class OwnPace:
    """The pace of a user whose requests are no part of the load, such as reports. See `ClosedPacer`."""

    row: TraceRow | None = None

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s

    def wait(self) -> float:
        """Seconds between two tasks."""
        return self._every_s

    def begin(self, now_s: float, cost: float) -> float:
        """A request is due when it is sent."""
        return now_s

    def sent(self, cost: float) -> None:
        """The load did not ask for it."""

    settle = sent


class OpenLoop(Demand):
    """The arrivals of one process during one run."""

    def __init__(
        self, schedule: "Schedule | TraceSchedule", record: Record, *, started_s: float,
        clock: Callable[[], float] = time, sleep: Callable[[float], object] = gevent.sleep,
    ) -> None:  # fmt: skip
        super().__init__(record, started_s=started_s, clock=clock)
        self.schedule = schedule
        self._sleep = sleep
        self._turn = BoundedSemaphore(1)
        self._waiting = 0

    def next(self) -> tuple[float, float]:
        """Wait for the next arrival; returns its intended start, and what it is taken to cost."""
        while not self.schedule.has_share:  # a worker that joined a run whose parts were given away
            self._sleep(LOOK_AGAIN_S)
        if self._accounted_s is None:
            self._accounted_s = self.clock()
            self.schedule.begin(self._accounted_s - self.started_s)
            for name in (LATE, DROPPED):
                self.record.count(name, 0)
        no_user_was_free = self._waiting == 0
        self._waiting += 1
        try:
            with self._turn:
                self._drop(no_user_was_free)
                while (wait_s := self._due_s() - self.clock()) > 0:
                    self._sleep(min(wait_s, LOOK_AGAIN_S))
                    self._drop(no_user_was_free=False)
                intended_s = self._due_s()
                self.record.health.arrivals += 1
                return intended_s, self.schedule.take()
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """No further arrival is asked for, nor those that are due in this moment."""
        if self._accounted_s is not None and not self._closed:
            self._drop(no_user_was_free=self._waiting == 0)
            self._account(min(self.clock(), self._due_s()))
        self._closed = True

    def _demand(self, from_s: float, to_s: float) -> float:
        return self.schedule.demand(from_s, to_s)

    def _drop(self, no_user_was_free: bool) -> None:
        dropped = self.schedule.drop(self.clock() - self.started_s)
        if dropped:
            self.record.count(DROPPED, dropped)
            if no_user_was_free:
                self.record.health.no_user += dropped

    def _due_s(self) -> float:
        return self.started_s + self.schedule.due_s


class OpenPacer:
    """The pace of one user whose tasks are arrivals: it pays for what its task sends. See `ClosedPacer`."""

    def __init__(self, arrivals: OpenLoop) -> None:
        self._arrivals = arrivals
        self._intended_s: float | None = None  # of the task's first request, until it is sent
        self._begun = False  # whether there is a task
        self._paid = self._cost = 0.0
        self.row: TraceRow | None = None  # of a trace: the one that the present task is to send

    def wait(self) -> float:
        """Finish one task, and wait for the arrival that the next one is."""
        self._finish()
        self._intended_s, self._paid = self._arrivals.next()
        self.row = self._arrivals.schedule.taken  # no other greenlet has run since it was taken
        self._begun, self._cost = True, 0.0
        return 0.0

    def begin(self, now_s: float, cost: float) -> float:
        """A request is begun: the first of a task was due with it, the others when they are begun."""
        self._spend(cost)
        intended_s, self._intended_s = self._intended_s, None
        if intended_s is None:
            return now_s
        if now_s - intended_s > LATE_S:
            self._arrivals.record.count(LATE)
        return intended_s

    def sent(self, cost: float) -> None:
        """It has been spent already: of the demand, what a client holds back is taken."""
        self._arrivals.record.health.sent += cost

    def settle(self, difference: float) -> None:
        self._spend(difference)
        self.sent(difference)

    def _spend(self, cost: float) -> None:
        """Spend what was paid in advance; what goes beyond it is owed at once."""
        self._arrivals.record.health.offered += cost
        owed_before = max(0.0, self._cost - self._paid)
        self._cost += cost
        owed = max(0.0, self._cost - self._paid)
        if owed != owed_before:
            self._arrivals.schedule.settle(owed - owed_before)

    def _finish(self) -> None:
        if not self._begun:
            return
        schedule = self._arrivals.schedule
        if self._cost < self._paid:
            schedule.settle(self._cost - self._paid)
        schedule.learn(self._cost)


class TraceSchedule:
    """The rows of one process, instead of a `Schedule`: every `workers`-th row of the trace, sent `speed`
    times as fast as it was.

    The trace starts when the first user is there. A row that could not start for a second is dropped.
    """

    def __init__(self, rows: Iterator[TraceRow], *, speed: float, worker: int = 0, workers: int = 1) -> None:
        self._rows = (row for number, row in enumerate(rows) if number % workers == worker)
        self._speed, self._offset_s = speed, 0.0
        self.has_share = worker < workers
        self._next: TraceRow | None = next(self._rows, None) if self.has_share else None
        self.taken: TraceRow | None = None  # by the arrival that began last
        self._handled = 0  # since the last reading

    def begin(self, at_s: float) -> None:
        self._offset_s = at_s

    @property
    def due_s(self) -> float:
        """When the next row is due, from the start of the load; infinity after the last one."""
        return float("inf") if self._next is None else self._offset_s + self._next.at_s / self._speed

    def drop(self, now_s: float) -> int:
        """Skip the rows that have been due for too long; how many they are."""
        dropped = 0
        while self.due_s < now_s - DROPPED_AFTER_S:
            dropped += 1
            self._advance()
        return dropped

    def take(self) -> float:
        """Start the row that is due: one request."""
        self.taken = self._next
        self._advance()
        return 1.0

    def settle(self, difference: float) -> None:
        """Rows are due at their times, whatever they cost."""

    def learn(self, cost: float) -> None:
        """A trace has nothing to learn."""

    def demand(self, from_s: float, to_s: float) -> float:
        """Return how many rows have come up since this was asked last."""
        handled, self._handled = self._handled, 0
        return float(handled)

    def _advance(self) -> None:
        self._handled += 1
        self._next = next(self._rows, None)
