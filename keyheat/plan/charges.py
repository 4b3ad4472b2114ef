"""What is paid for: the lines of a run's bill, its running meter, and a candidate's month.

A price that the list does not have is None, never zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum
from typing import TYPE_CHECKING, Final

from keyheat.model import limits
from keyheat.model.resources import highest
from keyheat.model.table import TableModel
from keyheat.numbers import some
from keyheat.plan.prices import (
    HOUR_S,
    MILLION,
    MONTH_S,
    Billing,
    Prices,
    consumed_dollars,
    provisioned_dollars,
)
from keyheat.plan.quotas import GivenCapacity, given_to, pre_warmed
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec
from keyheat.simulator.capacity import capacity_of
from keyheat.words import WRITES_FIRST, Capacity, Direction

if TYPE_CHECKING:  # what a simulation came to; a run that is only billed needs no simulator
    from keyheat.plan.totals import ResourceSide
    from keyheat.simulator.outcome import SimulationOutcome
    from keyheat.simulator.search import Step

AROUND_S: Final = 900.0
"""Seconds that a table exists beside its load: creation, alignment to the minute, collecting, deletion."""
THOUSAND: Final = 1_000
MINUTE_S: Final = 60.0
GIGABYTE: Final = 1e9
STREAM_READS_PER_S: Final = 5.0  # of each shard, by the consumer of a load test: it waits 0.2 s for more


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that is paid for."""

    what: str
    quantity: float
    unit: str
    each_dollars: float | None  # None: the price list does not have it

    @property
    def dollars(self) -> float | None:
        """What it comes to; None where it has no price."""
        return None if self.each_dollars is None else self.quantity * self.each_dollars


def hourly_dollars(pair: Capacity, prices: Prices) -> float:
    """Dollars an hour of provisioned capacity."""
    own = prices.provisioned
    return (pair.write or 0) * own.write_per_hour + (pair.read or 0) * own.read_per_hour


def unit_dollars(direction: Direction, prices: Prices) -> float:
    """Dollars of one unit in on-demand mode."""
    own = prices.on_demand
    return (own.write_per_million if direction is Direction.WRITE else own.read_per_million) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The running meter of a run: what the units that came back, and the hours begun, have cost by now.

    Of a global table each write is paid for in every Region, at the price of a write of its own:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/global-tables-billing.html
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
                for one in highest_of(made_for(given, existing=existing), scenario)
            ),
            per_write_unit=unit_dollars(Direction.WRITE, prices) * scenario.table.copies if by_unit else 0.0,
            per_read_unit=unit_dollars(Direction.READ, prices) if by_unit else 0.0,
        )

    def dollars(self, write_units: float, read_units: float, elapsed_s: float) -> float:
        """What was spent since the tables were made, `elapsed_s` ago."""
        consumed = write_units * self.per_write_unit + read_units * self.per_read_unit
        return self.per_hour * hours_begun(elapsed_s) + consumed


def hours_begun(seconds: float) -> int:
    """Hours that are paid for: capacity is priced by the hour, and one that has begun counts whole."""
    return max(1, ceil(seconds / HOUR_S))


def made_for(given: Sequence[GivenCapacity], *, existing: bool) -> list[GivenCapacity]:
    """What exists for the run: companions, and the scenario's own table unless it was there."""
    return [one for one in given if not (existing and one.table == given[0].table)]


def highest_of(made: Sequence[GivenCapacity], scenario: Scenario) -> list[GivenCapacity]:
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


def capacity(given: Sequence[GivenCapacity], prices: Prices, hours: int) -> Iterator[Line]:
    """Provisioned capacity of tables and indexes, by the hour."""
    own = prices.provisioned
    each = {Direction.WRITE: own.write_per_hour, Direction.READ: own.read_per_hour}
    for one in given:
        for direction in WRITES_FIRST:
            if units := one.provisioned.of(direction):
                yield Line(
                    what=f"{units:,.0f} {direction.unit}/s provisioned, {one.name}",
                    quantity=units * hours,
                    unit=f"{direction.unit}-hours",
                    each_dollars=each[direction],
                )


def consumed(
    given: Sequence[GivenCapacity], prices: Prices, units: "Mapping[ResourceSide, float]"
) -> Iterator[Line]:
    """Units of tables that are on demand at any time: all of their units, also those before a switch."""
    by_unit = {(one.table, one.index): one for one in given if one.on_demand_from_s is not None}
    for side, quantity in units.items():
        one = by_unit.get((side.table, side.index))
        if one is not None and quantity:
            yield Line(
                what=f"{side.unit} consumed on demand, {one.name}",
                quantity=quantity,
                unit=side.unit,
                each_dollars=unit_dollars(side.direction, prices),
            )


