"""When the arrivals of an open loop are due: one budget, spent in the time in which the shape earns it.

The shape says how much has been asked for by each moment, in requests or in capacity units. An arrival is due
when the budget for it has been earned, so gaps are drawn in the budget and not in seconds: even ones of one
arrival's mean cost, or exponential ones, which makes arrivals a Poisson process whatever the shape.

What an arrival turns out to cost is settled afterwards. Dearer than thought: the next one is due later, at
once. Cheaper: the next gaps are shorter, each by half at most, so that nothing is ever due in the past. What
is spent is therefore what was asked for, without a controller that has to be tuned.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from random import Random
from typing import ClassVar

from keyheat.scenario.shape import LoadShape

DROPPED_AFTER_S = 1.0
"""Arrivals that could not start for so long are dropped: sent later, all at once, they are another load."""
HELD_TO = 500
"""So many random arrivals take the time that they take in the mean."""
LEARNING = 0.05
"""Weight of the newest arrival in the mean cost of one."""
LEAST_COST = 0.05
"""Arrivals that cost next to nothing do not come more than twenty times as often as the target's number."""


def even() -> float:
    return 1.0


def exponential(rng: Random) -> Callable[[], float]:
    """Gaps of a Poisson process, of mean 1: over each `HELD_TO` arrivals it is held to that.

    Exponential gaps scaled to a given sum are those of a Poisson process of which it is known how many
    arrivals came by then. So they come in clusters and pauses, and a minute still has what was asked for.
    """
    waiting: list[float] = []

    def gap() -> float:
        if not waiting:
            drawn = [rng.expovariate(1.0) for _ in range(HELD_TO)]
            scale = HELD_TO / sum(drawn)
            waiting.extend(each * scale for each in drawn)
        return waiting.pop()

    return gap


@dataclass(slots=True)
class Schedule:
    """The arrivals of one process, which sends an equal share of the whole load."""

    taken: ClassVar[None] = None  # no row of a trace
    shape: LoadShape
    gap: Callable[[], float]
    worker: int = 0  # its number among the `workers`
    workers: int = 1
    mean_cost: float = 1.0  # of one arrival, by all of its requests
    _due: float = field(default=0.0, init=False)  # what the whole load has been asked for by the next arrival
    _credit: float = field(default=0.0, init=False)  # what arrivals cost less than they were thought to

    def begin(self, at_s: float) -> None:
        """The load begins. Processes with even gaps take turns; the first arrival is one gap away."""
        first = self.gap() * self.mean_cost * self.workers
        self._due = self.shape.total(at_s) + first * (self.worker + 1) / self.workers

    @property
    def has_share(self) -> bool:
        return self.worker < self.workers

    @property
    def due_s(self) -> float:
        """When the next arrival is due, from the start of the load; infinity where no more is asked for."""
        return self.shape.at(self._due)

    def drop(self, now_s: float) -> int:
        """Skip the arrivals that have been due for too long; how many they are."""
        behind = self.shape.total(now_s - DROPPED_AFTER_S) - self._due
        each = self.mean_cost * self.workers
        dropped = max(0, ceil(behind / each))
        self._due += dropped * each
        return dropped

    def take(self) -> float:
        """Start the arrival that is due; gives the cost that it was taken to have."""
        gap = self.gap() * self.mean_cost
        spent = min(self._credit, gap / 2)
        self._credit -= spent
        self._due += (gap - spent) * self.workers
        return self.mean_cost

    def settle(self, difference: float) -> None:
        """An arrival costs so much more, or less, than it was taken to."""
        self._credit -= difference
        if self._credit < 0:
            self._due -= self._credit * self.workers
            self._credit = 0.0

    def learn(self, cost: float) -> None:
        """An arrival is over, and cost so much in all."""
        self.mean_cost = max(LEAST_COST, self.mean_cost + LEARNING * (cost - self.mean_cost))

    def demand(self, from_s: float, to_s: float) -> float:
        return (self.shape.total(to_s) - self.shape.total(from_s)) / self.workers
