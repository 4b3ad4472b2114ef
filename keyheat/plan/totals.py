"""Total the requests of a load test second by second, without throttles.

A virtual clock drives the load test, as in a simulation, and every request is answered as served. The totals
are the most it sends without retries: a table that throttles serves less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from keyheat.model.behaviour import DEFAULT
from keyheat.model.partitions import EVENTUAL_READ_WEIGHT
from keyheat.model.resources import partition_ceiling
from keyheat.model.table import TableModel
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.variants import lasting, without_scaling
from keyheat.simulator.capacity import CapacityTimeline, capacity_of
from keyheat.simulator.flow import Flow, FlowAnswer
from keyheat.simulator.masses import Masses, PartitionShares, TableShares
from keyheat.simulator.traffic import traffic_of
from keyheat.words import Direction

Floats = npt.NDArray[np.float64]
Demand = tuple[Masses, float, float]
"""Keys, the units asked of them in a second, and the weight of a unit against a partition's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDemand:
    """Mean and peak rate per second, and the total of the run."""

    mean_per_s: float
    peak_per_s: float
    total: float

    @classmethod
    def of_seconds(cls, per_s: Floats, duration_s: float) -> "LoadDemand":
        """The demand of a number for each second; the last second may be a shorter one."""
        total = float(per_s.sum())
        peak_per_s = max(float(per_s.max(initial=0.0)), total / duration_s)
        return cls(mean_per_s=total / duration_s, peak_per_s=peak_per_s, total=total)


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

    @property
    def buffered(self) -> bool:
        """Whether a write buffer is in front of the partitions."""
        return self.index is not None and self.direction is Direction.WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class HottestPartition:
    """The partition with the highest demand relative to its limit, in its busiest second."""

    partitions: int  # of the table or index at that second
    at_s: float
    asked_per_s: float  # units
    ceiling_per_s: float  # units that one partition sustains for these requests
    key_per_s: float  # demand on its most used key; 0 if keys are too many to name

    @property
    def share(self) -> float:
        """Demand divided by the limit."""
        return self.asked_per_s / self.ceiling_per_s

    @property
    def over(self) -> bool:
        """Whether the demand exceeds the limit by more than rounding."""
        return self.share > 1.0 + 1e-9


@dataclass(slots=True, kw_only=True)
class SideTotals:
    """Demand on one side of a table or index, and what it asks of partitions beyond their ceiling."""

    per_s: Floats  # units in each second of the run
    ceiling: float  # of a partition, in units per second
    most: float  # units beyond it that a partition can serve, or a write buffer take
    side: ResourceSide
    hottest: HottestPartition | None = None  # None without demand
    full_from_s: float | None = None
    """Second at which a partition's saved units are spent, or an index's write buffer is full; past the end
    in a longer load; None: never."""
    beyond: Floats = field(default_factory=lambda: np.zeros(1))  # units of each partition

    @classmethod
    def of(cls, side: ResourceSide, seconds: int, scale: float) -> "SideTotals":
        """A side without demand; `scale` multiplies its limits."""
        ceiling = partition_ceiling(side.direction, scale)
        most = DEFAULT.partition_units(ceiling, index_writes=False)
        most += DEFAULT.index_buffer_units * scale * side.buffered
        return cls(side=side, per_s=np.zeros(seconds), ceiling=ceiling, most=most)

    def add(self, second: int, demands: Sequence[Demand], shares: PartitionShares) -> None:
        """Add one second's demand; both halves of a split inherit the largest excess."""
        count = len(shares.boundaries) + 1
        units, weighed = np.zeros(count), np.zeros(count)
        for keys, demanded, weight in demands:
            on_each = shares.of(keys) * demanded
            units += on_each
            weighed += on_each * weight
        self.per_s[second] += sum(demanded for _keys, demanded, _weight in demands)
        if count != len(self.beyond):
            self.beyond = np.full(count, self.beyond.max())
        self.beyond = np.maximum(self.beyond + weighed - self.ceiling, 0.0)
        if self.full_from_s is None and self.beyond.max() > self.most * (1 + 1e-9):
            self.full_from_s = second
        busiest, hottest = int(weighed.argmax()), self.hottest
        share = weighed[busiest] / self.ceiling
        if share > 0 and (hottest is None or share > hottest.share * (1 + 1e-9)):
            self.hottest = HottestPartition(
                partitions=count,
                at_s=second,
                asked_per_s=float(units[busiest]),
                ceiling_per_s=float(units[busiest] / weighed[busiest] * self.ceiling),
                key_per_s=_hottest_key_units(shares, demands, busiest),
            )

    def end(self, seconds: int) -> None:
        """Close the totals of a load that goes on until second `seconds` as it did so far."""
        if self.full_from_s is None and (units := float(self.beyond.max())) > 1e-6:
            self.full_from_s = len(self.per_s) * self.most / units
        self.per_s = np.resize(self.per_s, seconds)

    def total(self, from_s: float = 0.0) -> float:
        """Units from second `from_s` of the run on."""
        return float(self.per_s[int(from_s) :].sum())

    def demand(self, duration_s: float) -> LoadDemand:
        """Mean, peak and total of the side."""
        return LoadDemand.of_seconds(self.per_s, duration_s)


@dataclass(frozen=True, slots=True)
class OperationTotals:
    """Requests, items and units of one operation over the run."""

    name: str  # as in DynamoDB's API
    table: str
    index: str | None
    direction: Direction
    requests: float
    items: float
    units: float  # of the table or index it names; index entries count for their index


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTotals:
    """Everything that a load test sends if nothing throttles."""

    duration_s: float
    requests_per_s: Floats  # in each second of the run
    sides: Mapping[ResourceSide, SideTotals]
    operations: tuple[OperationTotals, ...]


