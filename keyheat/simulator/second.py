"""A scenario's tables, second by second: many requests are computed together, few one by one.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses some of them thins them all alike (`demand.py`).
The few requests of a quiet second, transactions that may meet, and the requests of clients that retry are
asked one by one (`requests.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final

import numpy as np

from keyheat.model.bucket import Bucket
from keyheat.model.resources import Cause, Refusal
from keyheat.model.retries import CLIENTS, NONE, RetryPolicy
from keyheat.model.table import TableModel
from keyheat.simulator.demand import SECOND_S, Demand, FlowDemand, Passing, Prices, demand_of, room
from keyheat.simulator.flow import Flow, FlowAnswer, KeyUses, Refused, sent_together
from keyheat.simulator.masses import Floats, Masses, PartitionShares, TableShares
from keyheat.simulator.requests import RequestQueue
from keyheat.words import Direction

FEW_ITEMS: Final = 32
"""Up to this many items on a table within a second are admitted one by one."""
FULL_UNITS: Final = 0.5
"""An index's partition with less than that left to write in a second holds its table back."""


class _Table:
    """State of one table from second to second."""

    def __init__(self, shares: TableShares, rng: np.random.Generator) -> None:
        self.shares, self._rng, self._prices = shares, rng, Prices()
        self._remainders: dict[tuple[int, str], float] = {}

    def arrivals(self, flows: Sequence[Flow]) -> list[int]:
        """Whole requests of each flow in a second: at random, or evenly with the remainder kept.

        Flows of one second and the next match by place and operation.
        """
        counts: list[int] = []
        for positions in sent_together(flows):
            flow = flows[positions[0]]
            if flow.poisson:
                whole = int(self._rng.poisson(flow.requests))
            else:
                due = flow.requests + self._remainders.get((positions[0], flow.operation), 0.0)
                whole = int(due + 1e-9)
                self._remainders[positions[0], flow.operation] = due - whole
            counts += [whole] * len(positions)
        return counts

    def serve(self, flows: Sequence[Flow], requests: Sequence[int], now_s: float) -> list[FlowAnswer]:
        """Serve the requests of each flow within the second that begins now."""
        answers: dict[int, FlowAnswer] = {}
        for direction in Direction:  # writes come last: what reads were refused may have split a partition
            demand = demand_of(self.shares, direction, flows, requests, self._rng)
            if demand is not None:
                passing = self._prices.passing(demand, now_s)
                answers |= _Booking(demand, passing, now_s, self._rng).answers()
        return [answers[position] for position in range(len(flows))]


class SimulatedTables:
    """Tables, by name, under the requests of one client; `own` is the one that flows without a table name.

    `policy`: throttled requests are sent again by it; absent: every request is sent once. Unless it
    `names_keys`, answers do not say what keys asked for.
    """

    def __init__(
        self,
        models: Mapping[str, TableModel],
        *,
        own_table: str,
        seed: int,
        started_s: float,
        policy: RetryPolicy | None = None,
        clients: int = CLIENTS,
        transaction_s: float = 0.0,
        names_keys: bool = True,
    ) -> None:
        self._own_table, self._retrying, self._transaction_s = own_table, policy is not None, transaction_s
        shares = {name: TableShares(model, names_keys=names_keys) for name, model in models.items()}
        self._tables = {
            name: _Table(each, np.random.default_rng((seed, number)))
            for number, (name, each) in enumerate(shares.items())
        }
        self.queue = RequestQueue(
            shares,
            own_table=own_table,
            policy=policy or NONE,
            clients=clients if policy else 0,
            started_s=started_s,
            rng=np.random.default_rng((seed, 7)),
            transaction_s=transaction_s,
        )

    def second(self, flows: Sequence[Flow], now_s: float) -> list[FlowAnswer]:
        """All that happens in the second that begins at `now_s`: answers to the flows, in their order, then
        what became of requests of earlier seconds that were sent again. Tables without flows grow, too."""
        answers: dict[int, FlowAnswer] = {}
        for name, table in self._tables.items():
            table.shares.model.advance(now_s)
            positions = [at for at, flow in enumerate(flows) if (flow.table or self._own_table) == name]
            mine = [flows[at] for at in positions]
            counts = table.arrivals(mine)
            items = sum(count * flow.items for count, flow in zip(counts, mine, strict=True))
            may_meet = self._transaction_s and any(flow.together for flow in mine)
            if self._retrying or may_meet or items <= FEW_ITEMS:
                self.queue.arrive(name, mine, positions, counts, now_s)
            else:
                answers |= dict(zip(positions, table.serve(mine, counts, now_s), strict=True))
        now, later = self.queue.second(now_s)
        answers |= now
        return [answers[position] for position in range(len(flows))] + later


