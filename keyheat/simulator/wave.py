"""One second of flows against a table: counts in closed form, or, if they are few, one request by one.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses earlier thins them all alike: what every request
shares (quota, maximum, provisioned throughput, an index that holds back every write) lets a part x of them
pass, and each partition serves of that what it can. `fill` finds x. Refusals are put down to the limits in
the order in which a request asks them. The few requests of a quiet second are asked one by one.
"""

from collections.abc import Sequence

import numpy as np

from keyheat.model.table import TableModel
from keyheat.simulator.asking import Outcome, answer_of, ask, ops_of, outcomes_of
from keyheat.simulator.flow import Flow, FlowAnswer, sent_together
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
    outcomes: list[list[Outcome]] = [[] for _ in flows]
    moments_s = np.sort(rng.random(len(of_kind))) + now_s
    for at_s, number in zip(moments_s.tolist(), of_kind.tolist(), strict=True):
        items = [place for place in kinds[number] for _ in range(flows[place].items)]
        ops = [ops_of(ground, flows[place], 1, at_s, rng)[0] for place in items]
        refusals = ask(ground.model, flows[items[0]], ops, at_s)
        for place, outcome in outcomes_of(flows[items[0]], ops, refusals):
            outcomes[items[place]].append(outcome)
    return [answer_of(ground, flow, found) for flow, found in zip(flows, outcomes, strict=True)]


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
