"""What one run costs in AWS at most: a bill with a line for each thing that is paid for.

Everything is an upper estimate, since a budget is held against it: requests are all served, hours that have
begun count whole, and nothing is free of charge. Lines without a price are left out of the sum; `unpriced`
names them. Storage is not on it: a gigabyte written costs a fraction of a cent for a day. What is billed how:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-understanding-billing.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum
from pathlib import Path

from keyheat.model.resources import BillingMode
from keyheat.plan import charges
from keyheat.plan.charges import (
    AROUND_S,
    Line,
    highest_of,
    hourly_dollars,
    hours_begun,
    made_for,
    unit_dollars,
)
from keyheat.plan.forecast import forecast
from keyheat.plan.prices import Prices
from keyheat.plan.quotas import GivenCapacity, given_to
from keyheat.plan.totals import LoadTotals, ResourceSide, expected
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec
from keyheat.words import Capacity, Direction


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
    existing: bool = False,
    clean_up: bool = False,
    table_bytes: float = 0,
    sent: LoadTotals | None = None,
) -> Bill:
    """What a run of the scenario costs at most.

    `folder` is the scenario's, where its trace is; `metric_requests` is how many metrics GetMetricData is
    asked for, over all polls. An `existing` table's capacity is paid for without the run; `clean_up` deletes
    what was written to it, and reads all of its `table_bytes` for that. `sent` spares working out again what
    the load test sends. Raises `TraceError`.
    """
    found = sent if sent is not None else expected(scenario, folder=folder)
    given, hours = given_to(scenario), hours_begun(scenario.load.duration_s + AROUND_S)
    made = made_for(given, existing=existing)
    provisioned = highest_of(made, scenario)
    units = _units(scenario, prices, found, folder)
    lines = [
        *charges.capacity(provisioned, prices, hours),
        *charges.consumed(given, prices, units),
        *charges.replication(scenario.table, provisioned, given, prices, units, hours),
        *charges.pre_warming(made, prices),
        *charges.stream_reads(scenario, prices),
        *charges.metrics(prices, metric_requests),
    ]
    if clean_up:
        lines += charges.cleaning(given, prices, units, table_bytes)
    return Bill(
        lines=tuple(lines),
        prices=prices,
        write_units=fsum(value for side, value in units.items() if side.direction is Direction.WRITE),
        read_units=fsum(value for side, value in units.items() if side.direction is Direction.READ),
        hours=hours,
        known=found is not None,
        other_mode=_other_mode(scenario.table, given, prices, units, found, hours),
        kept_per_hour=fsum(hourly_dollars(one.provisioned, prices) for one in provisioned if one.kept),
    )


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
    table: TableSpec,
    given: Sequence[GivenCapacity],
    prices: Prices,
    units: Mapping[ResourceSide, float],
    found: LoadTotals | None,
    hours: int,
) -> tuple[BillingMode, float] | None:
    """The scenario's own table in the mode it is not in: by the unit, or provisioned for the peak."""
    own = [side for side in units if side.table == table.name]
    if not given[0].starts_on_demand:
        each = {Direction.WRITE: unit_dollars(Direction.WRITE, prices) * table.copies}
        each[Direction.READ] = unit_dollars(Direction.READ, prices)
        return "PAY_PER_REQUEST", fsum(units[side] * each[side.direction] for side in own)
    if found is None:
        return None
    peaks = {side: float(ceil(found.sides[side].demand(found.duration_s).peak_per_s)) for side in own}
    pairs = [
        Capacity(write=peak) if side.direction is Direction.WRITE else Capacity(read=peak)
        for side, peak in peaks.items()
    ]
    return "PROVISIONED", table.copies * hours * fsum(hourly_dollars(pair, prices) for pair in pairs)