@dataclass(frozen=True, slots=True)
class _Fate:
    """The mean result of one flow's items, all sizes together."""

    items: Floats  # on each partition
    at_partition: Floats  # that its partition refuses
    accepted: Floats
    throttled: dict[Refusal, float]
    """Items by the first stage that refuses them, partitions among the stages."""
    events: dict[Refusal, float]
    """The same by everybody who refuses: each index that is full counts an event of its own."""


@dataclass(frozen=True, slots=True)
class _Booking:
    demand: Demand
    passing: Passing
    now_s: float
    rng: np.random.Generator
    events: Counter[Refusal] = field(default_factory=Counter)

    def answers(self) -> dict[int, FlowAnswer]:
        """Spend, meter, heat up; the answers by the places of their flows."""
        demand, answers = self.demand, dict[int, FlowAnswer]()
        accepted = self._accepted()
        by_row = accepted.sum(axis=1)
        used = (demand.units * demand.weights) @ accepted
        _spend(demand.buckets, used, self.now_s)
        for stage, _passed in self.passing.stages:
            _spend(stage.buckets, stage.used @ by_row, self.now_s)
        fates = [self._fate(number) for number in range(len(demand.flows))]
        missed = np.zeros((len(fates), len(used)))
        for number, (due, fate) in enumerate(zip(demand.flows, fates, strict=True)):
            rows = demand.owners == number
            answer = self._answer(due, fate, by_row[rows], demand.units[rows])
            missed[number] = self._missed(due, fate, answer)
            answers[due.position] = answer
        self._heat_up(missed, np.array([fate.items for fate in fates]), used)
        self._heat_up_indexes()
        return answers

    def _accepted(self) -> Floats:
        """Whole accepted items of each row on each partition; of a transaction, all items or none."""
        accepted, requests = _rounded(self.passing.accepted, self.rng), dict[int, int]()
        for number, due in enumerate(self.demand.flows):
            if not due.flow.together:
                continue
            rows = self.demand.owners == number
            mean = self.passing.accepted[rows]
            total = float(mean.sum())
            drawn = min(due.requests, int(_rounded(np.array([total / due.flow.items]), self.rng)[0]))
            first = due.position if due.partner is None else min(due.position, due.partner)
            items = requests.setdefault(first, drawn) * due.flow.items
            parts = mean.ravel() / max(total, 1e-12)
            accepted[rows] = self.rng.multinomial(items, parts).reshape(mean.shape) if items else 0.0
        return accepted

    def _fate(self, number: int) -> _Fate:
        demand, passing = self.demand, self.passing
        due, rows = demand.flows[number], demand.owners == number
        throttled: dict[Refusal, float] = defaultdict(float)
        events: dict[Refusal, float] = defaultdict(float)
        cells = demand.cells[rows]
        coming = np.ones(len(cells))
        for stage, passed in passing.stages:
            if stage.of_index is None:
                refused = float((cells.sum(axis=1) * coming * (1.0 - passed[rows])).sum())
                # A gate has room for the first items of a transaction, for half of them in the mean.
                throttled[stage.refusal] += refused * (due.of_request + 1) / (2 * due.of_request)
                coming = coming * passed[rows]
        reaching = cells * coming[:, None]
        at_partition = (reaching * (1.0 - passing.served[rows])).sum(axis=0)
        throttled[demand.lane(due.flow.index).key_range] += float(at_partition.sum())
        events |= throttled
        through = unserved = (reaching * passing.served[rows]).sum(axis=1)
        for index, stages in groupby(passing.stages, key=lambda each: each[0].of_index):
            each = through  # every index is asked, whatever the others answer
            for stage, passed in stages if index is not None else ():
                throttled[stage.refusal] += float((unserved * (1.0 - passed[rows])).sum())
                events[stage.refusal] += float((each * (1.0 - passed[rows])).sum())
                unserved, each = unserved * passed[rows], each * passed[rows]
        return _Fate(cells.sum(axis=0), at_partition, passing.accepted[rows].sum(axis=0), throttled, events)

    def _answer(self, due: FlowDemand, fate: _Fate, by_size: Floats, units: Floats) -> FlowAnswer:
        """Meter what one flow was answered."""
        accepted, consumed = int(by_size.sum()), float(by_size @ units)
        if accepted:
            took = units[by_size > 0.0]
            meter = self.demand.lane(due.flow.index).meter
            meter.accepted_many(accepted, consumed, self.now_s, least=float(took[0]), most=float(took[-1]))
        index_units = Counter[str]()
        for entry in due.flow.index_writes:
            index_units[entry.index] += entry.units * accepted  # type: ignore[assignment]
            meter = self.demand.table.model.resource(entry.index).write.meter
            meter.accepted_many(accepted, accepted * entry.units, self.now_s)
        cancelled = due.requests - accepted // due.flow.items
        if due.partner is not None and due.flow.within:
            throttled = 0  # they are those of the flow before
        elif due.flow.items == 1 or due.flow.together:
            throttled = cancelled
        else:  # of batches only those whose every item was
            chance = (1.0 - accepted / due.items) ** due.flow.items if due.items else 0.0
            throttled = int(self.rng.binomial(due.requests, chance))
        minutes = self.demand.table.model.minutes
        minutes.throttled_request(due.flow.operation, self.now_s, throttled)
        refused = self._refused(due, fate, accepted)
        return FlowAnswer(
            flow=due.flow,
            attempts=accepted + refused.total(),
            accepted=accepted,
            units=consumed,
            index_units=index_units,
            refused=refused,
            uses=self._uses(due, fate),
        )

    def _refused(self, due: FlowDemand, fate: _Fate, accepted: int) -> Refused:
        """Return throttled items by the reason that the client gets; each refusing limit counts the event."""
        count, total = due.items - accepted, sum(fate.throttled.values())
        if due.flow.together:
            cancelled = due.requests - accepted // due.flow.items
            mean = max(1e-12, due.requests - float(fate.accepted.sum()) / due.flow.items)
            least = cancelled if due.partner is None else 0  # else the other item may be to blame
            count = max(least, int(_rounded(np.array([cancelled * total / mean]), self.rng)[0]))
        if not count or not total:
            return Counter()
        drawn = self.rng.multinomial(count, np.array([*fate.throttled.values()]) / total).tolist()
        throttled = dict(zip(fate.throttled, drawn, strict=True))
        for refusal, some in throttled.items():
            events = some + round((fate.events[refusal] - fate.throttled[refusal]) * count / total)
            self.events[refusal] += events
            resource = self.demand.table.model.resource(refusal.index)
            lane = resource.write if refusal.direction is Direction.WRITE else resource.read
            lane.meter.refused(refusal.cause, self.now_s, events)
        return +Counter({(refusal.index, refusal.cause): some for refusal, some in throttled.items()})

    def _uses(self, due: FlowDemand, fate: _Fate) -> KeyUses | None:
        """Return requests for the most used keys: each is refused like all requests on its partition."""
        table = self.demand.table
        top = table.shares(due.flow.index).top(due.flow.keys) if table.names_keys else None
        if top is None:
            return None
        columns = self.demand.blocks[due.flow.index].start + top.partitions
        cells, items = np.maximum(fate.items, 1.0), due.items * top.shares
        by_partition = items * np.clip(fate.at_partition / cells, 0.0, 1.0)[columns]
        every = items * np.clip((fate.items - fate.accepted) / cells, 0.0, 1.0)[columns]
        return KeyUses(
            index=due.flow.index,
            names=top.names,
            items=items,
            by_partition=by_partition,
            by_limits=np.maximum(every - by_partition, 0.0),
        )

    def _missed(self, due: FlowDemand, fate: _Fate, answer: FlowAnswer) -> Floats:
        """Return the refusals of a flow's partitions, as many as the client got."""
        refusal, total = self.demand.lane(due.flow.index).key_range, float(fate.at_partition.sum())
        count = answer.refused.get((refusal.index, refusal.cause), 0)
        return fate.at_partition * (count / total if total else 0.0)

    def _heat_up(self, missed: Floats, items: Floats, used: Floats) -> None:
        """Tell every partition that refused something, or was near its ceiling; hot for long, it splits."""
        demand, refused = self.demand, missed.sum(axis=0)
        keys = [each.flow.keys for each in demand.flows]
        for index, block in demand.blocks.items():
            resource, shares = demand.table.model.resource(index), demand.table.shares(index)
            resource.partitions.missed(demand.direction, refused[block].tolist())
            busy = resource.around.behaviour.split_busy_share * SECOND_S * demand.buckets[0].rate
            hot = (self.rng.random(len(refused)) < refused) | (used >= busy)
            weights = np.where(refused > 0.0, missed, items)[:, block]
            for number in np.flatnonzero(hot[block])[::-1].tolist():  # a split moves those above it
                drawn = partial(self._drawn, shares, keys, weights, number)
                resource.partitions.throttled(number, drawn, self.now_s)

    def _heat_up_indexes(self) -> None:
        """Tell the partitions of indexes that hold back the table."""
        demand = self.demand
        for stage, _passed in self.passing.stages:
            name, count = stage.of_index, self.events[stage.refusal]
            if not count or name is None or stage.refusal.cause is not Cause.KEY_RANGE:
                continue
            resource, shares = demand.table.model.resource(name), demand.table.shares(name)
            full = room(stage.buckets, self.now_s) < FULL_UNITS
            resource.partitions.missed(Direction.WRITE, (full * (count / max(1, full.sum()))).tolist())
            entries = [(each.items, entry.keys) for each in demand.flows for entry in each.entries(name)]
            weights = np.array([items * shares.of(keys) for items, keys in entries])
            for number in np.flatnonzero(full)[::-1].tolist():
                drawn = partial(self._drawn, shares, [keys for _items, keys in entries], weights, number)
                resource.partitions.throttled(number, drawn, self.now_s)

    def _drawn(
        self, shares: PartitionShares, keys: Sequence[Masses], weights: Floats, number: int, count: int
    ) -> list[bytes]:
        """Positions of requests on one partition, those of all keys in proportion to their weights there."""
        parts = weights[:, number] / weights[:, number].sum()
        return [
            at
            for each, some in zip(keys, self.rng.multinomial(count, parts).tolist(), strict=True)
            for at in shares.positions(each, number, some, self.now_s, self.rng)
        ]


def _spend(buckets: Sequence[Bucket], units: Floats, now_s: float) -> None:
    for bucket, used in zip(buckets, units.tolist(), strict=True):
        if used:
            bucket.drain(used, now_s, SECOND_S)


def _rounded(values: Floats, rng: np.random.Generator) -> Floats:
    """Whole numbers that are the values in the mean: the fraction is the chance of one more."""
    whole = np.floor(values)
    return whole + (rng.random(values.shape) < values - whole)
