"""One second of flows against a table, in closed form: the same buckets, counts instead of requests.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses earlier thins them all alike: what every request
shares (quota, maximum, provisioned throughput, an index that holds back every write) lets a part x of them
pass, and each partition serves of that what it can. `fill` finds x. Refusals are put down to the limits in
the order in which a request asks them. The few requests of a quiet second are asked one by one.
"""

from collections.abc import Sequence

import numpy as np

from keyheat.model.table import TableModel
from keyheat.simulator.asked import Arrivals, Asked, Ground
from keyheat.simulator.flow import Answer, Flow
from keyheat.simulator.onebyone import one_by_one
from keyheat.simulator.reads import serve_reads
from keyheat.simulator.writes import serve_writes
from keyheat.words import Direction

FEW_ITEMS = 32
"""So few items on a table within a second are asked one by one."""


class Wave:
    """The flows that reach one table, second after second."""

    __slots__ = ("_arrivals", "_ground", "_rng", "model")

    def __init__(self, model: TableModel, rng: np.random.Generator) -> None:
        self.model = model
        self._rng = rng
        self._arrivals = Arrivals(rng)
        self._ground = Ground(model)

    def second(self, flows: Sequence[Flow], now_s: float) -> list[Answer]:
        """Send what is sent in the second that begins at `now_s`; the answers are in the order of flows."""
        self.model.advance(now_s)
        requests = self._arrivals.in_second(flows)
        items = [count * flow.items for count, flow in zip(requests, flows, strict=True)]
        if sum(items) <= FEW_ITEMS:
            return one_by_one(self._ground, flows, requests, now_s, self._rng)
        answers: dict[int, Answer] = {}
        answers |= serve_reads(self._ground, self._asked(Direction.READ, flows, requests), now_s, self._rng)
        # Drawn only now: what the reads refused may have split a partition.
        answers |= serve_writes(self._ground, self._asked(Direction.WRITE, flows, requests), now_s, self._rng)
        return [answers[place] for place in range(len(flows))]

    def _asked(self, direction: Direction, flows: Sequence[Flow], requests: Sequence[int]) -> list[Asked]:
        """The flows of one direction, divided among the partitions that there are now."""
        return [
            Asked.drawn(place, flow, count, self._ground, self._rng)
            for place, (flow, count) in enumerate(zip(flows, requests, strict=True))
            if flow.direction is direction
        ]
