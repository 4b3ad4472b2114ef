"""The most that one run can cost in AWS, itemized.

Every line is an upper estimate, because budgets are checked against it: all requests are served, hours round
up, and there is no free tier. The sum leaves out lines without a price; `unpriced` names them. Storage is
left out: a gigabyte costs a fraction of a cent a day. How AWS bills:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-understanding-billing.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from pathlib import Path

from keyheat.plan import charges
from keyheat.plan.charges import AROUND_S, Line, created_for, highest_of, hours_begun
from keyheat.plan.prices import Prices
from keyheat.plan.quotas import capacities_of
from keyheat.plan.totals import LoadTotals, ResourceSide, total_load
from keyheat.scenario.scenario import Scenario
from keyheat.words import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The upper cost estimate of a run."""

    lines: tuple[Line, ...]
    prices: Prices
    write_units: float  # of all tables and indexes, in either billing mode
    read_units: float
    hours: int  # of provisioned capacity
    known: bool  # False: the load is unknown, and every request counts as a write
    kept_per_hour: float  # dollars an hour of tables kept after the run

    @property
    def dollars(self) -> float:
        """The sum of the lines that have a price."""
        return fsum(line.dollars or 0.0 for line in self.lines)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Names of the lines without a price, which the sum leaves out."""
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
    """Estimate the most that a run of the scenario can cost.

    `folder` holds the scenario's trace. `metric_requests` counts the metrics of all GetMetricData polls. The
    capacity of an `existing` table is not the run's cost; `clean_up` deletes the items that the run wrote,
    and scans `table_bytes` to find them. Pass `sent` if it is already computed. Raises `TraceError`.
    """
    totals = sent if sent is not None else total_load(scenario, folder=folder)
    given, hours = capacities_of(scenario), hours_begun(scenario.load.duration_s + AROUND_S)
    paid = created_for(given, existing=existing)
    provisioned = highest_of(paid, scenario)
    units = _units(scenario, totals)
    lines = [
        *charges.capacity(provisioned, prices, hours),
        *charges.consumed(given, prices, units),
        *charges.replication(scenario.table, provisioned, given, prices, units, hours),
        *charges.pre_warming(paid, prices),
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
        known=totals is not None,
        kept_per_hour=fsum(prices.provisioned.hourly(each.provisioned) for each in provisioned if each.kept),
    )


def _units(scenario: Scenario, totals: LoadTotals | None) -> Mapping[ResourceSide, float]:
    """Units of each side; in an unknown load, every request writes and moves index entries."""
    if totals is not None:
        return {side: demand.total() for side, demand in totals.sides.items()}
    load, table = scenario.load, scenario.table
    total = load.rate_shape().total(load.duration_s)
    if load.target_unit == "RCU":
        return {ResourceSide(table.name, None, Direction.READ): total}
    writes = total if load.target_unit == "WCU" else total * load.mean_write_units
    entries = {index.name: 2 * writes for index in table.indexes if not index.local}
    return {
        ResourceSide(table.name, name, Direction.WRITE): units
        for name, units in ({None: writes} | entries).items()
    }
