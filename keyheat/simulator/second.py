"""A scenario's tables, second by second: many requests are computed together, few one by one.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses some of them thins them all alike (`limits.py`).
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
from keyheat.simulator.demand import Demand, FlowArrivals, FlowDemand, demand_of, rounded
from keyheat.simulator.flow import Flow, FlowAnswer, KeyUses, Refused
from keyheat.simulator.limits import SECOND_S, Passing, Prices, entries_of, room
from keyheat.simulator.masses import Floats, Masses
from keyheat.simulator.requests import RequestQueue, RetryTally
from keyheat.simulator.shares import PartitionShares, TableShares
from keyheat.words import Direction

FEW_ITEMS: Final = 32
"""Up to this many items on a table within a second are admitted one by one."""
FULL_UNITS: Final = 0.5
"""An index's partition with less than that left to write in a second holds its table back."""


class _Table:
    """State of one table from second to second."""

    __slots__ = ("arrivals", "prices", "rng", "shares")

    def __init__(self, shares: TableShares, rng: np.random.Generator) -> None:
        self.shares, self.rng = shares, rng
        self.arrivals, self.prices = FlowArrivals(rng), Prices()


class SimulatedTables:
    """Tables, by name, under the requests of one client; `own` is the one that flows without a table name.

    `policy`: throttled requests are sent again by it; absent: every request is sent once. Unless it
    `names_keys`, answers do not say what keys asked for.
    """

    def __init__(
        self,
        models: Mapping[str, TableModel],
        *,
        own: str,
        seed: int,
        started_s: float,
        policy: RetryPolicy | None = None,
        clients: int = CLIENTS,
        transaction_s: float = 0.0,
        names_keys: bool = True,
    ) -> None:
        self.models, self._own, self._retrying = models, own, policy is not None
        self._transaction_s = transaction_s
        shares = {name: TableShares(model, names_keys=names_keys) for name, model in models.items()}
        self._tables = {
            name: _Table(each, np.random.default_rng((seed, number)))
            for number, (name, each) in enumerate(shares.items())
        }
        self._queue = RequestQueue(
            shares,
            own=own,
            policy=policy or NONE,
            clients=clients if policy else 0,
            started_s=started_s,
            rng=np.random.default_rng((seed, 7)),
            transaction_s=transaction_s,
        )

    @property
    def tally(self) -> RetryTally:
        """Results of the requests that were admitted one by one."""
        return self._queue.tally

    @property
    def under_way(self) -> int:
        """Requests that are neither accepted nor given up."""
        return self._queue.under_way

    def second(self, flows: Sequence[Flow], now_s: float) -> list[FlowAnswer]:
        """All that happens in the second that begins at `now_s`: answers to the flows, in their order, then
        what became of requests of earlier seconds that were sent again. Tables without flows grow, too."""
        answers: dict[int, FlowAnswer] = {}
        for name, table in self._tables.items():
            table.shares.model.advance(now_s)
            places = [place for place, flow in enumerate(flows) if (flow.table or self._own) == name]
            mine = [flows[place] for place in places]
            counts = table.arrivals.in_second(mine)
            if self._one_by_one(mine, counts):
                self._queue.arrive(name, mine, places, counts, now_s)
            else:
                found = serve(table.shares, table.prices, mine, counts, now_s, table.rng)
                answers |= dict(zip(places, found, strict=True))
        now, later = self._queue.second(now_s)
        answers |= now
        return [answers[place] for place in range(len(flows))] + later

    def _one_by_one(self, flows: Sequence[Flow], counts: Sequence[int]) -> bool:
        """Return whether to admit each request by itself: with retries, with transactions that may conflict,
        and in a quiet second."""
        if self._retrying or (self._transaction_s and any(flow.together for flow in flows)):
            return True
        return sum(count * flow.items for count, flow in zip(counts, flows, strict=True)) <= FEW_ITEMS


def serve(
    table: TableShares,
    prices: Prices,
    flows: Sequence[Flow],
    requests: Sequence[int],
    now_s: float,
    rng: np.random.Generator,
) -> list[FlowAnswer]:
    """Serve the requests of each flow within the second that begins now."""
    answers: dict[int, FlowAnswer] = {}
    for direction in Direction:  # writes are divided last: what reads were refused may have split a partition
        demand = demand_of(table, direction, flows, requests, rng)
        if demand is not None:
            passing = prices.passing(demand, room(demand.buckets, now_s), now_s)
            answers |= _Booking(demand, passing, now_s, rng).answers()
    return [answers[place] for place in range(len(flows))]


