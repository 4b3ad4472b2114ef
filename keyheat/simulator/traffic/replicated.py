"""The writes that come to a global table from its other Regions, beside those of the load.

DynamoDB copies a write until it went through: what a Region refuses comes again a second later, and no
application is told. So a copy comes late where a Region throttles. How the service paces copies is not
published; that they take write units like others is:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from keyheat.simulator.flow import Counting, Flow, FlowAnswer, Traffic
from keyheat.words import Direction

REPLICATION: Final = "Replication"
"""What stands where requests of an application have the name of their operation."""


@dataclass(slots=True)
class Replicated:
    """A load test's traffic, and beside each of its writes so many that other Regions took."""

    load: Traffic
    per_write: float
    _copied: dict[tuple[str, int], Flow] = field(default_factory=dict, init=False)  # by operation, and which
    _waiting: dict[tuple[str, int], float] = field(default_factory=dict, init=False)  # refused so far
    _sent: int = field(default=0, init=False)  # flows of the load itself in this second
    _counts: Counter[str] = field(default_factory=Counter, init=False)

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        flows = self.load.second(at_s)
        self._sent, place = len(flows), Counter[str]()
        fresh = dict.fromkeys(self._copied, 0.0)
        for flow in flows:
            if flow.direction is Direction.WRITE and flow.table is None:
                kind = flow.operation, place[flow.operation]
                place[flow.operation] += 1
                self._copied[kind] = replace(
                    flow, operation=REPLICATION, ours=False, together=False, within=False
                )
                fresh[kind] = flow.requests * self.per_write
        copies = [
            replace(flow, requests=fresh[kind] + self._waiting.get(kind, 0.0))
            for kind, flow in self._copied.items()
        ]
        return [*flows, *copies]

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        """Let copies that were refused come again."""
        self.load.answered(at_s, answers[: self._sent])
        for kind, answer in zip(self._copied, answers[self._sent :], strict=True):
            refused = answer.attempts - answer.accepted
            self._waiting[kind] = refused / answer.flow.items
            self._counts["replication.written"] += answer.accepted
            self._counts["replication.refused"] += refused
        waiting = sum(self._waiting[kind] * flow.items for kind, flow in self._copied.items())
        self._counts["replication.waiting"] = max(self._counts["replication.waiting"], round(waiting))

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counted, and the copies: written, refused, and waiting at once at the most."""
        own = self.load.counts if isinstance(self.load, Counting) else {}
        return {**own, **self._counts}
