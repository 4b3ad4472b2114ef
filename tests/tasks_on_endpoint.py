"""The very tasks of a load test, done on a virtual clock, each request answered by an endpoint.

What a dry run samples of them is compared with it. Users are many, what is written is there, nothing waits.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.model.table import TableModel
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.simulate import SIMULATED_START_S, Simulation
from tests.asked_endpoint import ServedTables

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")  # this process has other tests
    from keyheat.load.dryrun.standin import CLOCK, DryLoad, NotedKeys, Tables
    from keyheat.load.dryrun.users import is_user, loaded, send_alone
    from keyheat.load.transport.answer import Answer
    from keyheat.load.users.user import TableUser

OF_EACH = 7  # users of a class
Totals = Counter[tuple[str, ...]]


def totals_of(models: Mapping[str, TableModel]) -> Totals:
    """Units and throttles of every table and index, by direction and cause."""
    found: Totals = Counter()
    for name, model in models.items():
        for index in (None, *model.index_names):
            resource = model.resource(index)
            for meter in (resource.read.meter, resource.write.meter):
                whose = (name, index or "", meter.direction.value)
                found[*whose, "units"] = sum(tally.sum for tally in meter.consumed_by_minute().values())
                for cause, tallies in meter.throttles_by_minute().items():
                    found[*whose, cause.value] = round(sum(tally.sum for tally in tallies.values()))
    return +found


def done_on_endpoint(path: Path, scenario: Scenario, folder: Path) -> Totals:
    """Send a closed loop's load, at its rate, by the tasks of its file; what came of it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send", "wait"):  # `send_alone` replaces them, and other tests need them
            patch.setattr(TableUser, name, getattr(TableUser, name))
        sender = _Sender(path, scenario, folder)
        sender.send()
    return totals_of(sender.served.models)


def simulated_totals(simulation: Simulation) -> Totals:
    return totals_of(simulation.models)


@dataclass(slots=True)
class _Users:
    """Users of one class: how often a second they send, each at its own moments, and what they have sent."""

    each: list[Any]
    per_s: float
    moments: list[float]  # of the users, as parts of the time in which each sends once
    sent: int = 0
    turn: int = 0

    @property
    def next_s(self) -> float:
        """When the next request is due."""
        turns, user = divmod(self.sent, len(self.moments))
        return (turns + self.moments[user]) * len(self.moments) / self.per_s


@dataclass(slots=True)
class _Sender:
    path: Path
    scenario: Scenario
    folder: Path
    served: ServedTables = field(init=False)
    _users: list[_Users] = field(init=False)
    _chance: Random = field(init=False)
    _sent: int = 0

    def __post_init__(self) -> None:
        self._chance = Random(f"{self.scenario.seed} tasks")
        self.served = ServedTables(self.scenario, seed=self.scenario.seed)
        CLOCK.now_s = SIMULATED_START_S
        self._users = self._made()

    def _made(self) -> list[_Users]:
        send_alone()
        classes = [one for one in vars(loaded(self.path)).values() if is_user(one)]
        load, users = self.scenario.load, self.scenario.load.users
        environment = SimpleNamespace(keyheat=self._load())
        fixed = sum(one.fixed_count for one in classes)
        weights = sum(one.weight for one in classes if not one.fixed_count)
        made = []
        for one in classes:
            share = one.fixed_count or (users - fixed) * one.weight / weights
            each = [one(environment) for _ in range(OF_EACH)]
            moments = sorted(self._chance.random() for _ in range(max(1, round(share))))
            made.append(_Users(each, load.target_per_s * share / users, moments))
        return made

    def _load(self) -> Any:
        load: Any = DryLoad(
            self.scenario, Tables(()), NotedKeys(self.scenario.keys.pattern(folder=self.folder))
        )
        load.order.run_id = f"tasks-{self.scenario.seed}"  # in some keys: they lie elsewhere in every run
        load.numbers, load.send, load.started_s = count(1), self._answer, CLOCK()
        return load

    def send(self) -> None:
        """Whose request is due does its next task, until the load is over."""
        order = [(users.next_s, number) for number, users in enumerate(self._users)]
        heapify(order)
        while order[0][0] < self.scenario.load.duration_s:
            due_s, number = order[0]
            users = self._users[number]
            CLOCK.now_s = SIMULATED_START_S + due_s
            self._sent = 0
            user = users.each[users.turn % OF_EACH]
            users.turn += 1
            tasks, weights = zip(*user.task_weights(), strict=True)
            self._chance.choices(tasks, weights)[0]()
            users.sent += max(1, self._sent)
            heapreplace(order, (users.next_s, number))

    def _answer(self, operation: str, body: bytes) -> Answer:
        """One request; those of one task follow at the pace of its users."""
        self._sent += 1
        return self.served.answer(operation, body, CLOCK.now_s)
