"""Requests on a virtual clock, admitted one by one, and retried as their client does.

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

from keyheat.model.resources import Cause, Refusal
from keyheat.model.retries import AdaptiveRate, RetryPolicy, RetryQuota
from keyheat.model.splits import HASH_BYTES
from keyheat.model.table import IndexWrite, Op
from keyheat.model.transactions import OngoingTransactions
from keyheat.simulator.flow import Flow, FlowAnswer, KeyUses, Refused, sent_together
from keyheat.simulator.masses import TableShares
from keyheat.words import Direction

SERVICE_S: Final = 0.005
"""That an attempt takes: single-digit milliseconds, https://aws.amazon.com/dynamodb/features/"""
SOON_S: Final = 1e-6


@dataclass(slots=True)
class _Request:
    """One request: its items, by the flow of each, and its state."""

    flows: Sequence[Flow]  # of each item
    positions: Sequence[int]  # of those flows in the second in which it was due
    ops: list[Op]
    due_s: float
    client: "_Client | None"  # None: a client without retries
    ready_s: float = 0.0  # when its client would have sent it, were its rate not limited
    attempts: int = 0
    paid_tokens: float = 0.0


@dataclass(slots=True)
class _Client:
    """One client of the SDK: its quota, and the requests that wait for its rate."""

    quota: RetryQuota
    rate: AdaptiveRate | None = None
    waiting: deque[_Request] = field(default_factory=deque)
    wakes_s: float = inf  # when the first of them is looked at again


@dataclass(slots=True)
class RetryTally:
    """Results of our own requests with retries, second by second of the run."""

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


@dataclass(slots=True)
class _Seen:
    """Results of one flow's items: each with its refusal, or None; and conflicts."""

    flow: Flow
    items: list[tuple[Op, Refusal | None]] = field(default_factory=list)
    conflicts: int = 0