def replication(
    table: TableSpec,
    provisioned: Sequence[GivenCapacity],
    given: Sequence[GivenCapacity],
    prices: Prices,
    units: "Mapping[ResourceSide, float]",
    hours: int,
) -> Iterator[Line]:
    """What a global table costs in each of its other Regions: as many writes as here, index entries too, the
    same capacity where that is provisioned, and the transfer there.

    Prices are taken to be the same everywhere:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/global-tables-billing.html
    """
    written = {
        side: value
        for side, value in units.items()
        if side.table == table.name and side.direction is Direction.WRITE
    }
    own = fsum(value for side, value in written.items() if side.index is None)
    there = fsum(hourly_dollars(one.provisioned, prices) for one in provisioned if one.table == table.name)
    for region in table.regions[1:]:
        if there:
            yield Line(
                what=f"the same capacity in {region}", quantity=hours, unit="hours", each_dollars=there
            )
        for line in consumed(given, prices, written):
            yield replace(line, what=f"{line.what}, copied to {region}")
    if others := table.copies - 1:
        yield Line(
            what=f"transfer to {some(others, 'Region')}, at most",
            quantity=own * others * limits.WRITE_UNIT_BYTES / GIGABYTE,
            unit="GB",
            each_dollars=None,
        )


def cleaning(
    given: Sequence[GivenCapacity], prices: Prices, units: "Mapping[ResourceSide, float]", table_bytes: float
) -> Iterator[Line]:
    """Looking through a table that stays for what a run wrote, and deleting that: as many units as writing it
    took, at the most.
    """
    own = given[0]
    if own.on_demand_from_s is None:
        return
    written = fsum(
        value
        for side, value in units.items()
        if side.table == own.table and side.direction is Direction.WRITE
    )
    yield Line(
        what=f"WCU of deleting what was written, {own.name}",
        quantity=written,
        unit="WCU",
        each_dollars=unit_dollars(Direction.WRITE, prices),
    )
    if table_bytes:
        yield Line(
            what=f"RCU of looking for it, {own.name}",
            quantity=table_bytes / (2 * limits.READ_UNIT_BYTES),  # eventually consistent
            unit="RCU",
            each_dollars=unit_dollars(Direction.READ, prices),
        )


def pre_warming(given: Sequence[GivenCapacity], prices: Prices) -> Iterator[Line]:
    """Warm throughput that is asked for: paid once, for what is not there without.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
    """
    own = prices.warm
    for one in given:
        for direction in WRITES_FIRST:
            if more := pre_warmed(one, direction):
                writes = direction is Direction.WRITE
                each = (own.write_once if writes else own.read_once) if own else None
                yield Line(
                    what=f"pre-warming to {one.warm.of(direction):,.0f} {direction.unit}/s, {one.name}",
                    quantity=more,
                    unit=f"{direction.unit}/s once",
                    each_dollars=each,
                )


def stream_reads(scenario: Scenario, prices: Prices) -> Iterator[Line]:
    """GetRecords of whoever follows the table's stream: every shard, as often as it is asked at most."""
    if scenario.table.stream is None:
        return
    shards = TableModel(capacity_of(scenario.table), now_s=0.0).partition_count()
    yield Line(
        what="GetRecords of the table's stream",
        quantity=shards * STREAM_READS_PER_S * (scenario.load.duration_s + MINUTE_S),
        unit="requests",
        each_dollars=prices.streams.read_per_million / MILLION if prices.streams else None,
    )


def metrics(prices: Prices, requested: float) -> Iterator[Line]:
    """GetMetricData, by the metric."""
    own = prices.cloudwatch
    if requested:
        yield Line(
            what="CloudWatch GetMetricData",
            quantity=requested,
            unit="metrics",
            each_dollars=own.metrics_per_thousand / THOUSAND if own else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Monthly:
    """Dollars a month of capacity, if the simulated load went on, and the price of reading a collection."""

    provisioned_dollars: float | None  # of the table with its indexes; None: on demand
    on_demand_dollars: float  # of what the simulated load consumed
    queries_per_read: int  # of a whole collection: one for each shard
    units_per_read: float  # at least, eventually consistent: half a unit for each query


def monthly(step: "Step", prices: Prices) -> Monthly:
    """The costs of a number that was tried. A query of up to 4 KB costs half a read unit:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
    """
    scenario, outcome = step.scenario, step.outcome
    shards = max(scenario.keys.shards, *(one.shards for one in scenario.attributes.values()), 1)
    return Monthly(
        provisioned_dollars=provisioned_month(scenario.table, prices),
        on_demand_dollars=consumed_month(outcome, scenario, Billing(prices)),
        queries_per_read=shards,
        units_per_read=shards * limits.EVENTUAL_READ_FACTOR,
    )


def consumed_month(outcome: "SimulationOutcome", scenario: Scenario, billing: Billing) -> float:
    """Dollars a month of what was consumed while the load was on, by the unit; writes in every Region."""
    loaded_s = billing.loaded_s / scenario.local.scale
    month_units = {
        side: outcome.consumed_per_s(side) * outcome.seconds / outcome.loaded_s * loaded_s
        for side in Direction
        if outcome.loaded_s
    }
    return consumed_dollars(
        billing.prices.on_demand,
        write_units=month_units.get(Direction.WRITE, 0.0) * scenario.table.copies,
        read_units=month_units.get(Direction.READ, 0.0),
    )


def provisioned_month(table: TableSpec, prices: Prices) -> float | None:
    """Dollars a month of what the table and its indexes have provisioned, in every Region; None on demand."""
    stated = [table.provisioned, *(index.provisioned for index in table.indexes)]
    pairs = [pair for pair in stated if pair is not None]
    if not pairs:
        return None
    return provisioned_dollars(
        prices.provisioned,
        MONTH_S * table.copies,
        write_per_s=sum(pair.write or 0 for pair in pairs),
        read_per_s=sum(pair.read or 0 for pair in pairs),
    )
