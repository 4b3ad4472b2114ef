"""One second of flows against a table: counts in closed form, or, if they are few, one request by one.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses earlier thins them all alike: what every request
shares (quota, maximum, provisioned throughput, an index that holds back every write) lets a part x of them
pass, and each partition serves of that what it can. `fill` finds x. Refusals are put down to the limits in
the order in which a request asks them. The few requests of a quiet second are asked one by one.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from keyheat.model.resources import Cause, Refusal
from keyheat.model.table import IndexWrite, Op, TableModel
from keyheat.simulator.flow import Flow, FlowAnswer, KeyUses, sent_together
from keyheat.simulator.meetings import Meetings, told
from keyheat.simulator.serving import serve_reads, serve_writes
from keyheat.simulator.shares import FlowArrivals, FlowDemand, TableShares
from keyheat.words import Direction


def one_by_one(
    ground: TableShares,
    flows: Sequence[Flow],
    requests: Sequence[int],
    now_s: float,
    rng: np.random.Generator,
) -> list[FlowAnswer]:
    """What becomes of so many requests of each flow, mixed at random, at moments drawn evenly."""
    kinds = sent_together(flows)
    of_kind = np.repeat(np.arange(len(kinds)), [requests[places[0]] for places in kinds])
    rng.shuffle(of_kind)
    outcomes: list[list[Refusal | None]] = [[] for _ in flows]
    moments_s = np.sort(rng.random(len(of_kind))) + now_s
    for at_s, number in zip(moments_s.tolist(), of_kind.tolist(), strict=True):
        items = [place for place in kinds[number] for _ in range(flows[place].items)]
        refusals = _ask(ground, [flows[place] for place in items], at_s, rng)
        first = flows[items[0]]
        cancelled = first.together and any(refusals)
        for place, refusal in zip(items, refusals, strict=True):
            if refusal or not cancelled:
                outcomes[place].append(refusal)
        if cancelled or all(refusals):
            ground.model.minutes.throttled_request(first.operation, at_s)
    return [_answer(ground, flow, found) for flow, found in zip(flows, outcomes, strict=True)]


def _ask(
    ground: TableShares, items: Sequence[Flow], at_s: float, rng: np.random.Generator
) -> list[Refusal | None]:
    """One request with an item of each of these flows: an answer for each."""
    model, flow = ground.model, items[0]
    ops = [_op(ground, each, at_s, rng) for each in items]
    if flow.together:
        return model.admit_together(ops, at_s)
    if flow.direction is Direction.READ:
        return [
            model.admit_read(op.position, op.units, at_s, index=op.index, eventual=op.eventual) for op in ops
        ]
    return [model.admit_write(op.position, op.units, at_s, op.index_writes) for op in ops]


def _op(ground: TableShares, flow: Flow, at_s: float, rng: np.random.Generator) -> Op:
    (position,) = ground.shares(flow.index).positions(flow.keys, None, 1, at_s, rng)
    entries = tuple(
        IndexWrite(
            entry.index,
            ground.shares(entry.index).positions(entry.keys, None, 1, at_s, rng)[0],
            entry.units,
        )
        for entry in flow.index_writes
    )
    return Op(
        direction=flow.direction,
        position=position,
        units=flow.units,
        index=flow.index,
        index_writes=entries,
        eventual=flow.eventual,
    )


def _uses(
    ground: TableShares, flow: Flow, items: int, refused: Counter[tuple[str | None, Cause]]
) -> KeyUses | None:
    """What the most used keys asked for, in the mean: which keys the requests had is not kept."""
    top = ground.shares(flow.index).top(flow.keys)
    if top is None:
        return None
    own = refused[flow.index, Cause.KEY_RANGE]
    return KeyUses(
        index=flow.index,
        names=top.names,
        asked=items * top.shares,
        by_partition=own * top.shares,
        by_limits=(refused.total() - own) * top.shares,
    )


def _answer(ground: TableShares, flow: Flow, outcomes: Sequence[Refusal | None]) -> FlowAnswer:
    refused: Counter[tuple[str | None, Cause]] = Counter(
        (refusal.index, refusal.cause) for refusal in outcomes if refusal is not None
    )
    accepted = len(outcomes) - refused.total()
    index_units: Counter[str] = Counter()
    for entry in flow.index_writes:
        index_units[entry.index] += entry.units * accepted  # type: ignore[assignment]
    return FlowAnswer(
        flow=flow,
        attempts=len(outcomes),
        accepted=accepted,
        units=accepted * flow.units,
        index_units=index_units,
        refused=refused,
        uses=_uses(ground, flow, len(outcomes), refused),
    )


FEW_ITEMS = 32
"""So few items on a table within a second are asked one by one."""


class Wave:
    """The flows that reach one table, second after second."""

    __slots__ = ("_arrivals", "_ground", "_meetings", "_rng", "model")

    def __init__(self, model: TableModel, rng: np.random.Generator, transaction_s: float = 0.0) -> None:
        self.model = model
        self._meetings = Meetings(transaction_s)
        self._rng = rng
        self._arrivals = FlowArrivals(rng)
        self._ground = TableShares(model)

    def second(self, flows: Sequence[Flow], now_s: float) -> list[FlowAnswer]:
        """Send what is sent in the second that begins at `now_s`; the answers are in the order of flows."""
        self.model.advance(now_s)
        left, requests, met = self._meetings.leave(flows, self._arrivals.in_second(flows), self._rng)
        answers = self._served(left, requests, now_s)
        if met:
            self.model.minutes.transaction_conflicts(sum(met.values()), now_s)
            answers = [
                told(flow, answer, met.get(place, 0))
                for place, (flow, answer) in enumerate(zip(flows, answers, strict=True))
            ]
        return answers

    def _served(self, flows: Sequence[Flow], requests: Sequence[int], now_s: float) -> list[FlowAnswer]:
        items = [count * flow.items for count, flow in zip(requests, flows, strict=True)]
        if sum(items) <= FEW_ITEMS:
            return one_by_one(self._ground, flows, requests, now_s, self._rng)
        answers: dict[int, FlowAnswer] = {}
        answers |= serve_reads(self._ground, self._asked(Direction.READ, flows, requests), now_s, self._rng)
        # Drawn only now: what the reads refused may have split a partition.
        answers |= serve_writes(self._ground, self._asked(Direction.WRITE, flows, requests), now_s, self._rng)
        return [answers[place] for place in range(len(flows))]

    def _asked(
        self, direction: Direction, flows: Sequence[Flow], requests: Sequence[int]
    ) -> list[FlowDemand]:
        """The flows of one direction, divided among the partitions that there are now."""
        found: list[FlowDemand] = []
        for places in sent_together(flows):
            flow, count = flows[places[0]], requests[places[0]]
            if flow.direction is not direction:
                continue
            if len(places) > 1:
                found += FlowDemand.pair(places, flows, count, self._ground, self._rng)
            else:
                found.append(FlowDemand.drawn(places[0], flow, count, self._ground, self._rng))
        return found
