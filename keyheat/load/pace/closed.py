"""The closed loop: a user sends again after its answer has come, at the pace of its even part of the rate."""

from collections.abc import Callable
from random import Random
from time import time

from keyheat.load.pace.pace import LONGEST_WAIT_S
from keyheat.load.record.record import Record
from keyheat.scenario.shape import LoadShape


class ClosedLoop:
    """The users of one process in a closed loop, and how much of the load is asked of them.

    Each is asked for its even part of the rate from when it is there until the load is over, whether it
    could send that or waits for an answer.
    """

    def __init__(
        self,
        shape: LoadShape,
        record: Record,
        *,
        users: int,
        started_s: float,
        clock: Callable[[], float] = time,
    ) -> None:
        self.shape, self.record, self.users, self.started_s, self.clock = (
            shape, record, users, started_s, clock
        )  # fmt: skip
        self._here = 0  # users that there are by now
        self._accounted_s: float | None = None  # None: no user has come yet
        self._closed = False

    def join(self) -> None:
        """One more user is there."""
        if self._accounted_s is None:
            self._accounted_s = self.clock()
            self.record.health.began_s = min(self.record.health.began_s, self._accounted_s)
        self.account()
        self._here += 1

    def account(self) -> None:
        """Note how much has been asked for until now; after `close`, no more is."""
        if self._accounted_s is None or self._closed:
            return
        health, now_s = self.record.health, self.clock()
        health.asked += (self.asked_of_all(now_s) - self.asked_of_all(self._accounted_s)) * self._part
        health.began_s = min(health.began_s, self._accounted_s)
        health.ended_s = max(health.ended_s, now_s)
        self._accounted_s = now_s

    def close(self) -> None:
        """Nothing more is asked for."""
        self.account()
        self._closed = True

    def asked_of_all(self, now_s: float) -> float:
        """How much the load has asked of the users of all processes by then."""
        return self.shape.total(now_s - self.started_s)

    @property
    def _part(self) -> float:
        return self._here / self.users


class ClosedPace:
    """Every request of a user is due when the load has asked all of the users for one more each.

    A user that waits for an answer misses the starts that pass meanwhile; they are counted and not made up.
    """

    def __init__(self, loop: ClosedLoop, rng: Random) -> None:
        self._loop = loop
        asked = loop.asked_of_all(loop.clock())
        self._due = asked + rng.random() * loop.users  # users do not send in step
        self._due_s: float | None = None  # when that is, where it has been worked out
        self._joined = False

    def wait(self) -> float:
        """Seconds until the next request is due."""
        if not self._joined:  # here, for there are users that go by times of their own and never ask
            self._loop.join()
            self._joined = True
        now_s = self._loop.clock()
        behind = self._loop.asked_of_all(now_s) - self._due
        if behind > self._loop.users:
            missed = int(behind // self._loop.users)
            self._loop.record.health.missed += missed
            self._due += missed * self._loop.users
        self._due_s = self._when_due_s()
        wait_s = self._due_s - now_s
        return 0.0 if wait_s <= 0 else min(wait_s, LONGEST_WAIT_S)

    def begin(self, now_s: float, cost: float) -> float:
        """A request is sent; the next one is due when each user has been asked for one more."""
        intended_s, self._due_s = self._due_s, None
        if intended_s is None:
            intended_s = self._when_due_s()
        self._due += self._loop.users
        self._loop.record.health.offered += 1
        return intended_s if intended_s < now_s else now_s

    def settle(self, difference: float) -> None:
        """A closed loop is steered by requests, whatever they cost."""

    def _when_due_s(self) -> float:
        return self._loop.started_s + self._loop.shape.at(self._due)