LONGEST_S: Final = 43_200  # going through a longer load second by second takes too long
FIRST_S: Final = 3_600.0  # stand for all of a longer load that does not change
GOES_ON: Final = "Assumed: a load of more than 12 h repeats its first hour."


def total_load(scenario: Scenario, *, folder: Path = Path(), scale: float = 1.0) -> LoadTotals | None:
    """Total what the scenario's load test sends; `folder` holds the scenario's trace.

    `scale` multiplies partition limits. A load longer than `LONGEST_S` repeats its first hour. None if the
    load is unknown: it changes for longer than that, or no dry run shows what is sent. Raises `TraceError`.
    """
    duration_s = scenario.load.duration_s
    if repeats_first_hour(scenario):
        scenario = lasting(scenario, FIRST_S)
    elif duration_s > LONGEST_S and scenario.load.arrivals != "trace":
        return None
    try:
        traffic = traffic_of(scenario, seed=scenario.seed, folder=folder)
        tally = _Tally(scenario, scale)
        for second in range(ceil(scenario.load.duration_s)):
            flows = traffic.second(second)
            traffic.answered(second, [_serve(flow) for flow in flows])
            tally.add(second, flows)
    except ScenarioError:
        return None
    return tally.expected(duration_s)


def repeats_first_hour(scenario: Scenario) -> bool:
    """Whether the load is so long that its first hour stands for all of it."""
    same = scenario.load.arrivals != "trace" and not scenario.is_changing
    return same and scenario.load.duration_s > LONGEST_S


def _serve(flow: Flow) -> FlowAnswer:
    """Answer as a table that serves everything. Counts are means, so they may be fractions."""
    items = flow.requests * flow.items
    return FlowAnswer(
        flow=flow,
        attempts=items,  # type: ignore[arg-type]
        accepted=items,  # type: ignore[arg-type]
        units=items * flow.units,
        index_units={entry.index: items * entry.units for entry in flow.index_writes},
    )


class _Tally:
    """Running totals of a run."""

    def __init__(self, scenario: Scenario, scale: float) -> None:
        self._scenario, self._scale = scenario, scale
        self._requests_per_s = np.zeros(ceil(scenario.load.duration_s))
        self._sides: dict[ResourceSide, SideTotals] = {}
        self._operations: dict[tuple[str, str, str | None, Direction], Floats] = {}
        self._tables = {
            table.name: TableShares(TableModel(capacity_of(table), now_s=0.0, seed=scenario.seed + number))
            for number, table in enumerate((scenario.table, *scenario.companions))
        }
        self._timeline = CapacityTimeline(without_scaling(scenario), started_s=0.0, seed=scenario.seed)

    def add(self, second: int, flows: Sequence[Flow]) -> None:
        """Count one second."""
        self._timeline(self._tables[self._scenario.table.name].model, second)
        by_side: dict[ResourceSide, list[Demand]] = {}
        for flow in flows:
            table, items = flow.table or self._scenario.table.name, flow.requests * flow.items
            name = flow.operation, table, flow.index, flow.direction
            requests = 0.0 if flow.within else flow.requests
            self._requests_per_s[second] += requests
            counted = self._operations.setdefault(name, np.zeros(3))
            counted += requests, items, items * flow.units
            if not items:
                continue
            weight = EVENTUAL_READ_WEIGHT if flow.eventual else 1.0
            on_sides = [(flow.index, flow.direction, flow.keys, flow.units, weight)]
            on_sides += [
                (entry.index, Direction.WRITE, entry.keys, entry.units, 1.0) for entry in flow.index_writes
            ]
            for index, direction, keys, units, of_unit in on_sides:
                by_side.setdefault(ResourceSide(table, index, direction), []).append(
                    (keys, items * units, of_unit)
                )
        for side, demands in by_side.items():
            if side not in self._sides:
                self._sides[side] = SideTotals.of(side, len(self._requests_per_s), self._scale)
            self._sides[side].add(second, demands, self._tables[side.table].shares(side.index))

    def expected(self, duration_s: float) -> LoadTotals:
        """The totals of a load that goes on for `duration_s` as in all seconds so far."""
        times, seconds = duration_s / self._scenario.load.duration_s, ceil(duration_s)
        for side in self._sides.values():
            side.end(seconds)
        operations = tuple(
            OperationTotals(*name, *(float(number) for number in counted * times))
            for name, counted in self._operations.items()
            if counted[1]
        )
        return LoadTotals(
            duration_s=duration_s,
            requests_per_s=np.resize(self._requests_per_s, seconds),
            sides=dict(sorted(self._sides.items(), key=lambda item: _sort_key(self._scenario, item[0]))),
            operations=operations,
        )


def _sort_key(scenario: Scenario, side: ResourceSide) -> tuple[bool, str, str, bool]:
    """The judged table first, then its indexes, then companions; writes before reads."""
    return (side.table != scenario.table.name, side.table, side.index or "", side.direction is Direction.READ)


def _hottest_key_units(shares: PartitionShares, demands: Sequence[Demand], busiest: int) -> float:
    """Units of the most used key on one partition, over all kinds of requests."""
    units: dict[str, float] = {}
    for keys, demanded, _weight in demands:
        top = shares.top(keys)
        if top is None:
            continue
        for name, share, partition in zip(top.names, top.shares, top.partitions, strict=True):
            if partition == busiest:
                units[name] = units.get(name, 0.0) + demanded * float(share)
    return max(units.values(), default=0.0)
