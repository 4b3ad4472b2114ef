"""What a load test sends if nothing is refused, gone through second by second and added up.

The load test is asked for its requests by a virtual clock, as in a simulation, and every one of them is
answered as served. So this is what is asked for at most without retries: a table that throttles serves less.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.model.table import TableModel
from keyheat.plan.forecast import LoadDemand
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.variants import lasting
from keyheat.simulator.capacity import CapacityTimeline, capacity_of
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic
from keyheat.simulator.masses import Masses
from keyheat.simulator.shares import PartitionShares
from keyheat.simulator.traffic import traffic_of
from keyheat.words import Direction

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, order=True)
class ResourceSide:
    """Reads or writes of one table (by name) or of one of its indexes (None: the table itself)."""

    table: str
    index: str | None
    direction: Direction

    @property
    def unit(self) -> str:
        """The capacity unit."""
        return self.direction.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class HottestPartition:
    """The partition that is asked for the most of what one sustains, in the second in which it is."""

    partitions: int  # that the table or index has by then
    at_s: float
    asked_per_s: float  # units
    ceiling_per_s: float  # units that one partition sustains of such requests
    key_per_s: float  # of what is asked for, the part of its most used key; 0 where keys are too many to name

    @property
    def share(self) -> float:
        """What it is asked for, as a share of what it sustains."""
        return self.asked_per_s / self.ceiling_per_s

    @property
    def over(self) -> bool:
        """Whether it is asked for more than it sustains, by more than rounding."""
        return self.share > 1.0 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTotals:
    """What is asked of one side of a table or index."""

    side: ResourceSide
    per_s: Floats  # units in each second of the run
    hottest: HottestPartition | None  # None where nothing is asked
    buffer_full_s: float | None = None
    """When the write buffer of an index is full: past the run if a longer load fills it; None: never."""

    def total(self, from_s: float = 0.0) -> float:
        """Units from a second of the run on."""
        return float(self.per_s[int(from_s) :].sum())

    def demand(self, duration_s: float) -> LoadDemand:
        """Mean, peak and total."""
        total = self.total()
        peak = float(self.per_s.max()) if len(self.per_s) else 0.0
        return LoadDemand(
            mean_per_s=total / duration_s, peak_per_s=max(peak, total / duration_s), total=total
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationTotals:
    """How often one operation is sent over the run, and what its items cost."""

    name: str  # DynamoDB's
    table: str
    index: str | None
    direction: Direction
    requests: float
    items: float
    units: float  # of the table or index it names; those of index entries are the index's


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTotals:
    """Everything that a load test sends, if nothing is refused."""

    duration_s: float
    sides: Mapping[ResourceSide, SideTotals]
    operations: tuple[OperationTotals, ...]

    def units(self, direction: Direction) -> float:
        """Units of all tables and their indexes."""
        return sum(asked.total() for side, asked in self.sides.items() if side.direction is direction)

    @property
    def items(self) -> float:
        """Items that are read or written; entries that writes make in indexes are not among them."""
        return sum(one.items for one in self.operations)


LONGEST_S: Final = 43_200  # a longer load is not gone through second by second: it would take too long
FIRST_S: Final = 3_600.0  # of one that stays the same, these stand for all of it
GOES_ON: Final = "Assumed: a load of more than 12 h goes on as its first hour does."
CEILINGS: Final = {
    Direction.READ: limits.PARTITION_READ_UNITS_PER_S,
    Direction.WRITE: limits.PARTITION_WRITE_UNITS_PER_S,
}


def expected(
    scenario: Scenario, *, folder: Path = Path(), scale: float = 1.0, traffic: Traffic | None = None
) -> LoadTotals | None:
    """What the scenario's load test sends, or `traffic`; `folder` is the scenario's, where its trace is.

    `scale` multiplies what a partition sustains. A load that stays the same for longer than `LONGEST_S` goes
    on as its first hour does. None where nobody can say: a load test of which no dry run shows what it
    sends, or one that changes for longer. Raises `TraceError`.
    """
    if scenario.load.duration_s > LONGEST_S:
        return _going_on(scenario, folder, scale) if goes_on(scenario) else None
    try:
        traffic = traffic or traffic_of(scenario, seed=scenario.seed, folder=folder)
        found = _Tally(scenario, scale)
        for second in range(ceil(scenario.load.duration_s)):
            flows = traffic.second(second)
            traffic.answered(second, [_served(flow) for flow in flows])
            found.add(second, flows)
    except ScenarioError:
        return None
    return found.expected()


def goes_on(scenario: Scenario) -> bool:
    """Whether it is a load of which the first hour stands for all."""
    same = scenario.load.arrivals != "trace" and not scenario.is_changing
    return same and scenario.load.duration_s > LONGEST_S


def _going_on(scenario: Scenario, folder: Path, scale: float) -> LoadTotals | None:
    """The first hour, again and again."""
    duration_s = scenario.load.duration_s
    hour = expected(lasting(scenario, FIRST_S), folder=folder, scale=scale)
    if hour is None:
        return None
    times = duration_s / FIRST_S
    return LoadTotals(
        duration_s=duration_s,
        sides={
            side: replace(one, per_s=np.resize(one.per_s, ceil(duration_s)))
            for side, one in hour.sides.items()
        },
        operations=tuple(
            replace(one, requests=one.requests * times, items=one.items * times, units=one.units * times)
            for one in hour.operations
        ),
    )


def _served(flow: Flow) -> FlowAnswer:
    """The answer of a table that serves everything. Its numbers are means, so they may be fractions."""
    items = flow.requests * flow.items
    return FlowAnswer(
        flow=flow,
        attempts=items,  # type: ignore[arg-type]
        accepted=items,  # type: ignore[arg-type]
        units=items * flow.units,
        index_units={entry.index: items * entry.units for entry in flow.index_writes},
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Units that requests for some keys ask of one side within a second."""

    side: ResourceSide
    keys: Masses
    units: float
    weight: float  # of a unit, in what a partition sustains


