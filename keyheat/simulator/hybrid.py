"""A simulated table: many requests of a second as a fluid, in closed form; a few as discrete events.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses earlier thins them all alike: what every request
shares (quota, maximum, provisioned throughput, an index that holds back every write) lets a part x of them
pass, and each partition serves of that what it can. `fill` finds x. Refusals are put down to the limits in
the order in which a request asks them (`fluid.py`). The few requests of a quiet second are asked one by one
(`discrete.py`).
"""

from collections.abc import Sequence

import numpy as np

from keyheat.model.table import TableModel
from keyheat.simulator.conflicts import TransactionConflicts, with_conflicts
from keyheat.simulator.demand import FlowArrivals, FlowDemand
from keyheat.simulator.discrete import one_by_one
from keyheat.simulator.flow import Flow, FlowAnswer, sent_together
from keyheat.simulator.fluid import serve_reads, serve_writes
from keyheat.simulator.shares import TableShares
from keyheat.words import Direction

FEW_ITEMS = 32
"""So few items on a table within a second are asked one by one."""


class HybridTable:
    """A table that is simulated second by second: `model` is what it is, flows are what reaches it.

    Unless it `names_keys`, its answers do not say what keys asked for.
    """

    __slots__ = ("_arrivals", "_conflicts", "_rng", "_table", "model")

    def __init__(
        self,
        model: TableModel,
        rng: np.random.Generator,
        transaction_s: float = 0.0,
        *,
        names_keys: bool = True,
    ) -> None:
        self.model = model
        self._conflicts = TransactionConflicts(transaction_s)
        self._rng = rng
        self._arrivals = FlowArrivals(rng)
        self._table = TableShares(model, names_keys=names_keys)

    def second(self, flows: Sequence[Flow], now_s: float) -> list[FlowAnswer]:
        """Send what is sent in the second that begins at `now_s`; the answers are in the order of flows."""
        self.model.advance(now_s)
        left, requests, met = self._conflicts.without(flows, self._arrivals.in_second(flows), self._rng)
        answers = self._served(left, requests, now_s)
        if met:
            self.model.minutes.transaction_conflicts(sum(met.values()), now_s)
            answers = [
                with_conflicts(flow, answer, met.get(place, 0))
                for place, (flow, answer) in enumerate(zip(flows, answers, strict=True))
            ]
        return answers

    def _served(self, flows: Sequence[Flow], requests: Sequence[int], now_s: float) -> list[FlowAnswer]:
        items = [count * flow.items for count, flow in zip(requests, flows, strict=True)]
        if sum(items) <= FEW_ITEMS:
            return one_by_one(self._table, flows, requests, now_s, self._rng)
        answers: dict[int, FlowAnswer] = {}
        answers |= serve_reads(self._table, self._asked(Direction.READ, flows, requests), now_s, self._rng)
        # Drawn only now: what the reads refused may have split a partition.
        answers |= serve_writes(self._table, self._asked(Direction.WRITE, flows, requests), now_s, self._rng)
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
                found += FlowDemand.pair(places, flows, count, self._table, self._rng)
            else:
                found.append(FlowDemand.drawn(places[0], flow, count, self._table, self._rng))
        return found
