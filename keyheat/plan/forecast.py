"""Forecast the demand of a scenario before anything is sent.

A scenario states the rate and the item sizes; only the load test knows whether a request reads or writes. So
a forecast gives units for both, unless the target itself is in units.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final

from keyheat.model import limits
from keyheat.model.units import read_units, write_units
from keyheat.plan.prices import Prices, consumed_dollars, provisioned_dollars
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.shape import LoadShape, steps
from keyheat.scenario.spec.load import LoadSpec, TargetUnit
from keyheat.scenario.spec.tables import CapacityPair
from keyheat.scenario.trace import TraceRow, read_trace

MOST_STEPS: Final = 3_600
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})


@dataclass(slots=True)
class TraceTotals:
    """Totals of a trace; a row without a size counts as the smallest item."""

    duration_s: float
    speed: float
    requests: list[int] = field(default_factory=list)  # of each step
    units: dict[bool, list[float]] = field(default_factory=dict)  # writes (True) and reads, of each step
    keys: dict[bool, dict[str, float]] = field(default_factory=lambda: {True: {}, False: {}})

    def __post_init__(self) -> None:
        count = min(MOST_STEPS, ceil(self.duration_s))
        self.requests = [0] * count
        self.units = {True: [0.0] * count, False: [0.0] * count}

    @property
    def step_s(self) -> float:
        return self.duration_s / len(self.requests)

    def add(self, rows: Iterable[TraceRow]) -> "TraceTotals":
        """Count the rows before the end of the load."""
        for row in rows:
            at_s = row.at_s / self.speed
            if at_s >= self.duration_s:
                break
            step, writes, size = int(at_s / self.step_s), row.operation in WRITES, row.size_bytes or 0
            units = write_units(0, size) if writes else read_units(size, consistent=False)
            self.requests[step] += 1
            self.units[writes][step] += units
            self.keys[writes][row.key] = self.keys[writes].get(row.key, 0.0) + units
        return self

    @property
    def shape(self) -> LoadShape:
        """Requests per second over time."""
        return self._shape(self.requests)

    def shape_of(self, *, writes: bool) -> LoadShape:
        """Write or read units per second over time."""
        return self._shape(self.units[writes])

    def hottest_share(self, *, writes: bool) -> float | None:
        """Share of the most used key in the units; None without units."""
        counted = self.keys[writes]
        return max(counted.values()) / sum(counted.values()) if counted else None

    def _shape(self, amounts: Iterable[float]) -> LoadShape:
        return steps((amount / self.step_s, self.step_s) for amount in amounts)


def trace_totals(scenario: Scenario, folder: Path) -> TraceTotals:
    """Total the trace in a scenario's `folder`. Raises `TraceError`."""
    rows = read_trace(
        scenario.keys.trace_path(folder),
        has_sort_key=scenario.table.sort_key is not None,
        least=lambda _key, _sort_key: 0,
    )
    return TraceTotals(scenario.load.duration_s, scenario.keys.speed or 1.0).add(rows)


