"""What a candidate of a what-if search costs a month, and what its shards cost to read back."""

from dataclasses import dataclass

from keyheat.model import limits
from keyheat.plan.prices import MONTH_S, Prices, consumed_dollars, provisioned_dollars
from keyheat.scenario.spec.table import TableSpec
from keyheat.simulator.outcome import Outcome
from keyheat.simulator.trials import Candidate
from keyheat.words import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Monthly:
    """Dollars a month of capacity, if the simulated load went on, and the price of reading a collection."""

    provisioned_dollars: float | None  # of the table with its indexes; None: on demand
    on_demand_dollars: float  # of what the simulated load consumed
    queries_per_read: int  # of a whole collection: one for each shard
    units_per_read: float  # at least, eventually consistent: half a unit for each query


def monthly(candidate: Candidate, prices: Prices) -> Monthly:
    """The costs of a candidate, by its first seed. A query of up to 4 KB costs half a read unit:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
    """
    scenario, outcome = candidate.scenario, candidate.outcomes[0]
    return Monthly(
        provisioned_dollars=provisioned_month(scenario.table, prices),
        on_demand_dollars=consumed_month(outcome, scenario.local.scale, prices),
        queries_per_read=scenario.keys.shards,
        units_per_read=scenario.keys.shards * limits.EVENTUAL_READ_FACTOR,
    )


def consumed_month(outcome: Outcome, scale: float, prices: Prices) -> float:
    """Dollars a month of what was consumed, by the unit; `scale` is that of the simulated table."""
    month_units = {side: outcome.consumed_per_s(side) / scale * MONTH_S for side in Direction}
    return consumed_dollars(
        prices.on_demand, write_units=month_units[Direction.WRITE], read_units=month_units[Direction.READ]
    )


def provisioned_month(table: TableSpec, prices: Prices) -> float | None:
    """Dollars a month of what the table and its indexes have provisioned; None for a table on demand."""
    stated = [table.provisioned, *(index.provisioned for index in table.indexes)]
    pairs = [pair for pair in stated if pair is not None]
    if not pairs:
        return None
    return provisioned_dollars(
        prices.provisioned,
        MONTH_S,
        write_per_s=sum(pair.write or 0 for pair in pairs),
        read_per_s=sum(pair.read or 0 for pair in pairs),
    )
