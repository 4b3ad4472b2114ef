"""What is sent to a simulated table within one second, as counts of requests of one kind.

    Traffic --second()--> Flow, Flow ... --admitted by the model--> Answer, Answer ... --answered()--> Traffic

A `Flow` says how many requests of one kind arrive within a second and on which keys they fall; the requests
are spread evenly over the second. A `Traffic` is a load test as seen from the table: what it sends may depend
on the answers so far, as that of a writer who adds shards does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from keyheat.model.resources import Cause
from keyheat.simulator.keyuses import KeyUses
from keyheat.simulator.masses import Masses
from keyheat.words import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFlow:
    """The entries that the writes of a flow put into, or remove from, one global secondary index."""

    index: str
    units: float
    """Index units per request of the flow, in the mean: 2 for an entry that moves (a delete and a put)."""
    keys: Masses


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Requests of one kind within one second. Items of a batch are admitted one by one."""

    operation: str  # DynamoDB's name: PutItem, Query, BatchWriteItem ...
    direction: Direction
    requests: float  # within the second, in the mean
    keys: Masses
    units: float = 1.0  # per item, in the mean
    sizes: tuple[tuple[float, float], ...] = ()
    """(units, part of the items) of each size, where not all items take `units`; that stays their mean."""
    items: int = 1  # per request
    together: bool = False  # a transaction: all items of a request, or none
    within: bool = False  # a part of the requests of the flow before it, and none of its own
    eventual: bool = False
    index: str | None = None  # the index that is read; None: the table
    index_writes: tuple[IndexFlow, ...] = ()
    table: str | None = None  # a companion's name; None: the scenario's table
    poisson: bool = False  # arrivals at random; else evenly spaced
    ours: bool = True  # False: somebody else's, which the client's record does not hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of the requests of one flow within its second."""

    flow: Flow
    attempts: int  # of a batch, its items; of a cancelled transaction, the items that were throttled
    accepted: int
    units: float  # consumed by the accepted ones, of the table or index that the flow names
    index_units: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[tuple[str | None, Cause], int] = field(default_factory=dict)
    """Throttled attempts by (index that refused, or None for the table itself; cause): one cause each."""
    uses: KeyUses | None = None
    """What the most used keys asked for; None where no key is named."""


class Traffic(Protocol):
    """A load test as the table meets it."""

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""

    def answered(self, at_s: float, answers: Sequence[Answer]) -> None:
        """What became of it, in the order of the flows."""


@runtime_checkable
class Counting(Protocol):
    """A load test that counts what it did, as that of a real run does."""

    @property
    def counts(self) -> Mapping[str, float]:
        """Numbers by `group.what`, such as `cache.hits`."""
