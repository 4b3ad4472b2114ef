"""A scenario's tables, second by second: many requests are computed together, few one by one.

    held at the start + what is earned in the second = what a bucket can serve in it

The requests of a second arrive evenly, so whatever refuses some of them thins them all alike (`limits.py`).
The few requests of a quiet second, transactions that may meet, and the requests of clients that retry are
asked one by one (`requests.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from keyheat.model.retries import CLIENTS, NONE, RetryPolicy
from keyheat.model.table import TableModel
from keyheat.simulator.demand import FlowArrivals
from keyheat.simulator.flow import Flow, FlowAnswer
from keyheat.simulator.limits import Prices
from keyheat.simulator.requests import RequestQueue, RetryTally
from keyheat.simulator.second import serve
from keyheat.simulator.shares import TableShares

FEW_ITEMS: Final = 32
"""Up to this many items on a table within a second are admitted one by one."""


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
