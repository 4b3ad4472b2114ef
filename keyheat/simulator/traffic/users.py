"""A load test as its users are: how many there are of each kind, and what their tasks send.

    Users --run--> Task, Task ... (each by its weight) --sends--> Request, Request ...

A load test is a function of the time: what its users send may change, and may follow from what was answered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

from keyheat.simulator.flow import Answer, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.costs import Sizes
from keyheat.words import Direction


def nobody(_answer: Answer) -> None:
    """What became of a request changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The requests of one kind that a task sends; fields as those of `Flow`."""

    operation: str
    direction: Direction
    keys: Masses
    units: float = 1.0
    sizes: Sizes = ()
    times: float = 1.0  # per task, in the mean: the queries of a fan-out, or less than one for a cache's
    items: int = 1
    together: bool = False
    within: bool = False  # a part of the request before it, and none of its own
    eventual: bool = False
    index: str | None = None
    index_writes: tuple[IndexFlow, ...] = ()
    table: str | None = None
    told: Callable[[Answer], None] = nobody


@dataclass(frozen=True, slots=True)
class Task:
    """What one user does at a time."""

    requests: Sequence[Request]
    weight: float = 1.0
    spared: float = 0.0
    """Requests that were due and are not sent, since a cache had the answer."""

    @property
    def due(self) -> float:
        """How many requests of the load it stands for, in the mean."""
        return fsum(request.times for request in self.requests if not request.within) + self.spared


@dataclass(frozen=True, slots=True)
class Users:
    """Users of one class. `fixed_count` of them, whatever the load; None: of the others, by their weight."""

    tasks: Sequence[Task]
    fixed_count: int | None = None
    weight: float = 1.0
    aside: Sequence[Request] = ()
    """What they send at times of their own, `times` per second: no part of the load that was asked for."""


LoadTest = Callable[[], Sequence[Users]]
"""What users send in this second; its `Setting` knows which one it is."""


def shares_of(kinds: Sequence[Users], users: int) -> list[float]:
    """The part of all users that each kind is."""
    fixed = [min(users, kind.fixed_count or 0) for kind in kinds]
    weights = fsum(kind.weight for kind in kinds if kind.fixed_count is None)
    left = max(0, users - sum(fixed))
    each = [
        left * kind.weight / weights if kind.fixed_count is None else count
        for kind, count in zip(kinds, fixed, strict=True)
    ]
    return [count / max(sum(each), 1e-9) for count in each]


def one_task(*requests: Request) -> Users:
    """Users who do one thing only."""
    return Users((Task(requests),))
