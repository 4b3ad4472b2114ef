"""What is sent to a simulated table: a load test as its flows, second by second.

A target in requests is sent whatever the answers are. One in capacity units is steered by the answers: units
spent beyond a second's due are owed in the next one, and units left over are sent then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from pathlib import Path
from random import Random

from keyheat.scenario.scenario import Scenario
from keyheat.simulator.dryrun.ask import loadtest_of
from keyheat.simulator.dryrun.requests import LoadTest, with_combinations
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic
from keyheat.simulator.traffic.kinds import TaskFlows, UserTasks
from keyheat.simulator.traffic.setting import TrafficSetting
from keyheat.words import Direction


def traffic_of(scenario: Scenario, seed: int, folder: Path = Path()) -> Traffic:
    """Return the traffic of a scenario's load test; `folder` is the scenario's, with its trace.

    Raises `ScenarioError` for a load test that no sample shows.
    """
    scenario = with_combinations(scenario)
    setting = TrafficSetting(scenario, Random(f"{seed}/traffic"), folder)
    if scenario.load.arrivals == "trace":
        from keyheat.simulator.traffic.replay import Replay

        return Replay(setting)
    return Sending(setting, loadtest_of(scenario, folder))


def asks_for_shards(scenario: Scenario, folder: Path = Path()) -> bool:
    """Return whether the load test sends by the number of shards. Raises `ScenarioError`."""
    return scenario.load.arrivals != "trace" and loadtest_of(scenario, folder).asks_for_shards


LEAST_COST = 0.05
"""Arrivals that cost next to nothing come at most twenty times as often as the target's number."""


class Sending(Traffic):
    """The users of a load test at their pace.

    In a closed loop every user sends its even part of the requests, however many of them one task makes. In
    an open one each arrival is a task of any user, equally likely.
    """

    def __init__(self, setting: TrafficSetting, loadtest: LoadTest) -> None:
        self.setting = setting
        self._users = UserTasks.of(setting, loadtest)
        self._shares = _shares_of(loadtest, setting.load.users)
        self._sent: list[Flow] = []  # in this second
        self._due = 0.0  # in this second, in the target's unit
        self._owed = 0.0  # units spent beyond the target until now
        self._accepted = 1.0  # share of the attempts: only those pay for index entries

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counts, by `group.what`, as `counted` of a run's manifest."""
        return self.setting.counts

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        self.setting.begin(at_s)
        load = self.setting.load
        self._due = self.setting.due - self._owed
        classes = [user.tasks() for user in self._users]
        costs = [fsum(task.weight * self._cost(task) for task in tasks) for tasks in classes]
        mean = max(fsum(share * cost for share, cost in zip(self._shares, costs, strict=True)), LEAST_COST)
        self._sent = []
        for tasks, share, cost in zip(classes, self._shares, costs, strict=True):
            each = mean if load.open_loop else cost
            begun = max(0.0, self._due) * share / each if each else 0.0
            self._sent += [
                replace(
                    flow,
                    requests=begun * task.weight * flow.requests,
                    poisson=load.arrivals == "poisson",
                )
                for task in tasks
                for flow in task.flows
            ]
        return self._sent

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        """Take the units that were spent, and tell each sender its answer."""
        if self._direction is not None:
            self._take([answer for answer in answers if answer.flow.ours and self._counts(answer.flow)])
        for flow, answer in zip(self._sent, answers, strict=True):
            flow.on_answer(answer)

    def _take(self, answers: Sequence[FlowAnswer]) -> None:
        attempts = fsum(answer.attempts for answer in answers)
        accepted = fsum(answer.accepted for answer in answers)
        spent = fsum(answer.units + fsum(answer.index_units.values()) for answer in answers)
        refused = fsum((answer.attempts - answer.accepted) * answer.flow.units for answer in answers)
        self._accepted = accepted / attempts if attempts else 1.0
        self._owed = spent + refused - self._due

    @property
    def _direction(self) -> Direction | None:
        """Of the units that the target is in; None for requests."""
        units = {"WCU": Direction.WRITE, "RCU": Direction.READ}
        return units.get(self.setting.load.target_unit)

    def _counts(self, flow: Flow) -> bool:
        return flow.table is None and flow.direction is self._direction

    def _cost(self, task: TaskFlows) -> float:
        """What a task spends of the target; refused requests count without index entries."""
        if self._direction is None:
            return task.due
        return fsum(
            flow.requests
            * (flow.items * flow.units + self._accepted * fsum(entry.units for entry in flow.index_writes))
            for flow in task.flows
            if self._counts(flow)
        )


def _shares_of(loadtest: LoadTest, users: int) -> list[float]:
    """The part of all users that each class is."""
    fixed = [min(users, each.fixed_count or 0) for each in loadtest.users]
    weights = fsum(each.weight for each in loadtest.users if each.fixed_count is None)
    remaining = max(0, users - sum(fixed))
    counts = [
        remaining * each.weight / weights if each.fixed_count is None else count
        for each, count in zip(loadtest.users, fixed, strict=True)
    ]
    return [count / max(sum(counts), 1e-9) for count in counts]
