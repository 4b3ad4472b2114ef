"""The closed loop: a user sends again after its answer has come, at the pace of its even part of the rate."""

from collections.abc import Callable
from random import Random
from time import time

from generator.pace.pace import LONGEST_WAIT_S
from generator.record.record import Record
from tablemodel.shape import Shape


class ClosedPace:
    """Every request of a user is due when the load has asked all of the users for one more each.

    A user that waits for an answer misses the starts that pass meanwhile; they are counted and not made up.
    """

    def __init__(
        self,
        shape: Shape,
        record: Record,
        *,
        users: int,
        started_s: float,
        rng: Random,
        clock: Callable[[], float] = time,
    ) -> None:
        self._shape, self._record, self._users, self._started_s = shape, record, users, started_s
        self._clock = clock
        asked = shape.total(clock() - started_s)
        self._due = asked + rng.random() * users  # users do not send in step
        self._due_s: float | None = None  # when that is, where it has been worked out

    def wait(self) -> float:
        """Seconds until the next request is due."""
        now_s = self._clock()
        behind = self._shape.total(now_s - self._started_s) - self._due
        if behind > self._users:
            missed = int(behind // self._users)
            self._record.health.missed += missed
            self._due += missed * self._users
        self._due_s = self._started_s + self._shape.at(self._due)
        wait_s = self._due_s - now_s
        return 0.0 if wait_s <= 0 else min(wait_s, LONGEST_WAIT_S)

    def begin(self, now_s: float, cost: float) -> float:
        """A request is sent; the next one is due when each user has been asked for one more."""
        intended_s, self._due_s = self._due_s, None
        if intended_s is None:
            intended_s = self._started_s + self._shape.at(self._due)
        self._due += self._users
        self._record.health.offered += 1
        return intended_s if intended_s < now_s else now_s

    def settle(self, difference: float) -> None:
        """A closed loop is steered by requests, whatever they cost."""
