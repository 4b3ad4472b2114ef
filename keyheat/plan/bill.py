"""What a run costs in AWS: the most by items, a running meter, and a month of a capacity.

Every line of a bill is an upper estimate, because budgets are checked against it: all requests are served,
hours round up, and there is no free tier. A price missing from the list is None, never zero: the sum leaves
such lines out, and `unpriced` names them. Storage is left out: a gigabyte costs a fraction of a cent a day.
How AWS bills:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-understanding-billing.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/global-tables-billing.html
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum
from typing import TYPE_CHECKING, Final

from keyheat.model import limits
from keyheat.model.table import TableModel
from keyheat.numbers import some
from keyheat.plan.prices import HOUR_S, MILLION, MONTH_S, Billing, Prices
from keyheat.plan.quotas import GivenCapacity, capacities_of
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec
from keyheat.simulator.capacity import capacity_of
from keyheat.words import WRITES_FIRST, Capacity, Direction

if TYPE_CHECKING:  # a meter needs no simulator
    from keyheat.plan.totals import LoadTotals, ResourceSide
    from keyheat.simulator.search import Step

AROUND_S: Final = 900.0
"""Time that a table exists beyond its load: creation, alignment to the minute, collection, deletion."""
THOUSAND: Final = 1_000
MINUTE_S: Final = 60.0
GIGABYTE: Final = 1e9
STREAM_READS_PER_S: Final = 5.0  # of each shard, by a load test's consumer, which polls every 0.2 s


@dataclass(frozen=True, slots=True)
class Line:
    """One charge."""

    what: str
    quantity: float
    unit: str
    each_dollars: float | None  # None: not in the price list

    @property
    def dollars(self) -> float | None:
        """Quantity times price; None without a price."""
        return None if self.each_dollars is None else self.quantity * self.each_dollars


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
    sent: "LoadTotals | None",
    *,
    metric_requests: float = 0,
    existing: bool = False,
    clean_up: bool = False,
    table_bytes: float = 0,
) -> Bill:
    """Estimate the most that a run of the scenario can cost; `sent` is None if its load is unknown.

    `metric_requests` counts the metrics of all GetMetricData polls. The capacity of an `existing` table is
    not the run's cost; `clean_up` deletes the items that the run wrote, and scans `table_bytes` to find them.
    """
    given, hours = capacities_of(scenario), hours_begun(scenario.load.duration_s + AROUND_S)
    paid = [resource for resource in given if not (existing and resource.table == given[0].table)]
    units = _units(scenario, sent)
    lines = [
        *_capacity(paid, prices, hours),
        *_consumed(given, prices, units),
        *_replication(scenario.table, paid, given, prices, units, hours),
        *pre_warming(paid, prices),
    ]
    if scenario.table.stream is not None:  # a consumer polls every shard at the highest rate
        shards = TableModel(capacity_of(scenario.table), now_s=0.0).partition_count()
        reads = shards * STREAM_READS_PER_S * (scenario.load.duration_s + MINUTE_S)
        per_read = prices.streams.read_per_million / MILLION if prices.streams else None
        lines.append(Line("GetRecords of the table's stream", reads, "requests", per_read))
    if metric_requests:
        per_metric = prices.cloudwatch.metrics_per_thousand / THOUSAND if prices.cloudwatch else None
        lines.append(Line("CloudWatch GetMetricData", metric_requests, "metrics", per_metric))
    if clean_up:
        lines += _cleaning(given[0], prices, units, table_bytes)
    return Bill(
        lines=tuple(lines),
        prices=prices,
        write_units=_sum_of(units, Direction.WRITE),
        read_units=_sum_of(units, Direction.READ),
        hours=hours,
        known=sent is not None,
        kept_per_hour=fsum(prices.provisioned.hourly(each.provisioned) for each in paid if each.kept),
    )


def _units(scenario: Scenario, sent: "LoadTotals | None") -> "Mapping[ResourceSide, float]":
    """Units of each side; in an unknown load, every request writes and moves index entries."""
    if sent is not None:
        return {side: demand.total() for side, demand in sent.sides.items()}
    from keyheat.plan.totals import ResourceSide

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


def _sum_of(units: "Mapping[ResourceSide, float]", direction: Direction, table: str | None = None) -> float:
    """Units in one direction, of all tables or of one."""
    return fsum(
        value
        for side, value in units.items()
        if side.direction is direction and (table is None or side.table == table)
    )


def _capacity(given: Sequence[GivenCapacity], prices: Prices, hours: int) -> Iterator[Line]:
    """Charge provisioned capacity by the hour."""
    for resource in given:
        for direction in WRITES_FIRST:
            if units := resource.provisioned.of(direction):
                what = f"{units:,.0f} {direction.unit}/s provisioned, {resource.name}"
                each = prices.provisioned.each(direction)
                yield Line(what, units * hours, f"{direction.unit}-hours", each)


def _consumed(
    given: Sequence[GivenCapacity], prices: Prices, units: "Mapping[ResourceSide, float]"
) -> Iterator[Line]:
    """Charge all units of tables that are on demand at any time."""
    resources = {(resource.table, resource.index): resource for resource in given}
    for side, quantity in units.items():
        resource = resources.get((side.table, side.index))
        if resource is not None and resource.on_demand_from_s is not None and quantity:
            what = f"{side.unit} consumed on demand, {resource.name}"
            yield Line(what, quantity, side.unit, prices.on_demand.each(side.direction))


def _replication(
    table: TableSpec, provisioned: Sequence[GivenCapacity], given: Sequence[GivenCapacity], prices: Prices,
    units: "Mapping[ResourceSide, float]", hours: int,
) -> Iterator[Line]:  # fmt: skip
    """Charge a global table in its other Regions: the same writes, with index entries, the same provisioned
    capacity, and the transfer. Assumes the same prices in every Region.
    """
    written = {
        side: value
        for side, value in units.items()
        if side.table == table.name and side.direction is Direction.WRITE
    }
    there = fsum(
        prices.provisioned.hourly(resource.provisioned)
        for resource in provisioned
        if resource.table == table.name
    )
    for region in table.regions[1:]:
        if there:
            yield Line(f"the same capacity in {region}", hours, "hours", there)
        for line in _consumed(given, prices, written):
            yield replace(line, what=f"{line.what}, copied to {region}")
    if others := table.copies - 1:
        table_units = fsum(value for side, value in written.items() if side.index is None)
        size = table_units * others * limits.WRITE_UNIT_BYTES / GIGABYTE
        yield Line(f"transfer to {some(others, 'Region')}, at most", size, "GB", None)


def _cleaning(
    table: GivenCapacity, prices: Prices, units: "Mapping[ResourceSide, float]", table_bytes: float
) -> Iterator[Line]:
    """Charge the search of a kept table for the run's items, and their deletion: at most the units that wrote
    them.
    """
    if table.on_demand_from_s is None:
        return
    written, each = _sum_of(units, Direction.WRITE, table.table), prices.on_demand.each(Direction.WRITE)
    yield Line(f"WCU of deleting what was written, {table.name}", written, "WCU", each)
    if table_bytes:
        read = table_bytes / (2 * limits.READ_UNIT_BYTES)  # eventually consistent
        yield Line(f"RCU of looking for it, {table.name}", read, "RCU", prices.on_demand.each(Direction.READ))


def pre_warming(given: Sequence[GivenCapacity], prices: Prices) -> Iterator[Line]:
    """Charge warm throughput once, for what exceeds the capacity that comes with the table.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
    """
    for resource in given:
        for direction in WRITES_FIRST:
            there = (resource.at_start.of(direction) or 0.0, resource.provisioned.of(direction) or 0.0)
            each = prices.warm.each(direction) if prices.warm else None
            if (warm := resource.warm.of(direction) or 0.0) > max(there):
                what = f"pre-warming to {warm:,.0f} {direction.unit}/s, {resource.name}"
                yield Line(what, warm - max(there), f"{direction.unit}/s once", each)


def hours_begun(seconds: float) -> int:
    """Billable hours: capacity is priced by the hour, and each begun hour counts whole."""
    return max(1, ceil(seconds / HOUR_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The running meter of a run: the cost so far of consumed units and begun hours.

    A global table pays for each write in every Region, at the price of a local write. The meter adds up the
    units of all tables. If any table is on demand, all units are charged: the meter overestimates rather than
    underestimates.
    """

    per_hour: float  # dollars of all provisioned capacity
    per_write_unit: float
    per_read_unit: float

    @classmethod
    def of(cls, scenario: Scenario, prices: Prices, *, existing: bool = False) -> "Tariff":
        """Build the tariff of a scenario's tables; an `existing` table's capacity is free of charge."""
        given = capacities_of(scenario)
        paid = [resource for resource in given if not (existing and resource.table == given[0].table)]
        by_unit = any(resource.on_demand_from_s is not None for resource in given)
        return cls(
            per_hour=fsum(prices.provisioned.hourly(each.provisioned) for each in paid),
            per_write_unit=prices.on_demand.each(Direction.WRITE) * scenario.table.copies if by_unit else 0.0,
            per_read_unit=prices.on_demand.each(Direction.READ) if by_unit else 0.0,
        )

    def dollars(self, write_units: float, read_units: float, elapsed_s: float) -> float:
        """Dollars spent in `elapsed_s` since the tables were created."""
        consumed = write_units * self.per_write_unit + read_units * self.per_read_unit
        return self.per_hour * hours_begun(elapsed_s) + consumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Monthly:
    """Monthly dollars of capacity under the simulated load, and the cost of reading a whole collection."""

    provisioned_dollars: float | None  # of the table and its indexes; None: on demand
    on_demand_dollars: float  # of the units that the simulated load consumed
    queries_per_read: int  # of a whole collection: one per shard
    units_per_read: float  # minimum, eventually consistent: half a unit per query


