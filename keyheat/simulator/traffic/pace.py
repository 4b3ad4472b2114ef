"""A load test at its pace: users who keep to one, or arrivals that nothing slows down.

A target in requests is sent whatever the answers are. One in capacity units is steered by what comes back:
what was spent beyond a second's due is owed in the next one, and what was left is sent then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from operator import mul

from keyheat.scenario.shape import LoadShape
from keyheat.scenario.spec.load import LoadSpec
from keyheat.simulator.flow import Flow, FlowAnswer
from keyheat.simulator.traffic.setting import TrafficSetting, asked_of_users
from keyheat.simulator.traffic.users import TaskRequest, Users, UserTask, shares_of
from keyheat.words import Direction

LEAST_COST = 0.05
"""Arrivals that cost next to nothing do not come more than twenty times as often as the target's number."""


Starts = list[tuple[UserTask, float]]
"""Tasks, and how often each is begun within a second."""


@dataclass(slots=True)
class Pace:
    """How often users begin their tasks.

    In a closed loop every user sends its even part of the requests, however many of them one task makes. In
    an open one each arrival is a task of any user, equally likely.
    """

    load: LoadSpec
    _shape: LoadShape = field(init=False)
    _due: float = field(default=0.0, init=False)
    _owed: float = field(default=0.0, init=False)  # spent beyond what was asked for until now
    _accepted: float = field(default=1.0, init=False)  # share of the attempts: only those pay for indexes

    def __post_init__(self) -> None:
        self._shape = self.load.rate_shape()

    def sent(self, kinds: Sequence[Users], at_s: float) -> Starts:
        """What is begun in the second that starts `at_s` seconds into the run."""
        self._due = asked_of_users(self._shape, self.load, at_s) - self._owed
        shares = shares_of(kinds, self.load.users)
        costs = [_mean(kind, [self._cost(task) for task in kind.tasks]) for kind in kinds]
        mean = max(fsum(map(mul, shares, costs)), LEAST_COST)
        begun: Starts = []
        for kind, share, cost in zip(kinds, shares, costs, strict=True):
            each = mean if self.load.open_loop else cost
            begun += _by_weight(kind, max(0.0, self._due) * share / each if each else 0.0)
        return begun

    def answered(self, answers: Sequence[FlowAnswer]) -> None:
        """Take the units that were spent; a target in requests is met whatever became of them."""
        if self._direction is None:
            return
        mine = [answer for answer in answers if answer.flow.ours and self._counts(answer)]
        attempts = fsum(answer.attempts for answer in mine)
        accepted = fsum(answer.accepted for answer in mine)
        spent = fsum(answer.units + fsum(answer.index_units.values()) for answer in mine)
        refused = fsum((answer.attempts - answer.accepted) * answer.flow.units for answer in mine)
        self._accepted = accepted / attempts if attempts else 1.0
        self._owed = spent + refused - self._due

    @property
    def _direction(self) -> Direction | None:
        """Of the units that the target is in; None for requests."""
        if self.load.target_unit == "requests":
            return None
        return Direction.WRITE if self.load.target_unit == "WCU" else Direction.READ

    def _counts(self, answer: FlowAnswer) -> bool:
        return answer.flow.table is None and answer.flow.direction is self._direction

    def _cost(self, task: UserTask) -> float:
        """What a task is taken to spend of the target: what is refused counts without its index entries."""
        if self._direction is None:
            return task.due
        return fsum(
            one.requests
            * (one.items * one.units + self._accepted * fsum(entry.units for entry in one.index_writes))
            for one in task.requests
            if one.direction is self._direction and one.table is None
        )


def _mean(kind: Users, values: Sequence[float]) -> float:
    """Of the tasks of one kind of users, each by its weight."""
    weight = fsum(task.weight for task in kind.tasks)
    total = fsum(task.weight * value for task, value in zip(kind.tasks, values, strict=True))
    return total / weight if weight else 0.0


def _by_weight(kind: Users, tasks: float) -> Starts:
    weight = fsum(task.weight for task in kind.tasks)
    return [(task, tasks * task.weight / weight) for task in kind.tasks]


@dataclass(slots=True)
class Sending:
    """The users of a load test, each at its pace."""

    setting: TrafficSetting
    users: Callable[[], Sequence[Users]]  # what they send in this second
    _pace: Pace = field(init=False)
    _sent: list[TaskRequest] = field(default_factory=list, init=False)  # in this second

    def __post_init__(self) -> None:
        self._pace = Pace(self.setting.load)

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counts, `group.what`, as `counted` of a run's manifest has it."""
        return self.setting.counts

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        self.setting.begin(at_s)
        kinds = self.users()
        poisson = self.setting.load.arrivals == "poisson"
        sent = list(_requests(self._pace.sent(kinds, at_s)))
        self._sent = [replace(request, poisson=poisson) for request in sent] if poisson else sent
        return self._sent

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        """Tell the pace, and whoever sent it, what became of each flow."""
        self._pace.answered(answers)
        for request, answer in zip(self._sent, answers, strict=True):
            request.told(answer)


def _requests(sent: Starts) -> Iterator[TaskRequest]:
    for task, times in sent:
        for request in task.requests:
            yield request if times == 1.0 else replace(request, requests=times * request.requests)
