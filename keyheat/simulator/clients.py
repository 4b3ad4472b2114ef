"""Clients that send a throttled request again, on a virtual clock: each request is asked by itself.

    a second's flows --due--> client --admitted by the model?--> accepted
                                ^       '-- throttled: pause, and again; or given up --'

Requests arrive when they are due, whatever became of others, and are divided evenly among the clients, each
with a quota and a rate of its own. Items of a batch that come back unprocessed, and transactions that are
cancelled, are sent again by no SDK.
"""

import heapq
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

import numpy as np

from keyheat.model.resources import Refusal
from keyheat.model.retries import RetryPolicy
from keyheat.model.sdk_client import AdaptiveRate, RetryQuota
from keyheat.model.table import Op, TableModel
from keyheat.simulator.conflicts import TransactionConflicts, with_conflicts
from keyheat.simulator.demand import FlowArrivals
from keyheat.simulator.discrete import Outcome, answer_of, ask, ops_of, outcomes_of, throttled
from keyheat.simulator.flow import Flow, FlowAnswer, sent_together
from keyheat.simulator.shares import TableShares

SERVICE_S: Final = 0.005
"""That an attempt takes: single-digit milliseconds, https://aws.amazon.com/dynamodb/features/"""
SOON_S: Final = 1e-6


@dataclass(slots=True)
class _Request:
    """One request: its items, by the flow of each, and how it has fared."""

    flows: Sequence[Flow]  # of each item
    places: Sequence[int]  # of those flows in the second in which it was due
    ops: list[Op]
    due_s: float
    client: "_Client"
    ready_s: float = 0.0  # when its client would have sent it, were its rate not limited
    attempts: int = 0
    paid_tokens: float = 0.0


@dataclass(slots=True)
class _Client:
    """One client of the SDK: its quota, and who waits for its rate, where that is limited."""

    quota: RetryQuota
    rate: AdaptiveRate | None = None
    waiting: deque[_Request] = field(default_factory=deque)
    wakes_s: float = inf  # when the first of them is looked at again


@dataclass(slots=True)
class RetryTally:
    """What retries made of our own requests, second by second of the run."""

    requests: int = 0
    begun: int = 0  # requests that were sent at least once, and not held back until then
    units: float = 0.0
    quota_ran_out: int = 0
    given_up: int = 0  # for throttles; what met another transaction stands apart
    backoff_s: float = 0.0
    held_s: float = 0.0
    response_s: list[float] = field(default_factory=list)
    attempts: Counter[int] = field(default_factory=Counter)
    accepted: Counter[int] = field(default_factory=Counter)
    throttled: Counter[int] = field(default_factory=Counter)
    conflicts: Counter[int] = field(default_factory=Counter)  # transactions that met another one

    def met(self, second: int, count: int) -> None:
        """Transactions met another one and were cancelled: sent once, they are sent again by no SDK."""
        self.requests += count
        self.begun += count
        self.attempts[second] += count
        self.conflicts[second] += count

    @property
    def counts(self) -> dict[str, float]:
        """As a load generator counts them, for `run.json`."""
        again = self.attempts.total() - self.begun
        ended = len(self.response_s) + self.given_up + self.conflicts.total()
        return {
            "retries.requests": self.begun, "retries.attempts": again, "retries.given_up": self.given_up,
            "retries.waiting": self.requests - ended,
            "retries.backoff_s": self.backoff_s, "retries.held_s": self.held_s,
        }  # fmt: skip