MOST_SHARDS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDemand:
    """Mean and peak rate per second, and the total of the run."""

    mean_per_s: float
    peak_per_s: float
    total: float

    def times(self, factor: float) -> "LoadDemand":
        """The demand in another unit."""
        return LoadDemand(
            mean_per_s=self.mean_per_s * factor,
            peak_per_s=self.peak_per_s * factor,
            total=self.total * factor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKeyForecast:
    """The most used key: its peak demand, in total and per shard."""

    share: float
    units_per_s: float
    shards: int
    ceiling_per_s: float
    needed: int  # by the formula
    needed_with_margin: int
    margin: float

    @property
    def shard_units_per_s(self) -> float:
        """Demand per shard of the key, if it uses its shards evenly."""
        return self.units_per_s / self.shards

    @property
    def over_ceiling(self) -> bool:
        """Whether each shard needs more than a whole partition."""
        return self.shard_units_per_s > self.ceiling_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The demand of a scenario. A side is None if the target is in another unit."""

    unit: TargetUnit
    target: LoadDemand
    shape: LoadShape
    duration_s: float
    requests: LoadDemand | None
    write_units: LoadDemand | None  # if every request writes an item
    read_units: LoadDemand | None  # if every request reads an item, eventually consistent
    units_per_write: float
    units_per_read: float
    hot_key: HotKeyForecast | None  # None: only a run can tell
    on_demand_dollars: float
    provisioned_dollars: float | None
    prices: Prices


def forecast(scenario: Scenario, prices: Prices, *, margin: float, folder: Path = Path()) -> Forecast:
    """Forecast the demand and cost of a run.

    `margin` multiplies the formula's number of shards; `folder` holds the scenario's trace. Raises
    `TraceError`.
    """
    load = scenario.load
    load_units = _of_trace(scenario, folder) if load.arrivals == "trace" else _of_load(scenario)
    write, read = load_units.write_units, load_units.read_units
    provisioned = scenario.table.provisioned or CapacityPair()
    reserved = provisioned_dollars(
        prices.provisioned,
        load.duration_s,
        write_per_s=provisioned.write or 0,
        read_per_s=provisioned.read or 0,
    )
    return Forecast(
        unit=load.target_unit,
        target=demand_of(load_units.shape, load.duration_s),
        shape=load_units.shape,
        duration_s=load.duration_s,
        requests=demand_of(load_units.shape, load.duration_s) if load.target_unit == "requests" else None,
        write_units=write,
        read_units=read,
        units_per_write=load.mean_write_units,
        units_per_read=load.mean_read_units(consistent=False),
        hot_key=_hot_key(scenario, load_units, margin=margin),
        on_demand_dollars=consumed_dollars(
            prices.on_demand,
            write_units=write.total if write else 0.0,
            read_units=read.total if read and (load_units.both or not write) else 0.0,
        ),
        provisioned_dollars=reserved or None,
        prices=prices,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoadUnits:
    """Demand over time, and the hottest key's share in the units where it is hot."""

    shape: LoadShape
    write_units: LoadDemand | None
    read_units: LoadDemand | None
    hottest_share: float | None
    both: bool = False  # the load reads and writes; else each request is one or the other


def _of_load(scenario: Scenario) -> _LoadUnits:
    load = scenario.load
    shape = load.rate_shape()
    target = demand_of(shape, load.duration_s)
    return _LoadUnits(
        shape=shape,
        write_units=_side(load, "WCU", target, load.mean_write_units),
        read_units=_side(load, "RCU", target, load.mean_read_units(consistent=False)),
        hottest_share=scenario.keys.hottest_share(),
    )


def _of_trace(scenario: Scenario, folder: Path) -> _LoadUnits:
    totals, duration_s = trace_totals(scenario, folder), scenario.load.duration_s
    write, read = (demand_of(totals.shape_of(writes=writes), duration_s) for writes in (True, False))
    return _LoadUnits(
        shape=totals.shape,
        write_units=write if write.total else None,
        read_units=read if read.total else None,
        hottest_share=totals.hottest_share(writes=bool(write.total)),
        both=True,
    )


def demand_of(shape: LoadShape, duration_s: float) -> LoadDemand:
    """Mean, peak and total of a shape over a run. The peak includes rates between two breakpoints."""
    total = shape.total(duration_s)
    return LoadDemand(mean_per_s=total / duration_s, peak_per_s=shape.highest_per_s, total=total)


def shards_needed(units_per_s: float, ceiling_per_s: float, margin: float = 1.0) -> int:
    """Number of shards that keeps each below its partition limit, for ceil(item KB) × writes/s.

        shards = ceil(margin × units/s ÷ partition limit)

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
    """
    return max(1, min(MOST_SHARDS, math.ceil(margin * round(units_per_s) / ceiling_per_s)))


def _side(load: LoadSpec, unit: TargetUnit, target: LoadDemand, per_request: float) -> LoadDemand | None:
    if load.target_unit == unit:
        return target
    return target.times(per_request) if load.target_unit == "requests" else None


def _hot_key(scenario: Scenario, load_units: _LoadUnits, *, margin: float) -> HotKeyForecast | None:
    """The most used key of the writes, or of the reads if there are no writes."""
    demand = load_units.write_units or load_units.read_units
    if load_units.hottest_share is None or demand is None:
        return None
    writes = load_units.write_units is not None
    sustained = limits.PARTITION_WRITE_UNITS_PER_S if writes else limits.PARTITION_READ_UNITS_PER_S
    ceiling, units_per_s = sustained * scenario.local.scale, demand.peak_per_s * load_units.hottest_share
    return HotKeyForecast(
        share=load_units.hottest_share,
        units_per_s=units_per_s,
        shards=scenario.keys.shards,
        ceiling_per_s=ceiling,
        needed=shards_needed(units_per_s, ceiling),
        needed_with_margin=shards_needed(units_per_s, ceiling, margin),
        margin=margin,
    )