@dataclass(frozen=True, slots=True)
class _Fate:
    """The mean result of one flow's items, all sizes together."""

    asked: Floats  # on each partition
    at_partition: Floats  # that its partition refuses
    accepted: Floats
    told: dict[Refusal, float]
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
        demand, found = self.demand, dict[int, FlowAnswer]()
        accepted = self._accepted()
        by_row = accepted.sum(axis=1)
        used = (demand.units * demand.weights) @ accepted
        _spend(demand.buckets, used, self.now_s)
        for stage, _passed in self.passing.stages:
            _spend(stage.buckets, stage.used @ by_row, self.now_s)
        fates = [self._fate(number) for number in range(len(demand.flows))]
        missed = np.zeros((len(fates), len(used)))
        for number, (one, fate) in enumerate(zip(demand.flows, fates, strict=True)):
            rows = demand.owners == number
            answer = self._answer(one, fate, by_row[rows], demand.units[rows])
            missed[number] = self._missed(one, fate, answer)
            found[one.place] = answer
        self._heat_up(missed, np.array([fate.asked for fate in fates]), used)
        self._heat_up_indexes()
        return found

    def _accepted(self) -> Floats:
        """Whole accepted items of each row on each partition; of a transaction, all items or none."""
        accepted, requests = rounded(self.passing.accepted, self.rng), dict[int, int]()
        for number, one in enumerate(self.demand.flows):
            if not one.flow.together:
                continue
            rows = self.demand.owners == number
            mean = self.passing.accepted[rows]
            total = float(mean.sum())
            drawn = min(one.requests, int(rounded(np.array([total / one.flow.items]), self.rng)[0]))
            first = one.place if one.partner is None else min(one.place, one.partner)
            items = requests.setdefault(first, drawn) * one.flow.items
            parts = mean.ravel() / max(total, 1e-12)
            accepted[rows] = self.rng.multinomial(items, parts).reshape(mean.shape) if items else 0.0
        return accepted

    def _fate(self, number: int) -> _Fate:
        demand, passing = self.demand, self.passing
        one, rows = demand.flows[number], demand.owners == number
        told: dict[Refusal, float] = defaultdict(float)
        events: dict[Refusal, float] = defaultdict(float)
        cells = demand.cells[rows]
        coming = np.ones(len(cells))
        for stage, passed in passing.stages:
            if stage.of_index is None:
                refused = float((cells.sum(axis=1) * coming * (1.0 - passed[rows])).sum())
                # A gate has room for the first items of a transaction, for half of them in the mean.
                told[stage.refusal] += refused * (one.of_request + 1) / (2 * one.of_request)
                coming = coming * passed[rows]
        reaching = cells * coming[:, None]
        at_partition = (reaching * (1.0 - passing.served[rows])).sum(axis=0)
        told[demand.lane(one.flow.index).key_range] += float(at_partition.sum())
        events |= told
        through = left = (reaching * passing.served[rows]).sum(axis=1)
        for index, stages in groupby(passing.stages, key=lambda each: each[0].of_index):
            each = through  # every index is asked, whatever the others answer
            for stage, passed in stages if index is not None else ():
                told[stage.refusal] += float((left * (1.0 - passed[rows])).sum())
                events[stage.refusal] += float((each * (1.0 - passed[rows])).sum())
                left, each = left * passed[rows], each * passed[rows]
        return _Fate(cells.sum(axis=0), at_partition, passing.accepted[rows].sum(axis=0), told, events)

    def _answer(self, one: FlowDemand, fate: _Fate, by_size: Floats, units: Floats) -> FlowAnswer:
        """Meter what one flow was answered."""
        accepted, consumed = int(by_size.sum()), float(by_size @ units)
        if accepted:
            took = units[by_size > 0.0]
            meter = self.demand.lane(one.flow.index).meter
            meter.accepted_many(accepted, consumed, self.now_s, least=float(took[0]), most=float(took[-1]))
        index_units = Counter[str]()
        for entry in one.flow.index_writes:
            index_units[entry.index] += entry.units * accepted  # type: ignore[assignment]
            meter = self.demand.table.model.resource(entry.index).write.meter
            meter.accepted_many(accepted, accepted * entry.units, self.now_s)
        minutes = self.demand.table.model.minutes
        minutes.throttled_request(one.flow.operation, self.now_s, self._throttled_requests(one, accepted))
        refused = self._refused(one, fate, accepted)
        return FlowAnswer(
            flow=one.flow,
            attempts=accepted + refused.total(),
            accepted=accepted,
            units=consumed,
            index_units=index_units,
            refused=refused,
            uses=self._uses(one, fate),
        )

    def _throttled_requests(self, one: FlowDemand, accepted: int) -> int:
        """API calls that count as throttled: of batches only those whose every item was."""
        items = one.flow.items
        if one.partner is not None and one.flow.within:
            return 0  # they are those of the flow before
        if items == 1 or one.flow.together:
            return one.requests - accepted // items
        chance = (1.0 - accepted / one.items) ** items if one.items else 0.0
        return int(self.rng.binomial(one.requests, chance))

    def _refused(self, one: FlowDemand, fate: _Fate, accepted: int) -> Refused:
        """Return throttled items by the reason that the client gets; each refusing limit counts the event."""
        count, total = one.items - accepted, sum(fate.told.values())
        if one.flow.together:
            cancelled = one.requests - accepted // one.flow.items
            mean = max(1e-12, one.requests - float(fate.accepted.sum()) / one.flow.items)
            least = cancelled if one.partner is None else 0  # else the other item may be to blame
            count = max(least, int(rounded(np.array([cancelled * total / mean]), self.rng)[0]))
        if not count or not total:
            return Counter()
        drawn = self.rng.multinomial(count, np.array([*fate.told.values()]) / total).tolist()
        told = dict(zip(fate.told, drawn, strict=True))
        for refusal, some in told.items():
            events = some + round((fate.events[refusal] - fate.told[refusal]) * count / total)
            self.events[refusal] += events
            resource = self.demand.table.model.resource(refusal.index)
            lane = resource.write if refusal.direction is Direction.WRITE else resource.read
            lane.meter.refused(refusal.cause, self.now_s, events)
        return +Counter({(refusal.index, refusal.cause): some for refusal, some in told.items()})

    def _uses(self, one: FlowDemand, fate: _Fate) -> KeyUses | None:
        """Return requests for the most used keys: each is refused like all requests on its partition."""
        table = self.demand.table
        top = table.shares(one.flow.index).top(one.flow.keys) if table.names_keys else None
        if top is None:
            return None
        columns = self.demand.blocks[one.flow.index].start + top.partitions
        cells, asked = np.maximum(fate.asked, 1.0), one.items * top.shares
        by_partition = asked * np.clip(fate.at_partition / cells, 0.0, 1.0)[columns]
        every = asked * np.clip((fate.asked - fate.accepted) / cells, 0.0, 1.0)[columns]
        return KeyUses(
            index=one.flow.index,
            names=top.names,
            asked=asked,
            by_partition=by_partition,
            by_limits=np.maximum(every - by_partition, 0.0),
        )

    def _missed(self, one: FlowDemand, fate: _Fate, answer: FlowAnswer) -> Floats:
        """Return the refusals of a flow's partitions, as many as the client got."""
        refusal, total = self.demand.lane(one.flow.index).key_range, float(fate.at_partition.sum())
        count = answer.refused.get((refusal.index, refusal.cause), 0)
        return fate.at_partition * (count / total if total else 0.0)

    def _heat_up(self, missed: Floats, asked: Floats, used: Floats) -> None:
        """Tell every partition that refused something, or was near its ceiling; hot for long, it splits."""
        demand, refused = self.demand, missed.sum(axis=0)
        keys = [one.flow.keys for one in demand.flows]
        for index, block in demand.blocks.items():
            resource, shares = demand.table.model.resource(index), demand.table.shares(index)
            resource.partitions.missed(demand.direction, refused[block].tolist())
            busy = resource.around.behaviour.split_busy_share * SECOND_S * demand.buckets[0].rate
            hot = (self.rng.random(len(refused)) < refused) | (used >= busy)
            weights = np.where(refused > 0.0, missed, asked)[:, block]
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
            entries = [(one.items, each.keys) for one in demand.flows for each in entries_of(one, name)]
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
