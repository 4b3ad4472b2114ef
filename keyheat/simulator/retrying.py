"""The same demand under a retry policy: every request of a scenario, one by one, under a virtual clock.

    demand (flows, second by second) --due--> client --admitted by the model?--> accepted
                                         ^      '-- throttled: pause, and again; or given up --'

The demand is what the scenario's load test sends where nobody retries, so that all policies meet the same.
Its requests arrive when they are due, whatever became of others, and are divided evenly among clients, each
with a quota and a rate of its own. Items of a batch that come back unprocessed, and transactions that are
cancelled, are sent again by no SDK.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from keyheat.model.resources import Refusal
from keyheat.model.retries import AdaptiveRate, RetryPolicy, RetryQuota
from keyheat.model.table import IndexWrite, Op, TableModel
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.capacity import CapacityTimeline, capacity_of
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic, sent_together
from keyheat.simulator.shares import FlowArrivals, TableShares
from keyheat.simulator.simulate import SIMULATED_START_S, simulate
from keyheat.simulator.traffic import traffic_of
from keyheat.words import Direction

SERVICE_S: Final = 0.005
"""That an attempt takes: single-digit milliseconds, https://aws.amazon.com/dynamodb/features/"""
SOON_S: Final = 1e-6
MOST_REQUESTS: Final = 500_000
LONGEST_TAIL_S: Final = 300
"""After the load, until what is still under way is accepted or given up."""

Seconds = Sequence[Sequence[Flow]]


class TooManyRequests(ValueError):
    """A demand that would take too long one by one."""


@dataclass(slots=True)
class _Noting:
    """A load test, and what it sent."""

    sent: Traffic
    seconds: list[Sequence[Flow]] = field(default_factory=list)

    def second(self, at_s: float) -> Sequence[Flow]:
        self.seconds.append(self.sent.second(at_s))
        return self.seconds[-1]

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        self.sent.answered(at_s, answers)


def demand_of(scenario: Scenario, folder: Path) -> Seconds:
    """What a scenario's load test sends, second by second, where nobody retries.

    Raises `TooManyRequests`, and `ScenarioError` for a load test of which nobody can say it.
    """
    noting = _Noting(traffic_of(scenario, scenario.seed, folder))
    simulate(scenario, traffic=noting, folder=folder, counts_only=True)
    own = [[flow for flow in flows if flow.ours] for flows in noting.seconds]
    count = ceil(sum(flow.requests for flows in own for flow in flows))
    if count > MOST_REQUESTS:
        raise TooManyRequests(
            f"{scenario.name} asks for {count:,} requests; at most {MOST_REQUESTS:,} are tried one by one: "
            "take a shorter time (--duration S), or less of it (--set load.requests_per_s=N)"
        )
    return own


@dataclass(slots=True)
class _Request:
    """One request: what it asks for, of whom, and how it has fared."""

    flow: Flow
    model: TableModel
    ops: list[Op]
    due_s: float
    client: "_Client"
    attempts: int = 0
    paid_tokens: float = 0.0


@dataclass(slots=True)
class _Client:
    """One client of the SDK: its quota, and who waits for its rate, where that is limited."""

    quota: RetryQuota = field(default_factory=RetryQuota)
    rate: AdaptiveRate | None = None
    waiting: deque[_Request] = field(default_factory=deque)
    wakes_s: float = inf  # when the first of them is looked at again


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedRun:
    """What came of a demand under one policy. Times are seconds from the run's beginning.

    `response_s`: from when each accepted request was due to its answer. `throttled_per_s` and
    `attempts_per_s` have a number for each second until all was over.
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
    quota_ran_out: int  # requests given up for want of quota, with attempts left

    @property
    def amplification(self) -> float:
        """Attempts for each request that came to an end."""
        ended = self.requests - self.waiting
        return self.attempts / ended if ended else 1.0

    @property
    def given_up(self) -> int:
        """Requests that the caller saw fail."""
        return self.requests - self.accepted - self.waiting

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

    def within_s(self, part: float) -> float | None:
        """The response time within which this part of the accepted requests lay."""
        return float(np.quantile(self.response_s, part)) if len(self.response_s) else None


def retried(
    scenario: Scenario,
    demand: Seconds,
    policy: RetryPolicy,
    *,
    clients: int,
    progress: Callable[[float], None] = lambda _part: None,
) -> RetriedRun:
    """Send a demand to a model of the scenario's tables, and again what the policy sends again."""
    run = _Run(scenario, policy, clients)
    for at_s, flows in enumerate(demand):
        run.second(at_s, flows)
        progress((at_s + 1) / len(demand))
    at_s = len(demand)
    while run.under_way and at_s < len(demand) + LONGEST_TAIL_S:
        run.second(at_s, ())
        at_s += 1
    return run.over(len(demand))


