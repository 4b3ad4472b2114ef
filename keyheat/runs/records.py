"""The client's records per second, summed from the Parquet files of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from keyheat.runfiles import SECONDS, THROTTLES, FileProblem
from keyheat.runs.formats import SecondCount, ThrottleCount
from keyheat.runs.parquet import read_table
from keyheat.validation import mistakes

Row = TypeVar("Row")


def throttle_counts(path: Path) -> tuple[ThrottleCount, ...]:
    """Throttled attempts per second, resource, direction and reason. Raises `FileProblem`."""
    counted = throttles_counted(read_table(path, THROTTLES))
    return _checked(path, lambda row: ThrottleCount(**row), counted)


def second_counts(path: Path) -> tuple[SecondCount, ...]:
    """Counts per second, resource and direction. Raises `FileProblem`."""
    summed = seconds_summed(read_table(path, SECONDS))
    return _checked(path, lambda row: SecondCount(consumed=row.pop("consumed_units"), **row), summed)


def throttles_counted(rows: pa.Table) -> pa.Table:
    """Count throttled attempts by second, index, direction and reason, in order."""
    second = pc.floor_temporal(rows["at"], unit="second").cast(pa.timestamp("s", tz="UTC"))
    by = ["second", "index", "direction", "reason"]
    counted = rows.append_column("second", second).group_by(by).aggregate([("count", "sum")])
    return _in_order(counted.rename_columns([*by, "count"]), by)


def seconds_summed(rows: pa.Table) -> pa.Table:
    """Sum the rows of `seconds.parquet` over operations."""
    by, amounts = ["second", "index", "direction"], ["attempts", "throttled", "unmet", "consumed_units"]
    summed = rows.group_by(by).aggregate([(name, "sum") for name in amounts])
    return _in_order(summed.rename_columns([*by, *amounts]), by)


def _in_order(table: pa.Table, by: list[str]) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in by])


def _checked(path: Path, make: Callable[[dict[str, Any]], Row], rows: pa.Table) -> tuple[Row, ...]:
    try:
        return tuple(make(row) for row in rows.to_pylist())
    except ValidationError as error:
        raise FileProblem(f"{path}: {mistakes(error)[0]}") from error
