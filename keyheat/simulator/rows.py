"""The rows of a simulated run, as its Parquet files have them."""

from typing import Final

import pyarrow as pa

from keyheat.runs.parquet import SECONDS_SCHEMA, THROTTLES_SCHEMA
from keyheat.runs.partitions import partitions_table
from keyheat.simulator.simulate import Simulation

US_PER_S: Final = 1_000_000


def seconds_table(simulation: Simulation) -> pa.Table:
    """The rows as they stand in `seconds.parquet`: every simulated attempt meets the table."""
    rows = simulation.client.seconds
    columns = [*rows.columns, [0] * len(rows)]
    typed = [pa.array(column, field.type) for column, field in zip(columns, SECONDS_SCHEMA, strict=True)]
    return pa.table(typed, schema=SECONDS_SCHEMA)


def throttles_table(simulation: Simulation) -> pa.Table:
    """The rows as they stand in `throttles.parquet`, each for the attempts of one second that are alike."""
    rows = simulation.client.throttles
    names = ("at", "index", "direction", "reason", "operation", "key", "units", "count")
    columns = dict(zip(names, rows.columns, strict=True))
    columns["at"] = [second * US_PER_S for second in columns["at"]]
    return pa.table(
        [
            pa.array(columns[field.name], field.type)
            if field.name in columns
            else pa.nulls(len(rows), field.type)
            for field in THROTTLES_SCHEMA
        ],
        schema=THROTTLES_SCHEMA,
    )


def partition_rows(simulation: Simulation) -> pa.Table:
    """What each partition of the scenario's own table served and refused."""
    record = simulation.model.partition_record()
    return partitions_table(record, simulation.started_s, simulation.ended_s)