@dataclass(slots=True)
class _WriteBuffers:
    """Entries that wait in the write buffers before the partitions of an index."""

    scale: float
    waiting: Floats = field(default_factory=lambda: np.zeros(1))  # units, of each partition
    first_full_s: int | None = None

    @property
    def most(self) -> float:
        """Units at which a buffer is full."""
        return DEFAULT.partition_units(CEILINGS[Direction.WRITE], index_writes=True) * self.scale

    def fill(self, second: int, units: Floats) -> None:
        """Add what one second writes to each partition; both halves of a split wait as long as the whole."""
        if len(units) != len(self.waiting):
            self.waiting = np.full(len(units), self.waiting.max())
        self.waiting = np.maximum(self.waiting + units - CEILINGS[Direction.WRITE] * self.scale, 0.0)
        if self.first_full_s is None and self.waiting.max() > self.most * (1 + 1e-9):
            self.first_full_s = second

    def full_s(self, seconds: int) -> float | None:
        """The second in which one is full; beyond the run if that needs a load that goes on; None: never."""
        if self.first_full_s is not None:
            return self.first_full_s
        left = float(self.waiting.max())
        return seconds * self.most / left if left > 1e-6 else None


@dataclass(slots=True)
class _Tally:
    """The seconds of a run added up."""

    scenario: Scenario
    scale: float
    _per_s: dict[ResourceSide, Floats] = field(default_factory=dict)
    _hottest: dict[ResourceSide, HottestPartition] = field(default_factory=dict)
    _buffers: dict[ResourceSide, "_WriteBuffers"] = field(default_factory=dict)
    _models: dict[str, TableModel] = field(default_factory=dict)
    _timeline: CapacityTimeline = field(init=False)
    _shares: dict[tuple[str, str | None], PartitionShares] = field(default_factory=dict)
    _operations: dict[tuple[str, str, str | None, Direction], Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, table in enumerate((self.scenario.table, *self.scenario.companions)):
            seed = self.scenario.seed + number
            self._models[table.name] = TableModel(capacity_of(table), now_s=0.0, seed=seed)
        self._timeline = CapacityTimeline(_unscaled(self.scenario), started_s=0.0, seed=self.scenario.seed)

    def add(self, second: int, flows: Sequence[Flow]) -> None:
        """Count one second."""
        self._timeline(self._models[self.scenario.table.name], second)
        by_side: dict[ResourceSide, list[_Part]] = {}
        for flow in flows:
            self._count(flow)
            for part in self._parts(flow):
                by_side.setdefault(part.side, []).append(part)
        for side, parts in by_side.items():
            self._add_side(second, side, parts)

    def _partitions(self, side: ResourceSide) -> tuple[int, PartitionShares]:
        """How many there are by now, and what falls on each."""
        boundaries = self._models[side.table].resource(side.index).partitions.boundaries
        known = self._shares.setdefault((side.table, side.index), PartitionShares())
        if known.boundaries != boundaries:
            known.set_boundaries(boundaries)
        return len(boundaries) + 1, known

    def _parts(self, flow: Flow) -> Iterator[_Part]:
        table, items = flow.table or self.scenario.table.name, flow.requests * flow.items
        if not items:
            return
        weight = EVENTUAL_READ_WEIGHT if flow.eventual else 1.0
        yield _Part(ResourceSide(table, flow.index, flow.direction), flow.keys, items * flow.units, weight)
        for entry in flow.index_writes:
            side = ResourceSide(table, entry.index, Direction.WRITE)
            yield _Part(side, entry.keys, items * entry.units, 1.0)

    def _count(self, flow: Flow) -> None:
        name = flow.operation, flow.table or self.scenario.table.name, flow.index, flow.direction
        items = flow.requests * flow.items
        requests = 0.0 if flow.within else flow.requests
        counted = self._operations.setdefault(name, np.zeros(3))
        counted += requests, items, items * flow.units

    def _add_side(self, second: int, side: ResourceSide, parts: Sequence[_Part]) -> None:
        per_s = self._per_s.get(side)
        if per_s is None:
            per_s = self._per_s[side] = np.zeros(ceil(self.scenario.load.duration_s))
        per_s[second] += sum(part.units for part in parts)
        count, shares = self._partitions(side)
        units, weighed = np.zeros(count), np.zeros(count)
        for part in parts:
            on_each = shares.of(part.keys) * part.units
            units += on_each
            weighed += on_each * part.weight
        place = int(weighed.argmax())
        ceiling = CEILINGS[side.direction] * self.scale
        if side.index is not None and side.direction is Direction.WRITE:
            self._buffers.setdefault(side, _WriteBuffers(self.scale)).fill(second, units)
        known = self._hottest.get(side)
        if weighed[place] > 0 and (known is None or weighed[place] / ceiling > known.share * (1 + 1e-9)):
            self._hottest[side] = HottestPartition(
                partitions=count,
                at_s=second,
                asked_per_s=float(units[place]),
                ceiling_per_s=float(units[place] / weighed[place] * ceiling),
                key_per_s=_most_used(shares, parts, place),
            )

    def expected(self) -> LoadTotals:
        """What came of it."""
        return LoadTotals(
            duration_s=self.scenario.load.duration_s,
            sides={
                side: SideTotals(
                    side=side,
                    per_s=per_s,
                    hottest=self._hottest.get(side),
                    buffer_full_s=self._buffers[side].full_s(len(per_s)) if side in self._buffers else None,
                )
                for side, per_s in sorted(self._per_s.items(), key=lambda one: _order(self.scenario, one[0]))
            },
            operations=tuple(
                OperationTotals(
                    name=name,
                    table=table,
                    index=index,
                    direction=direction,
                    requests=float(requests),
                    items=float(items),
                    units=float(units),
                )
                for (name, table, index, direction), (requests, items, units) in self._operations.items()
                if items
            ),
        )


def _unscaled(scenario: Scenario) -> Scenario:
    """Without auto scaling, which a run in AWS sets none up of, and which would need what was consumed."""
    table = scenario.table
    indexes = tuple(index.model_copy(update={"auto_scaling": None}) for index in table.indexes)
    alone = table.model_copy(update={"auto_scaling": None, "indexes": indexes})
    return scenario.model_copy(update={"table": alone})


def _order(scenario: Scenario, side: ResourceSide) -> tuple[bool, str, str, bool]:
    """The judged table first, then its indexes, then companions; writes before reads."""
    return (
        side.table != scenario.table.name,
        side.table,
        side.index or "",
        side.direction is Direction.READ,
    )


def _most_used(shares: PartitionShares, parts: Sequence[_Part], place: int) -> float:
    """Units of the most used key on one partition: what several kinds of requests ask of it, together."""
    units: dict[str, float] = {}
    for part in parts:
        top = shares.top(part.keys)
        if top is None:
            continue
        for name, share, partition in zip(top.names, top.shares, top.partitions, strict=True):
            if partition == place:
                units[name] = units.get(name, 0.0) + part.units * float(share)
    return max(units.values(), default=0.0)
