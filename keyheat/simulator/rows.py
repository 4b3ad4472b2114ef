"""The rows of a simulated run, as its Parquet files have them."""

from typing import Final

import pyarrow as pa

from keyheat.runs.parquet import SECONDS_SCHEMA, THROTTLES_SCHEMA
from keyheat.runs.partitions import partitions_table
from keyheat.simulator.simulate import Simulation

US_PER_S: Final = 1_000_000


def seconds_table(simulation: Simulation) -> pa.Table:
    """The rows as they stand in `seconds.parquet`: every simulated attempt meets the table."""
    names = SECONDS_SCHEMA.names
    rows = [dict(zip(names, (*row, 0), strict=True)) for row in simulation.client.seconds]
    return pa.Table.from_pylist(rows, SECONDS_SCHEMA)


def throttles_table(simulation: Simulation) -> pa.Table:
    """The rows as they stand in `throttles.parquet`, each for the attempts of one second that are alike."""
    names = ("at", "index", "direction", "reason", "operation", "key", "units", "count")
    rows = [
        dict(zip(names, (second * US_PER_S, *row), strict=True))
        for second, *row in simulation.client.throttles
    ]
    return pa.Table.from_pylist(rows, THROTTLES_SCHEMA)


def partition_rows(simulation: Simulation) -> pa.Table:
    """What each partition of the scenario's own table served and refused."""
    record = simulation.model.partition_record()
    return partitions_table(record, simulation.started_s, simulation.ended_s)
