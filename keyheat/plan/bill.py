"""What one run costs in AWS at most: a bill with a line for each thing that is paid for, and a running meter.

Everything is an upper estimate, since a budget is held against it: requests are all served, hours that have
begun count whole, and nothing is free of charge. Lines without a price are left out of the sum; `unpriced`
names them. Storage is not on it: a gigabyte written costs a fraction of a cent for a day. What is billed how:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-understanding-billing.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum
from pathlib import Path
from typing import Final

from keyheat.model.resources import BillingMode, highest
from keyheat.plan import charges
from keyheat.plan.charges import Line, hourly_dollars, unit_dollars
from keyheat.plan.forecast import forecast
from keyheat.plan.prices import HOUR_S, Prices
from keyheat.plan.quotas import GivenCapacity, given_to
from keyheat.plan.totals import LoadTotals, ResourceSide, expected, reads_all_after
from keyheat.scenario.scenario import Scenario
from keyheat.words import Capacity, Direction

__all__ = ["Bill", "Line", "Tariff", "bill_of_run", "hours_begun"]

AROUND_S: Final = 900.0
"""Seconds that a table exists beside its load: creation, alignment to the minute, collecting, deletion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a run costs at most."""

    lines: tuple[Line, ...]
    prices: Prices
    write_units: float  # of all tables and indexes, whether they are paid for by the unit or not
    read_units: float
    hours: int  # that provisioned capacity is paid for
    known: bool  # the units are those that the load test sends; else every request is taken to write
    other_mode: tuple[BillingMode, float] | None  # dollars of the table's capacity in the mode it is not in
    kept_per_hour: float  # dollars an hour of tables that stay after the run

    @property
    def dollars(self) -> float:
        """The sum of the lines that have a price."""
        return fsum(line.dollars or 0.0 for line in self.lines)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """What is paid for and has no price here: the sum is too low by that."""
        return tuple(line.what for line in self.lines if line.dollars is None)


def bill_of_run(
    scenario: Scenario,
    prices: Prices,
    *,
    folder: Path,
    metric_requests: float = 0,
    throttled_keys: bool = False,
    existing: bool = False,
    clean_up: bool = False,
    table_bytes: float = 0,
    sent: LoadTotals | None = None,
) -> Bill:
    """What a run of the scenario costs at most.

    `folder` is the scenario's, where its trace is; `metric_requests` is how many metrics GetMetricData is
    asked for, over all polls; `throttled_keys` turns Contributor Insights on. An `existing` table's capacity
    is paid for without the run; `clean_up` deletes what was written to it, and reads all of its `table_bytes`
    for that. `sent` spares working out again what the load test sends. Raises `TraceError`.
    """
    found = sent if sent is not None else expected(scenario, folder=folder)
    given, hours = given_to(scenario), hours_begun(scenario.load.duration_s + AROUND_S)
    made = _made(given, existing=existing)
    provisioned = _raised(made, scenario)
    units = _units(scenario, prices, found, folder)
    lines = [
        *charges.capacity(provisioned, prices, hours),
        *charges.consumed(given, prices, units),
        *charges.check(scenario, given, prices, reads_all=reads_all_after(scenario, folder)),
        *charges.pre_warming(made, prices),
        *charges.stream_reads(scenario, prices),
        *charges.metrics(prices, metric_requests),
    ]
    if clean_up:
        lines += charges.cleaning(given, prices, units, table_bytes)
    if throttled_keys:
        items = found.items if found is not None else fsum(units.values())
        lines += charges.contributor_insights(given, prices, items)
    return Bill(
        lines=tuple(lines),
        prices=prices,
        write_units=fsum(value for side, value in units.items() if side.direction is Direction.WRITE),
        read_units=fsum(value for side, value in units.items() if side.direction is Direction.READ),
        hours=hours,
        known=found is not None,
        other_mode=_other_mode(given, prices, units, found, hours),
        kept_per_hour=fsum(hourly_dollars(one.provisioned, prices) for one in provisioned if one.kept),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The running meter of a run: what the units that came back, and the hours begun, have cost by now.

    The units of a run are counted together, whichever table they are of. So where any table is paid for by
    the unit, all units are: too much rather than too little.
    """

    per_hour: float  # dollars of all provisioned capacity
    per_write_unit: float
    per_read_unit: float

    @classmethod
    def of(cls, scenario: Scenario, prices: Prices, *, existing: bool = False) -> "Tariff":
        """The tariff of a scenario's tables; an `existing` one has its capacity without the run."""
        given = given_to(scenario)
        by_unit = any(one.on_demand_from_s is not None for one in given)
        return cls(
            per_hour=fsum(
                hourly_dollars(one.provisioned, prices)
                for one in _raised(_made(given, existing=existing), scenario)
            ),
            per_write_unit=unit_dollars(Direction.WRITE, prices) if by_unit else 0.0,
            per_read_unit=unit_dollars(Direction.READ, prices) if by_unit else 0.0,
        )

    def dollars(self, write_units: float, read_units: float, elapsed_s: float) -> float:
        """What was spent since the tables were made, `elapsed_s` ago."""
        consumed = write_units * self.per_write_unit + read_units * self.per_read_unit
        return self.per_hour * hours_begun(elapsed_s) + consumed


