"""Transactions that conflict on an item (TransactionConflict): cancelled, they ask for no capacity.

Which of them meet is worked out for each named key that stands for one item: of its transactions, r a second,
the part `lost_share(r)` finds another one under way. Keys too many to name meet nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from keyheat.simulator.flow import Flow, FlowAnswer, sent_together
from keyheat.simulator.masses import Floats, Masses, thinned
from keyheat.words import Direction


def lost_share(per_s: Floats, lasts_s: float) -> Floats:
    """The part of the transactions on each item that meet another one, where they come at random.

        share lost = r d / (1 + r d)        r: transactions per second, d: seconds that each is under way

    Erlang's loss formula for one server: whoever comes while it is busy goes away.
    """
    busy = per_s * lasts_s
    return busy / (1.0 + busy)


Kept = tuple[float, Masses]
"""The part of a flow's items that meets nobody, and the keys of those."""


@dataclass(slots=True)
class TransactionConflicts:
    """What becomes of one table's transactions before they are asked for; each lasts `lasts_s`."""

    lasts_s: float
    _known: dict[int, tuple[Masses, str, Kept]] = field(default_factory=dict)  # by the place of a flow

    def without(
        self, flows: Sequence[Flow], requests: Sequence[int], rng: np.random.Generator
    ) -> tuple[list[Flow], list[int], dict[int, int]]:
        """The flows and their requests without those that meet; and how many met, by the place of the flow on
        whose items they did."""
        left, counts, met = list(flows), list(requests), dict[int, int]()
        if not self.lasts_s:
            return left, counts, met
        for places in sent_together(flows):
            if not flows[places[0]].together or flows[places[0]].direction is not Direction.WRITE:
                continue
            of_all = counts[places[0]]
            for place in places:
                part, keys = self._kept(place, flows[place])
                whole = part ** flows[place].items
                met[place] = int(rng.binomial(of_all, min(1.0, max(0.0, 1.0 - whole))))
                of_all -= met[place]
                left[place] = replace(flows[place], keys=keys)
            for place in places:
                counts[place] = of_all
        return left, counts, met

    def _kept(self, place: int, flow: Flow) -> Kept:
        """A rate that changes little is no other question."""
        per_s = flow.requests * flow.items
        known = self._known.get(place)
        if known is not None and known[0] is flow.keys and known[1] == f"{per_s:.2g}":
            return known[2]
        named = np.ones_like(flow.keys.shares)
        if flow.keys.within == "point":
            named = 1.0 - lost_share(per_s * flow.keys.shares, self.lasts_s)
        kept = thinned(flow.keys, named, 1.0) if len(named) and named.min() < 1.0 else (1.0, flow.keys)
        self._known[place] = flow.keys, f"{per_s:.2g}", kept
        return kept


def with_conflicts(flow: Flow, answer: FlowAnswer, met: int) -> FlowAnswer:
    """The answer to the whole flow, those that met included."""
    return replace(answer, flow=flow, conflicts=met)