class RetriedTables:
    """A scenario's tables under requests of clients that retry: each is asked by itself, when it is due."""

    def __init__(
        self,
        models: Mapping[str, TableModel],
        *,
        own: str,
        policy: RetryPolicy,
        clients: int,
        started_s: float,
        rng: np.random.Generator,
        transaction_s: float = 0.0,
        names_keys: bool = True,
    ) -> None:
        self.models = models
        self.tally = RetryTally()
        self._own, self._policy, self._started_s, self._rng = own, policy, started_s, rng
        # Pauses have a chance of their own, so that the same arrives at the same time whatever the policy.
        (self._pauses,) = rng.spawn(1)
        self._tables = {name: TableShares(model, names_keys=names_keys) for name, model in models.items()}
        self._arrivals = {name: FlowArrivals(rng) for name in models}
        self._conflicts = {name: TransactionConflicts(transaction_s) for name in models}
        self._clients = [
            _Client(RetryQuota(policy.quota_tokens), AdaptiveRate(started_s) if policy.limits_rate else None)
            for _ in range(clients)
        ]
        self._queue: list[tuple[float, int, _Request | _Client]] = []
        self._number = 0
        self._began_s = started_s  # the second that is under way
        self._now: dict[int, list[Outcome]] = {}  # of flows of this second, by their place
        self._later: dict[tuple[object, ...], tuple[Flow, list[Outcome]]] = {}

    @property
    def under_way(self) -> int:
        """Requests that are neither accepted nor given up."""
        return sum(len(one.waiting) for one in self._clients) + sum(
            isinstance(due, _Request) for _at_s, _number, due in self._queue
        )

    def second(self, flows: Sequence[Flow], now_s: float) -> list[FlowAnswer]:
        """All that happens in the second that begins at `now_s`: answers to the flows, in their order, then
        what became of requests of earlier seconds that were sent again."""
        self._began_s = now_s
        self._now = {place: [] for place in range(len(flows))}
        self._later = {}
        met = dict[int, int]()
        for name, table in self._tables.items():
            table.model.advance(now_s)
            places = [place for place, flow in enumerate(flows) if (flow.table or self._own) == name]
            met |= self._arrive(name, [flows[place] for place in places], places, now_s)
        while self._queue and self._queue[0][0] < now_s + 1:
            due_s, _number, due = heapq.heappop(self._queue)
            if isinstance(due, _Request):
                self._send(due, due_s)
            elif due.wakes_s == due_s:
                due.wakes_s = inf
                self._serve(due, due_s)
        found = [(flows[place], outcomes) for place, outcomes in self._now.items()]
        answers = [answer_of(self._table(flow), flow, outcomes) for flow, outcomes in found]
        for place, count in met.items():
            answers[place] = with_conflicts(flows[place], answers[place], count)
        return answers + [answer_of(self._table(flow), flow, found) for flow, found in self._later.values()]

    def _table(self, flow: Flow) -> TableShares:
        return self._tables[flow.table or self._own]

    def _arrive(
        self, name: str, flows: Sequence[Flow], places: Sequence[int], now_s: float
    ) -> dict[int, int]:
        """The requests to one table, spread over the second; gives how many transactions met another one."""
        model, counts = self.models[name], self._arrivals[name].in_second(flows)
        left, counts, met = self._conflicts[name].without(flows, counts, self._rng)
        if met:
            model.minutes.transaction_conflicts(sum(met.values()), now_s)
            ours = sum(count for place, count in met.items() if flows[place].ours)
            self.tally.met(int(now_s - self._started_s), ours)
        for kind in sent_together(left):
            mine = [left[place] for place in kind]
            self._spread(mine, [places[place] for place in kind], counts[kind[0]], now_s)
        return {places[place]: count for place, count in met.items()}

    def _spread(self, flows: Sequence[Flow], places: Sequence[int], count: int, now_s: float) -> None:
        """The requests of one kind; their items are drawn as they arrive, and keep their keys."""
        table, ours = self._table(flows[0]), flows[0].ours
        ops = [ops_of(table, flow, count * flow.items, now_s, self._rng) for flow in flows]
        due = now_s + (np.arange(count) + self._rng.random(count)) / max(count, 1)
        of_items = [flow for flow in flows for _ in range(flow.items)]
        their_places = [place for place, flow in zip(places, flows, strict=True) for _ in range(flow.items)]
        nobody = _Client(RetryQuota(0.0))
        for number, due_s in enumerate(due.tolist()):
            client = self._clients[self.tally.requests % len(self._clients)] if ours else nobody
            self.tally.requests += ours
            items = [
                op
                for flow, all_ops in zip(flows, ops, strict=True)
                for op in all_ops[number * flow.items : (number + 1) * flow.items]
            ]
            self._at(due_s, _Request(of_items, their_places, items, due_s, client))

    def _at(self, at_s: float, due: _Request | _Client) -> None:
        self._number += 1
        heapq.heappush(self._queue, (at_s, self._number, due))

    def _send(self, request: _Request, at_s: float) -> None:
        """Send it now, or let it stand in its client's line."""
        client = request.client
        if client.rate is None:
            self._attempt(request, at_s)
            return
        request.ready_s = at_s
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
            request = client.waiting.popleft()
            self.tally.held_s += at_s - request.ready_s
            self._attempt(request, at_s)

    def _attempt(self, request: _Request, at_s: float) -> None:
        flow, client = request.flows[0], request.client
        refusals = ask(self._table(flow).model, flow, request.ops, at_s)
        self._note(request, refusals)
        request.attempts += 1
        if not flow.ours:
            return
        refusal = throttled(flow, refusals)
        if client.rate is not None:
            client.rate.answered(at_s, throttled=refusal is not None)
        second, tally = int(at_s - self._started_s), self.tally
        tally.attempts[second] += 1
        tally.begun += request.attempts == 1
        if refusal is not None:
            tally.throttled[second] += 1
            self._again(request, refusal, at_s + SERVICE_S)
            return
        taken = zip(request.ops, refusals, strict=True)
        tally.units += sum(op.units for op, refused in taken if refused is None)
        tally.accepted[second] += 1
        tally.response_s.append(at_s + SERVICE_S - request.due_s)
        client.quota.give_back(self._policy.given_back(request.paid_tokens))

    def _note(self, request: _Request, refusals: Sequence[Refusal | None]) -> None:
        """Keep what the client saw of each item: of a flow of this second, or of one that is over."""
        for item, outcome in outcomes_of(request.flows[0], request.ops, refusals):
            if not request.attempts and request.due_s >= self._began_s:
                self._now[request.places[item]].append(outcome)
                continue
            flow = request.flows[item]
            kind = flow.operation, flow.direction, flow.index, flow.table, flow.ours, id(flow.keys)
            self._later.setdefault(kind, (flow, []))[1].append(outcome)

    def _again(self, request: _Request, refusal: Refusal, at_s: float) -> None:
        """Send it once more after a pause, where the policy does and the client's quota lets it."""
        policy = self._policy
        again = not request.flows[0].together and request.attempts < policy.attempts
        if not again or not policy.retries(refusal.cause):
            self.tally.given_up += 1
            return
        cost_tokens = policy.throttle.cost_tokens
        if policy.quota_tokens and not request.client.quota.take(cost_tokens):
            self.tally.quota_ran_out += 1
            self.tally.given_up += 1
            return
        request.paid_tokens = cost_tokens
        pause_s = policy.pause_s(request.attempts, self._pauses.random)
        self.tally.backoff_s += pause_s
        self._at(at_s + pause_s, request)
