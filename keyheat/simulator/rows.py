"""The rows of a simulated run, as its Parquet files have them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from keyheat.runs.parquet import SECONDS_SCHEMA, THROTTLES_SCHEMA
from keyheat.runs.partitions import partitions_in, partitions_table
from keyheat.simulator.simulate import Simulation

US_PER_S: Final = 1_000_000


def seconds_table(simulation: Simulation) -> pa.Table:
    """The rows as they stand in `seconds.parquet`: every simulated attempt meets the table."""
    rows = [(*row, 0) for row in simulation.client.seconds]
    return _table(dict(zip(SECONDS_SCHEMA.names, zip(*rows, strict=True), strict=False)), SECONDS_SCHEMA)


def throttles_table(simulation: Simulation) -> pa.Table:
    """The rows as they stand in `throttles.parquet`, each for the attempts of one second that are alike."""
    rows = [(second * US_PER_S, *row) for second, *row in simulation.client.throttles]
    names = ("at", "index", "direction", "reason", "operation", "key", "units", "count")
    return _table(dict(zip(names, zip(*rows, strict=True), strict=False)), THROTTLES_SCHEMA)


def _table(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """A table of these columns; others of the schema are null."""
    count = len(next(iter(columns.values()), ()))
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


def partition_rows(simulation: Simulation) -> pa.Table:
    """What each partition of the scenario's own table served and refused."""
    partitions = partitions_in(simulation.model.partition_record())
    return partitions_table(partitions, simulation.started_s, simulation.ended_s)