class RequestQueue:
    """Requests that are due or wait for a retry. Without clients nothing is tallied or retried."""

    def __init__(
        self,
        tables: Mapping[str, TableShares],
        *,
        own_table: str,
        policy: RetryPolicy,
        clients: int,
        started_s: float,
        rng: np.random.Generator,
        transaction_s: float,
    ) -> None:
        self.tally = RetryTally()
        self._tables, self._own_table, self._policy, self._started_s = tables, own_table, policy, started_s
        # Pauses have a chance of their own, so that the same arrives at the same time whatever the policy.
        (self._pauses,) = rng.spawn(1)
        self._rng = rng
        self._ongoing = {name: OngoingTransactions(transaction_s) for name in tables}
        self._clients = [
            _Client(RetryQuota(policy.quota_tokens), AdaptiveRate(started_s) if policy.limits_rate else None)
            for _ in range(clients)
        ]
        self._queue: list[tuple[float, int, _Request | _Client]] = []
        self._number = 0
        self._began_s = started_s  # the second that is under way
        self._now: dict[int, _Seen] = {}  # of flows of this second, by their place
        self._later: dict[tuple[object, ...], _Seen] = {}  # of flows of seconds before

    @property
    def under_way(self) -> int:
        """Requests that are neither accepted nor given up."""
        return sum(len(client.waiting) for client in self._clients) + sum(
            isinstance(due, _Request) for _at_s, _number, due in self._queue
        )

    def arrive(
        self, name: str, flows: Sequence[Flow], positions: Sequence[int], counts: Sequence[int], now_s: float
    ) -> None:
        """Add the requests of each flow to one table that come due within the second."""
        self._now |= {position: _Seen(flow) for position, flow in zip(positions, flows, strict=True)}
        table = self._tables[name]
        for kind in sent_together(flows):
            count, first = counts[kind[0]], flows[kind[0]]
            items = [number for number in kind for _ in range(flows[number].items)]
            ops = [_ops_of(table, flows[number], count, now_s, self._rng) for number in items]
            chance = self._rng.random(count)
            due = np.sort(chance) if first.poisson else (np.arange(count) + chance) / max(count, 1)
            of_items, of_positions = [flows[at] for at in items], [positions[at] for at in items]
            for number, due_s in enumerate((due + now_s).tolist()):
                client = None
                if first.ours and self._clients:
                    client = self._clients[self.tally.requests % len(self._clients)]
                    self.tally.requests += 1
                request = _Request(of_items, of_positions, [each[number] for each in ops], due_s, client)
                self._at(due_s, request)

    def second(self, now_s: float) -> tuple[dict[int, FlowAnswer], list[FlowAnswer]]:
        """Run the second that begins now: answers to its flows, by their positions, and to retries of earlier
        seconds."""
        self._began_s = now_s
        while self._queue and self._queue[0][0] < now_s + 1:
            due_s, _number, due = heapq.heappop(self._queue)
            if isinstance(due, _Request):
                self._send(due, due_s)
            elif due.wakes_s == due_s:
                due.wakes_s = inf
                self._serve(due, due_s)
        seen, later, self._now, self._later = self._now, self._later, {}, {}
        return {position: self._answer(each) for position, each in seen.items()}, [
            *map(self._answer, later.values())
        ]

    def _answer(self, seen: _Seen) -> FlowAnswer:
        """Sum up the items of one flow."""
        accepted = [op for op, refusal in seen.items if refusal is None]
        index_units: dict[str, float] = {}
        for op in accepted:
            for entry in op.index_writes:
                index_units[entry.index] = index_units.get(entry.index, 0.0) + entry.units
        return FlowAnswer(
            flow=seen.flow,
            attempts=len(seen.items),
            accepted=len(accepted),
            units=sum(op.units for op in accepted),
            index_units=index_units,
            refused=Refused((each.index, each.cause) for _op, each in seen.items if each is not None),
            uses=_uses(self._tables[seen.flow.table or self._own_table], seen),
            conflicts=seen.conflicts,
        )

    def _at(self, at_s: float, due: _Request | _Client) -> None:
        self._number += 1
        heapq.heappush(self._queue, (at_s, self._number, due))

    def _send(self, request: _Request, at_s: float) -> None:
        """Send a request now, or queue it at its client."""
        client = request.client
        if client is None or client.rate is None:
            self._attempt(request, at_s)
            return
        request.ready_s = at_s
        client.waiting.append(request)
        self._serve(client, at_s)

    def _serve(self, client: _Client, at_s: float) -> None:
        """Send the queued requests that are due; schedule the client for the next one."""
        assert client.rate is not None, "only a client with a rate waits"
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
        flow, client, tally = request.flows[0], request.client, self.tally
        second = int(at_s - self._started_s)
        request.attempts += 1
        if client is not None:
            tally.attempts[second] += 1
            tally.begun += request.attempts == 1
        if self._conflicts(request, at_s):
            tally.conflicts[second] += client is not None
            return
        refusals = self._admit(request, at_s)
        throttled = any(refusals) if flow.together else all(refusals)
        if throttled:
            self._tables[flow.table or self._own_table].model.minutes.throttled_request(flow.operation, at_s)
        if client is None:
            return
        if client.rate is not None:
            client.rate.answered(at_s, throttled=throttled)
        if throttled:
            tally.throttled[second] += 1
            self._again(request, client, next(filter(None, refusals)), at_s + SERVICE_S)
            return
        taken = zip(request.ops, refusals, strict=True)
        tally.units += sum(op.units for op, refusal in taken if refusal is None)
        tally.accepted[second] += 1
        tally.response_s.append(at_s + SERVICE_S - request.due_s)
        client.quota.give_back(self._policy.given_back(request.paid_tokens))

    def _conflicts(self, request: _Request, at_s: float) -> bool:
        """Return whether a transaction is cancelled for a conflict with another one on an item."""
        name, flow = request.flows[0].table or self._own_table, request.flows[0]
        ongoing = self._ongoing[name]
        if not (ongoing.lasts_s and flow.together and flow.direction is Direction.WRITE):
            return False
        for item, op in enumerate(request.ops):
            if ongoing.meets(op.position, at_s):
                self._seen(request, item).conflicts += 1
                self._tables[name].model.minutes.transaction_conflict(at_s)
                return True
        return False

    def _admit(self, request: _Request, at_s: float) -> list[Refusal | None]:
        """Return the table's answers; of a cancelled transaction the client sees the refusals."""
        flow, ops, name = request.flows[0], request.ops, request.flows[0].table or self._own_table
        model = self._tables[name].model
        if flow.together:
            refusals = model.admit_together(ops, at_s)
            if not any(refusals) and flow.direction is Direction.WRITE:
                self._ongoing[name].begin([op.position for op in ops], at_s)
        elif flow.direction is Direction.READ:
            refusals = [
                model.admit_read(op.position, op.units, at_s, index=op.index, eventual=op.eventual)
                for op in ops
            ]
        else:
            refusals = [model.admit_write(op.position, op.units, at_s, op.index_writes) for op in ops]
        cancelled = flow.together and any(refusals)
        for item, (op, refusal) in enumerate(zip(ops, refusals, strict=True)):
            if refusal or not cancelled:
                self._seen(request, item).items.append((op, refusal))
        return refusals

    def _seen(self, request: _Request, item: int) -> _Seen:
        """Return where to note the item: its flow of this second, or of an earlier one."""
        if request.attempts == 1 and request.due_s >= self._began_s:
            return self._now[request.positions[item]]
        flow = request.flows[item]
        kind = flow.operation, flow.direction, flow.index, flow.table, flow.ours, id(flow.keys)
        return self._later.setdefault(kind, _Seen(flow))

    def _again(self, request: _Request, client: _Client, refusal: Refusal, at_s: float) -> None:
        """Retry after a pause, if policy and quota allow it."""
        policy = self._policy
        again = not request.flows[0].together and request.attempts < policy.attempts
        if not again or not policy.retries(refusal.cause):
            self.tally.given_up += 1
            return
        cost_tokens = policy.throttle.cost_tokens
        if policy.quota_tokens and not client.quota.take(cost_tokens):
            self.tally.quota_ran_out += 1
            self.tally.given_up += 1
            return
        request.paid_tokens = cost_tokens
        pause_s = policy.pause_s(request.attempts, self._pauses.random)
        self.tally.backoff_s += pause_s
        self._at(at_s + pause_s, request)


