"""The requests of one second as counts, and the results of the hottest keys.

    Traffic --second()--> Flow, Flow ... --admitted by the model--> Answer, Answer ... --answered()--> Traffic

A `Flow` says how many requests of one kind arrive within a second and on which keys they fall; the requests
are spread evenly over the second. A `Traffic` is a load test as seen from the table: what it sends may depend
on the answers so far, as that of a writer who adds shards does.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from operator import attrgetter
from typing import Final, Protocol

import numpy as np

from keyheat.model.resources import Cause, Refusal
from keyheat.simulator.masses import Floats, Masses, most_used
from keyheat.words import Direction

WINDOW_S: Final = 5
WINDOWS_KEPT: Final = 720  # an hour of windows; a longer run has longer ones
WINDOW_KEPT: Final = 60  # keys of a closed window
RUN_KEPT: Final = 4_096  # keys of the run; when there are twice as many, the least used ones are forgotten

Refused = Counter[tuple[str | None, Cause]]
"""Throttled attempts by (index that refused, or None for the table itself; cause): one cause each."""
Heat = list[float]  # units asked for, throttles, units consumed


@dataclass(frozen=True, slots=True)
class KeyUses:
    """Means of the most used keys of a flow in one second: requested items, and refused ones."""

    index: str | None  # the index that is read; None: the table
    names: Sequence[str]
    items: Floats
    by_partition: Floats  # refused by the key's own partition
    by_limits: Floats  # refused by what all keys share

    def throttled(self, refusal: Refusal, count: int, most: int, notable: float) -> Iterator[tuple[str, int]]:
        """The keys that stand out among `count` throttles of one reason, each with its own."""
        by_key = refusal.cause is Cause.KEY_RANGE and refusal.index == self.index
        refused = self.by_partition if by_key else self.by_limits
        remaining = count
        for number in nlargest(most, range(len(self.names)), key=refused.__getitem__):
            some = min(remaining, round(float(refused[number])))
            if some < max(1.0, notable * count):
                return
            remaining -= some
            yield self.names[number], some


@dataclass(slots=True)
class KeyHistory:
    """The uses of keys in one direction: of the run, and of each window. Bounded however long the run is."""

    window_s: int
    run: dict[str, Heat] = field(default_factory=dict)
    windows: dict[int, dict[str, Heat]] = field(default_factory=dict)  # by start second
    total_units: float = 0.0

    def add(self, second: int, answer: "FlowAnswer") -> None:
        """Count one flow's second."""
        units, uses = answer.flow.units, answer.uses  # entries in indexes are counted by the keys of those
        self.total_units += answer.attempts * units
        if uses is not None:
            items, refused = uses.items, uses.by_partition + uses.by_limits
            heats = np.array([items * units, refused, (items - refused) * units]).T.tolist()
            self._add(second, uses.names, heats)

    def add_entries(self, second: int, answer: "FlowAnswer", entry: "IndexFlow") -> None:
        """Count what one flow's second writes to an index, or is refused for it, by the index's keys."""
        refused = sum(count for (index, _cause), count in answer.refused.items() if index == entry.index)
        self.total_units += answer.attempts * entry.units
        numbers, names = most_used(entry.keys)
        kinds = answer.attempts * entry.units, refused, answer.accepted * entry.units
        heats = [[share * kind for kind in kinds] for share in entry.keys.shares[numbers].tolist()]
        self._add(second, names, heats)

    def _add(self, second: int, names: Sequence[str], heats: Sequence[Heat]) -> None:
        start = second - second % self.window_s
        if start not in self.windows:
            self.close()
            self.windows[start] = {}
        for into in (self.windows[start], self.run):
            for name, heat in zip(names, heats, strict=True):
                kept = into.setdefault(name, [0.0, 0.0, 0.0])
                kept[0] += heat[0]
                kept[1] += heat[1]
                kept[2] += heat[2]
        if len(self.run) > 2 * RUN_KEPT:
            self.run = dict(hottest(self.run, RUN_KEPT))

    def close(self) -> None:
        """Keep of the newest window only the hottest keys."""
        if self.windows:
            newest = next(reversed(self.windows))
            self.windows[newest] = dict(hottest(self.windows[newest], WINDOW_KEPT))


def hottest(named: dict[str, Heat], k: int, by: int = 0) -> list[tuple[str, Heat]]:
    """Return the top `k` keys by requested units (0), throttles (1) or consumed units (2)."""
    return sorted(named.items(), key=lambda item: (-item[1][by], item[0]))[:k]


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
    requests: float = 1.0  # within the second, in the mean; of a task, for each execution
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
    ours: bool = True  # False: another client's, which this client's record does not hold
    on_answer: "Callable[[FlowAnswer], None]" = field(default=lambda _answer: None, compare=False)


def sent_together(flows: Sequence[Flow]) -> list[tuple[int, ...]]:
    """Group the positions of flows by request: a transaction of two unlike items has two flows."""
    alike = attrgetter("requests", "direction", "index", "table", "together", "items")
    groups: list[tuple[int, ...]] = []
    for position, flow in enumerate(flows):
        pairs = flow.within and flow.together and flow.items == 1 and position > 0
        if pairs and len(groups[-1]) == 1 and alike(flows[position - 1]) == alike(flow):
            groups[-1] = position - 1, position
        else:
            groups.append((position,))
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowAnswer:
    """The result of one flow within its second."""

    flow: Flow
    attempts: int  # of a batch, its items; of a cancelled transaction, the items that were throttled
    accepted: int
    units: float  # consumed by the accepted ones, of the table or index that the flow names
    index_units: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[tuple[str | None, Cause], int] = field(default_factory=dict)
    """Throttled attempts by (index that refused, or None for the table itself; cause): one cause each."""
    uses: KeyUses | None = None
    """Requests for the most used keys; None if no key is named, or if keys are not recorded."""
    conflicts: int = 0
    """Transactions cancelled for a conflict with another one on an item of this flow."""


class Traffic(Protocol):
    """A load test as the table meets it."""

    @property
    def counts(self) -> Mapping[str, float]:
        """What it counts, by `group.what`, as `counted` of a run's manifest: `cache.hits`; empty: nothing."""
        return {}

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        """Take what became of it, in the order of the flows."""
        return None


@dataclass(frozen=True, slots=True)
class Recorded(Traffic):
    """A recorded load, second by second, which does not react to answers."""

    seconds: Sequence[Sequence[Flow]]

    def second(self, at_s: float) -> Sequence[Flow]:
        number = int(at_s)
        return self.seconds[number] if number < len(self.seconds) else ()

    def peak_per_s(self) -> float:
        """Highest demand on the table or one of its indexes within a second, units."""
        return max(
            (
                flow.requests * max([flow.units, *(entry.units for entry in flow.index_writes)])
                for flows in self.seconds
                for flow in flows
            ),
            default=0.0,
        )