def hours_begun(seconds: float) -> int:
    """Hours that are paid for: capacity is priced by the hour, and one that has begun counts whole."""
    return max(1, ceil(seconds / HOUR_S))


def _made(given: Sequence[GivenCapacity], *, existing: bool) -> list[GivenCapacity]:
    """What exists for the run: companions, and the scenario's own table unless it was there."""
    return [one for one in given if not (existing and one.table == given[0].table)]


def _raised(made: Sequence[GivenCapacity], scenario: Scenario) -> list[GivenCapacity]:
    """The same with the most that dynamic sharding may ask for its table while it loads."""
    sharding = scenario.dynamic_sharding
    if sharding is None or sharding.max_write_units is None:
        return list(made)
    most = Capacity(write=float(sharding.max_write_units))
    return [
        replace(one, provisioned=highest(one.provisioned, most))
        if (one.table, one.index) == (scenario.table.name, None)
        else one
        for one in made
    ]


def _units(
    scenario: Scenario, prices: Prices, found: LoadTotals | None, folder: Path
) -> Mapping[ResourceSide, float]:
    """Units of each side. Where nobody knows what is sent, every request writes, and moves index entries."""
    if found is not None:
        return {side: asked.total() for side, asked in found.sides.items()}
    guessed, table = forecast(scenario, prices, margin=1.0, folder=folder), scenario.table
    if guessed.write_units is None:
        return {
            ResourceSide(table.name, None, Direction.READ): guessed.read_units.total
            if guessed.read_units
            else 0.0
        }
    writes = guessed.write_units.total
    entries = {index.name: 2 * writes for index in table.indexes if not index.local}
    return {
        ResourceSide(table.name, name, Direction.WRITE): units
        for name, units in ({None: writes} | entries).items()
    }


def _other_mode(
    given: Sequence[GivenCapacity],
    prices: Prices,
    units: Mapping[ResourceSide, float],
    found: LoadTotals | None,
    hours: int,
) -> tuple[BillingMode, float] | None:
    """The scenario's own table in the mode it is not in: by the unit, or provisioned for the peak."""
    table = given[0].table
    own = [side for side in units if side.table == table]
    if not given[0].starts_on_demand:
        return "PAY_PER_REQUEST", fsum(units[side] * unit_dollars(side.direction, prices) for side in own)
    if found is None:
        return None
    peaks = {side: float(ceil(found.sides[side].demand(found.duration_s).peak_per_s)) for side in own}
    pairs = [
        Capacity(write=peak) if side.direction is Direction.WRITE else Capacity(read=peak)
        for side, peak in peaks.items()
    ]
    return "PROVISIONED", hours * fsum(hourly_dollars(pair, prices) for pair in pairs)