def _ops_of(table: TableShares, flow: Flow, count: int, now_s: float, rng: np.random.Generator) -> list[Op]:
    """Draw items of a flow, each with its own keys and size, in the order of arrival."""
    positions = table.shares(flow.index).positions(flow.keys, None, count, now_s, rng)
    entries = [
        (entry, table.shares(entry.index).positions(entry.keys, None, count, now_s, rng))
        for entry in flow.index_writes
    ]
    units = np.full(count, flow.units)
    if flow.sizes:
        sizes, parts = np.array(flow.sizes).T
        units = rng.choice(sizes, count, p=parts / parts.sum())
    return [
        Op(
            direction=flow.direction,
            position=position,
            units=size,
            index=flow.index,
            index_writes=tuple(
                IndexWrite(entry.index, places[number], entry.units) for entry, places in entries
            ),
            eventual=flow.eventual,
        )
        for number, (position, size) in enumerate(zip(positions, units.tolist(), strict=True))
    ]


def _uses(table: TableShares, seen: _Seen) -> KeyUses | None:
    """Count the requests for the most used keys."""
    flow = seen.flow
    top = table.shares(flow.index).top(flow.keys) if table.names_keys else None
    if top is None:
        return None
    items, by_partition, by_limits = counts = Counter[bytes](), Counter[bytes](), Counter[bytes]()
    for op, refusal in seen.items:
        at = op.position[:HASH_BYTES]
        items[at] += 1
        if refusal is not None:
            by_key = (refusal.index, refusal.cause) == (flow.index, Cause.KEY_RANGE)
            (by_partition if by_key else by_limits)[at] += 1
    totals = (np.array([count[at] for at in top.points], np.float64) for count in counts)
    return KeyUses(flow.index, top.names, *totals)
