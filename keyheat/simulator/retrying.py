"""The same demand under several retry policies.

The demand is what the scenario's load test sends without retries, so all policies meet the same requests at
the same moments, with the same keys and sizes. Each policy draws its own pauses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from keyheat.model.retries import RetryPolicy
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.flow import Flow, FlowAnswer, Recorded, Traffic
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import traffic_of

MOST_REQUESTS: Final = 500_000
LONGEST_TAIL_S: Final = 300
"""After the load, until what is still under way is accepted or given up."""

Seconds = Sequence[Sequence[Flow]]


class TooManyRequests(ValueError):
    """A demand that would take too long one by one."""


@dataclass(slots=True)
class _Noting(Traffic):
    """A load test and its flows; raises as soon as it sends more requests than can be tried."""

    name: str
    sent: Traffic
    seconds: list[Sequence[Flow]] = field(default_factory=list)
    requests: float = 0.0

    def second(self, at_s: float) -> Sequence[Flow]:
        flows = self.sent.second(at_s)
        self.seconds.append(flows)
        self.requests += fsum(flow.requests for flow in flows)
        if self.requests > MOST_REQUESTS:
            raise TooManyRequests(
                f"{self.name} asks for too many requests: at most {MOST_REQUESTS:,} are tried one by one, "
                f"and its first {at_s + 1:.0f} s have more: take a shorter time (--duration S), or less "
                "of it (--set load.requests_per_s=N)"
            )
        return flows

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        self.sent.answered(at_s, answers)


def demand_of(scenario: Scenario, folder: Path = Path()) -> Seconds:
    """Return what a scenario's load test sends without retries, second by second.

    `folder` is the scenario's. Raises `TooManyRequests`, and `ScenarioError` for a load test that no dry run
    shows.
    """
    noting = _Noting(scenario.name, traffic_of(scenario, scenario.seed, folder))
    simulate(scenario, traffic=noting, folder=folder, counts_only=True)
    return noting.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedRun:
    """The result of a demand under one policy. Times are seconds from the start of the run.

    `response_s`: from when each accepted request was due to its answer. `attempts_per_s`, and of those
    `throttled_per_s` and `conflicts_per_s`, have a number for each second until all was over.
    """

    policy: RetryPolicy
    load_s: int
    requests: int
    accepted: int
    accepted_in_time: int  # before the load ended
    waiting: int  # neither accepted nor given up, minutes after the load
    attempts: int
    units: float
    response_s: npt.NDArray[np.float64]
    attempts_per_s: tuple[int, ...]
    throttled_per_s: tuple[int, ...]
    conflicts_per_s: tuple[int, ...]  # transactions that met another one on an item: sent once, and cancelled
    quota_ran_out: int  # requests given up for want of quota, with attempts left

    @property
    def amplification(self) -> float:
        """Attempts for each request that came to an end."""
        ended = self.requests - self.waiting
        return self.attempts / ended if ended else 1.0

    @property
    def conflicts(self) -> int:
        """Requests that were cancelled because another transaction was under way, whatever the policy."""
        return sum(self.conflicts_per_s)

    @property
    def given_up(self) -> int:
        """Requests that the caller saw fail for throttles."""
        return self.lost - self.waiting

    @property
    def lost(self) -> int:
        """Requests that throttles kept from being accepted: given up, or still waiting."""
        return self.requests - self.accepted - self.conflicts

    @property
    def given_up_share(self) -> float:
        """Their part of all."""
        return self.given_up / self.requests if self.requests else 0.0

    @property
    def goodput_per_s(self) -> float:
        """Requests that were accepted while the load lasted, a second."""
        return self.accepted_in_time / self.load_s

    @property
    def calm_from_s(self) -> int:
        """The second from which on nothing was throttled any more; 0: nothing ever was."""
        return max((at + 1 for at, count in enumerate(self.throttled_per_s) if count), default=0)

    def within_s(self, share: float) -> float | None:
        """The response time within which this part of the accepted requests lay."""
        return float(np.quantile(self.response_s, share)) if len(self.response_s) else None


def retried(
    scenario: Scenario,
    demand: Seconds,
    policy: RetryPolicy,
    *,
    clients: int,
    progress: Callable[[float], None] = lambda _part: None,
) -> RetriedRun:
    """Send a demand to a model of the scenario's tables, with the retries of a policy."""
    run = simulate(
        scenario, traffic=Recorded(demand), policy=policy, clients=clients, tail_s=LONGEST_TAIL_S,
        progress=progress, counts_only=True,
    )  # fmt: skip
    tally, load_s = run.tally, len(demand)
    last = max((*tally.attempts, load_s - 1)) + 1
    return RetriedRun(
        policy=policy,
        load_s=load_s,
        requests=tally.requests,
        accepted=len(tally.response_s),
        accepted_in_time=sum(count for at, count in tally.accepted.items() if at < load_s),
        waiting=run.under_way,
        attempts=tally.attempts.total(),
        units=tally.units,
        response_s=np.array(tally.response_s),
        attempts_per_s=tuple(tally.attempts[at] for at in range(last)),
        throttled_per_s=tuple(tally.throttled[at] for at in range(last)),
        conflicts_per_s=tuple(tally.conflicts[at] for at in range(last)),
        quota_ran_out=tally.quota_ran_out,
    )


NOTABLE: Final = 0.01  # retries per request from which they count as a cause of throttling


def usual_of(runs: Sequence[RetriedRun]) -> RetriedRun:
    """Return the run that the answer is about: the first policy; the first run has no retries."""
    none, *others = runs
    return [*others, none][0]


def best_of(runs: Sequence[RetriedRun]) -> RetriedRun:
    """Return the run that loses the fewest requests, and of several such the quickest."""
    _none, *others = runs
    return min(others or runs, key=lambda run: (run.lost, run.within_s(0.99) or 0.0))


def recovery_s(run: RetriedRun, none: RetriedRun) -> int:
    """Return for how much longer requests were throttled than without retries."""
    return max(0, run.calm_from_s - none.calm_from_s)


def feeds_on_itself(run: RetriedRun, none: RetriedRun) -> bool:
    """Whether retries are throttled when the demand alone would not be.

    The adaptive mode delays requests itself, with few retries.
    """
    many = run.attempts > (1 + NOTABLE) * run.requests
    return many and recovery_s(run, none) > 0 and not run.policy.limits_rate