def monthly(step: "Step", prices: Prices) -> Monthly:
    """Monthly cost of one tried step. A query of up to 4 KB costs half a read unit:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
    """
    scenario, outcome = step.scenario, step.outcome
    shards = max(scenario.keys.shards, *(attribute.shards for attribute in scenario.attributes.values()), 1)
    return Monthly(
        provisioned_dollars=provisioned_month(scenario.table, prices),
        on_demand_dollars=consumed_month(
            outcome.while_loaded_per_s, scenario, Billing(prices), scale=scenario.local.scale
        ),
        queries_per_read=shards,
        units_per_read=shards * limits.EVENTUAL_READ_FACTOR,
    )


def consumed_month(
    per_s: Mapping[Direction, float], scenario: Scenario, billing: Billing, *, scale: float
) -> float:
    """On-demand dollars a month of units per second, at a scale, with writes in every Region."""
    loaded_s = billing.loaded_s / scale
    return billing.prices.on_demand.dollars(
        write_units=per_s[Direction.WRITE] * loaded_s * scenario.table.copies,
        read_units=per_s[Direction.READ] * loaded_s,
    )


def provisioned_month(table: TableSpec, prices: Prices) -> float | None:
    """Provisioned dollars a month of the table and its indexes, in every Region; None on demand."""
    stated = [table.provisioned, *(index.provisioned for index in table.indexes)]
    pairs = [pair for pair in stated if pair is not None]
    if not pairs:
        return None
    total = Capacity(read=sum(pair.read or 0 for pair in pairs), write=sum(pair.write or 0 for pair in pairs))
    return prices.provisioned.hourly(total) * MONTH_S * table.copies / HOUR_S