class _Run:
    def __init__(self, scenario: Scenario, policy: RetryPolicy, clients: int) -> None:
        self._scenario, self._policy = scenario, policy
        self._rng = np.random.default_rng((scenario.seed, 7))
        self._arrivals = FlowArrivals(self._rng)
        self._grounds = {name: TableShares(model) for name, model in _models(scenario).items()}
        self._timeline = CapacityTimeline(scenario, started_s=SIMULATED_START_S, seed=scenario.seed)
        self._clients = [
            _Client(rate=AdaptiveRate(SIMULATED_START_S) if policy.limits_rate else None)
            for _ in range(clients)
        ]
        self._queue: list[tuple[float, int, _Request | _Client]] = []
        self._number = self._out_of_quota = self._requests = 0
        self._units = 0.0
        self._response_s: list[float] = []
        self._attempts, self._accepted, self._throttled = Counter[int](), Counter[int](), Counter[int]()

    @property
    def under_way(self) -> bool:
        """Whether a request is neither accepted nor given up."""
        return bool(self._queue) or any(client.waiting for client in self._clients)

    def second(self, at_s: int, flows: Sequence[Flow]) -> None:
        """All that happens within a second."""
        now_s = SIMULATED_START_S + at_s
        self._timeline(self._grounds[self._scenario.table.name].model, now_s)
        for ground in self._grounds.values():
            ground.model.advance(now_s)
        for places in sent_together(flows):
            self._arrive([flows[place] for place in places], self._count(flows, places), now_s)
        while self._queue and self._queue[0][0] < now_s + 1:
            due_s, _number, due = heapq.heappop(self._queue)
            if isinstance(due, _Request):
                self._send(due, due_s)
            elif due.wakes_s == due_s:
                due.wakes_s = inf
                self._serve(due, due_s)

    def over(self, load_s: int) -> RetriedRun:
        """What came of it; who is under way yet has not been served."""
        last = max((*self._attempts, load_s - 1)) + 1
        return RetriedRun(
            policy=self._policy,
            load_s=load_s,
            requests=self._requests,
            accepted=len(self._response_s),
            accepted_in_time=sum(count for at, count in self._accepted.items() if at < load_s),
            waiting=sum(len(one.waiting) for one in self._clients)
            + sum(isinstance(due, _Request) for _at_s, _number, due in self._queue),
            attempts=self._attempts.total(),
            units=self._units,
            response_s=np.array(self._response_s),
            attempts_per_s=tuple(self._attempts[at] for at in range(last)),
            throttled_per_s=tuple(self._throttled[at] for at in range(last)),
            quota_ran_out=self._out_of_quota,
        )

    def _count(self, flows: Sequence[Flow], places: Sequence[int]) -> int:
        """Whole requests of one kind: of two flows that are sent together the first one says it."""
        return self._arrivals.in_second([flows[place] for place in places])[0]

    def _arrive(self, flows: Sequence[Flow], count: int, now_s: float) -> None:
        """The requests of one kind, spread over the second."""
        ground = self._grounds[flows[0].table or self._scenario.table.name]
        ops = [self._ops(ground, flow, count * flow.items, now_s) for flow in flows]
        due = now_s + (np.arange(count) + self._rng.random(count)) / max(count, 1)
        for number, due_s in enumerate(due.tolist()):
            mine = [
                op
                for flow, all_ops in zip(flows, ops, strict=True)
                for op in all_ops[number * flow.items : (number + 1) * flow.items]
            ]
            client = self._clients[self._requests % len(self._clients)]
            self._requests += 1
            self._at(due_s, _Request(flows[0], ground.model, mine, due_s, client))

    def _ops(self, ground: TableShares, flow: Flow, count: int, now_s: float) -> list[Op]:
        shares = ground.shares(flow.index)
        positions = shares.positions(flow.keys, None, count, now_s, self._rng)
        units = self._sizes(flow, count)
        entries = [
            (entry, ground.shares(entry.index).positions(entry.keys, None, count, now_s, self._rng))
            for entry in flow.index_writes
        ]
        return [
            Op(
                direction=flow.direction,
                position=position,
                units=units[number],
                index=flow.index,
                index_writes=tuple(
                    IndexWrite(entry.index, places[number], entry.units) for entry, places in entries
                ),
                eventual=flow.eventual,
            )
            for number, position in enumerate(positions)
        ]

    def _sizes(self, flow: Flow, count: int) -> list[float]:
        if not flow.sizes:
            return [flow.units] * count
        units, parts = (np.array(values) for values in zip(*flow.sizes, strict=True))
        drawn: list[float] = self._rng.choice(units, count, p=parts / parts.sum()).tolist()
        return drawn

    def _at(self, at_s: float, due: _Request | _Client) -> None:
        self._number += 1
        heapq.heappush(self._queue, (at_s, self._number, due))

    def _send(self, request: _Request, at_s: float) -> None:
        """Send it now, or let it stand in its client's line."""
        client = request.client
        if client.rate is None:
            self._attempt(request, at_s)
            return
        client.waiting.append(request)
        self._serve(client, at_s)

    def _serve(self, client: _Client, at_s: float) -> None:
        """Let those in line send whose turn it is; the client is looked at again when the next one's is."""
        assert client.rate is not None, "nobody waits without a rate"
        while client.waiting:
            wait_s = client.rate.wait_s(at_s)
            if wait_s > SOON_S:
                if at_s + wait_s < client.wakes_s:
                    client.wakes_s = at_s + wait_s
                    self._at(client.wakes_s, client)
                return
            client.rate.sent()
            self._attempt(client.waiting.popleft(), at_s)

    def _attempt(self, request: _Request, at_s: float) -> None:
        request.attempts += 1
        second = int(at_s - SIMULATED_START_S)
        self._attempts[second] += 1
        refusal, units = _asked(request, at_s)
        if request.client.rate is not None:
            request.client.rate.answered(at_s, throttled=refusal is not None)
        if refusal is None:
            self._units += units
            self._accepted[second] += 1
            self._response_s.append(at_s + SERVICE_S - request.due_s)
            request.client.quota.accepted(request.paid_tokens)
            return
        self._throttled[second] += 1
        self._again(request, refusal, at_s + SERVICE_S)

    def _again(self, request: _Request, refusal: Refusal, at_s: float) -> None:
        """Send it once more after a pause, where the policy does and the client's quota lets it."""
        policy = self._policy
        if request.flow.together or request.attempts >= policy.attempts:
            return
        if not policy.retries(refusal.cause):
            return
        if policy.cost_tokens and not request.client.quota.take(policy.cost_tokens):
            self._out_of_quota += 1
            return
        request.paid_tokens = policy.cost_tokens
        self._at(at_s + policy.pause_s(request.attempts, self._rng.random), request)


def _models(scenario: Scenario) -> dict[str, TableModel]:
    return {
        table.name: TableModel(
            capacity_of(table),
            now_s=SIMULATED_START_S,
            scale=scenario.local.scale,
            seed=scenario.seed + number,
        )
        for number, table in enumerate((scenario.table, *scenario.companions))
    }


def _asked(request: _Request, at_s: float) -> tuple[Refusal | None, float]:
    """Why the request as a whole was refused, None: it was not; and the units that it consumed."""
    model, ops = request.model, request.ops
    if request.flow.together:
        refusals = model.admit_together(ops, at_s)
        refused = next((one for one in refusals if one is not None), None)
        return refused, 0.0 if refused else sum(op.units for op in ops)
    refusals = [_admit(model, op, at_s) for op in ops]
    units = sum(op.units for op, refusal in zip(ops, refusals, strict=True) if refusal is None)
    return (refusals[0] if all(refusals) else None), units


def _admit(model: TableModel, op: Op, at_s: float) -> Refusal | None:
    if op.direction is Direction.READ:
        return model.admit_read(op.position, op.units, at_s, index=op.index, eventual=op.eventual)
    return model.admit_write(op.position, op.units, at_s, op.index_writes)
