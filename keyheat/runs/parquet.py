"""The Parquet files of a run, and the columns of every frame: what they are called, dtypes, units.

Needs pyarrow, which comes with an extra.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from keyheat.inputs import NotRead, check_words, open_parquet
from keyheat.runfiles import (
    PARTITIONS,
    SECONDS,
    THROTTLES,
    FileProblem,
    bytes_of,
    check_format,
    write_atomically,
)
from keyheat.runs.formats import SecondCount, ThrottleCount
from keyheat.validation import mistakes

Row = TypeVar("Row")

SECOND, MOMENT, TEXT, COUNT, NUMBER = (
    "datetime64[s, UTC]", "datetime64[us, UTC]", "string", "Int64", "Float64",
)  # fmt: skip
PERCENTILES: Final = {"p50_ms": 50.0, "p90_ms": 90.0, "p95_ms": 95.0, "p99_ms": 99.0, "p999_ms": 99.9}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    dtype: str
    unit: str
    says: str


_RESOURCE = Column("resource", TEXT, "", "`table`, or the name of an index")
_DIRECTION = Column("direction", TEXT, "", "`read` or `write`")
_OPERATION = Column("operation", TEXT, "", "`PutItem`, `Query` ...; NA on the rows of an index")

FRAMES: Final[Mapping[str, tuple[Column, ...]]] = {
    "seconds": (
        Column("second", SECOND, "UTC", "the second in which the requests were sent"),
        _RESOURCE,
        _DIRECTION,
        _OPERATION,
        Column("attempts", COUNT, "requests", "attempts, retries among them"),
        Column("accepted", COUNT, "requests", "those that succeeded"),
        Column("throttled", COUNT, "requests", "those that were throttled"),
        Column("errors", COUNT, "requests", "those that failed for another reason"),
        Column("consumed_units", NUMBER, "capacity units", "what the accepted ones consumed, RCU or WCU"),
        Column("unmet", COUNT, "requests", "of the errors, those that never met the table's limits"),
    ),
    "throttles": (
        Column("at", MOMENT, "UTC", "when the attempt was sent"),
        _RESOURCE,
        _DIRECTION,
        Column("reason", TEXT, "", "DynamoDB's own word; NA where it gave none"),
        Column("constraint", TEXT, "", "the limit that the reason names: `partition`, `table` ..."),
        _OPERATION,
        Column("key", TEXT, "", "the digest of the partition key; NA where many keys are meant"),
        Column("units", NUMBER, "capacity units", "what one such attempt would have consumed"),
        Column("late_us", COUNT, "µs", "how much later than intended it was sent"),
        Column("service_us", COUNT, "µs", "how long the refusal took"),
        Column("count", COUNT, "requests", "attempts that the row stands for"),
    ),
    "minutes": (
        Column("minute", SECOND, "UTC", "when the period begins"),
        Column("period_s", COUNT, "s", "how long it is: 60, or more for an old window"),
        _RESOURCE,
        _DIRECTION,
        Column("consumed_units", NUMBER, "capacity units", "consumed in the period"),
        Column("throttle_events", NUMBER, "events", "throttled in the period, whatever the cause"),
        Column("throttled_partition", NUMBER, "events", "those that a partition's limit caused"),
        Column("throttled_table", NUMBER, "events", "those that the provisioned throughput caused"),
        Column("throttled_max_on_demand", NUMBER, "events", "those that the on-demand maximum caused"),
        Column("throttled_account", NUMBER, "events", "those that the account's quota caused"),
        Column("provisioned_units_per_s", NUMBER, "capacity units/s", "as last published by then"),
        Column("max_on_demand_units_per_s", NUMBER, "capacity units/s", "as last published by then"),
    ),
    "latency": (
        Column("operation", TEXT, "", "`PutItem`, `Query` ..."),
        Column("outcome", TEXT, "", "service time: `accepted`, `throttled`, `error`; `response`: response "
               "time; `logical`: several requests; `backoff`: between attempts"),
        Column("count", COUNT, "requests", "how many were timed"),
        Column("mean_ms", NUMBER, "ms", "their mean"),
        *(Column(name, NUMBER, "ms", f"percentile {at:g}") for name, at in PERCENTILES.items()),
        Column("max_ms", NUMBER, "ms", "the slowest"),
    ),
    "keys": (
        Column("window", SECOND, "UTC", "when the window begins; NA: the whole run"),
        Column("window_s", NUMBER, "s", "how long it is; NA: the whole run"),
        _DIRECTION,
        Column("key", TEXT, "", "the digest of the partition key"),
        Column("shown", TEXT, "", "its value, where the run was made with `--show-keys`"),
        Column("units", NUMBER, "capacity units", "demand: throttled attempts as what they would cost"),
        Column("consumed_units", NUMBER, "capacity units", "consumed; of the whole run only"),
        Column("throttles", COUNT, "requests", "throttled attempts"),
        Column("share", NUMBER, "", "of all demand, 0 to 1; of the whole run only"),
    ),
    "labels": (
        Column("start", MOMENT, "UTC", "when the span begins"),
        Column("end", MOMENT, "UTC", "when it ends"),
        _RESOURCE,
        _DIRECTION,
        Column("constraint", TEXT, "", "what limited it: `partition`, `table`, `max_on_demand`, `account`, "
               "`undetermined`"),
        Column("throttles", COUNT, "requests", "throttled in the span"),
        Column("grade", TEXT, "", "how it is known: `reason`, `cause_metric`, `inferred`"),
        Column("confidence", NUMBER, "", "0 to 1"),
        Column("rule", TEXT, "", "the rule that decided, see labels.md"),
        Column("because", TEXT, "", "the evidence in words, a line each"),
    ),
}  # fmt: skip
"""Every frame and its columns, in order."""
ARROW: Final = {
    SECOND: pa.timestamp("s", tz="UTC"), MOMENT: pa.timestamp("us", tz="UTC"), TEXT: pa.string(),
    COUNT: pa.int64(), NUMBER: pa.float64(),
}  # fmt: skip


def _schema(frame: str) -> pa.Schema:
    """The file of a frame: it has the index, null for the table itself, and not what is derived."""
    return pa.schema(
        ("index" if column.name == "resource" else column.name, ARROW[column.dtype])
        for column in FRAMES[frame]
        if column.name != "constraint"
    )


SECONDS_SCHEMA = _schema("seconds")
THROTTLES_SCHEMA = _schema("throttles")
PARTITIONS_SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("s", tz="UTC")),  # when the step begins
        ("seconds", pa.int64()),  # how long it is: the same in every row
        ("index", pa.string()),  # null: the table itself
        ("partition", pa.int64()),  # in the order in which they came to be; of a split, the lower half first
        ("parent", pa.int64()),  # the partition that it was split from; null: there from the beginning
        ("since", pa.timestamp("s", tz="UTC")),  # when it came to be
        ("from_share", pa.float64()),  # where its hashes begin, from 0 up to 1
        ("read_units", pa.float64()),  # as the partition counts: eventual reads take a third less
        ("write_units", pa.float64()),
        ("throttled_reads", pa.int64()),  # throttled by this partition, not by the whole table
        ("throttled_writes", pa.int64()),
    ]
)
MOST_ROWS = 16_000_000
SCHEMAS = {SECONDS: SECONDS_SCHEMA, THROTTLES: THROTTLES_SCHEMA, PARTITIONS: PARTITIONS_SCHEMA}


class _NotFound:
    """An import hook that hides pandas."""

    @staticmethod
    def find_spec(name: str, *_where: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def do_without_pandas() -> None:
    """Let pyarrow convert Python values without importing pandas, for a process without frames.

    Its first conversion imports pandas, if installed, to recognize columns: 0.3 s and 60 MB. It tries once,
    so `to_pandas` still works later.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NotFound)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(_NotFound)


def write_table(path: Path, format_name: str, table: pa.Table) -> None:
    """Write a Parquet file with its format in the schema. Raises `CannotWrite`."""
    table = table.cast(SCHEMAS[format_name]).replace_schema_metadata({"format": format_name})
    write_atomically(path, lambda file: pq.write_table(table, file, compression="zstd"))


def read_table(path: Path, format_name: str) -> pa.Table:
    """Read a Parquet file of this format. Raises `FileProblem`."""
    try:
        with open_parquet(pa.BufferReader(bytes_of(path)), MOST_ROWS) as file:
            # Without threads: one that still reads when the interpreter ends aborts the process, now and then
            # (https://github.com/apache/arrow/issues/34314).
            table = file.read(use_threads=False)
        check_words(table.to_batches())
    except NotRead as error:
        raise FileProblem(f"cannot read {path}: {error.strerror}") from error
    except pa.ArrowException as error:
        raise FileProblem(
            f"{path} is not a whole Parquet file ({error}); make it again or restore it"
        ) from error
    format_found = (table.schema.metadata or {}).get(b"format", b"").decode()
    check_format(path, format_found, format_name)
    try:
        return table.cast(SCHEMAS[format_name])  # Parquet has no seconds: they come back as milliseconds
    except (pa.ArrowException, ValueError) as error:
        raise FileProblem(f"{path} says {format_name} but its columns are {table.schema.names}") from error


def throttle_counts(path: Path) -> tuple[ThrottleCount, ...]:
    """Throttled attempts per second, resource, direction and reason. Raises `FileProblem`."""
    counted = throttles_counted(read_table(path, THROTTLES))
    return _checked(path, lambda row: ThrottleCount(**row), counted)


def second_counts(path: Path) -> tuple[SecondCount, ...]:
    """Counts per second, resource and direction. Raises `FileProblem`."""
    by, amounts = ["second", "index", "direction"], ["attempts", "throttled", "unmet", "consumed_units"]
    summed = read_table(path, SECONDS).group_by(by).aggregate([(name, "sum") for name in amounts])
    rows = _in_order(summed.rename_columns([*by, *amounts]), by)
    return _checked(path, lambda row: SecondCount(consumed=row.pop("consumed_units"), **row), rows)


def throttles_counted(rows: pa.Table) -> pa.Table:
    """Count throttled attempts by second, index, direction and reason, in order."""
    second = pc.floor_temporal(rows["at"], unit="second").cast(pa.timestamp("s", tz="UTC"))
    by = ["second", "index", "direction", "reason"]
    counted = rows.append_column("second", second).group_by(by).aggregate([("count", "sum")])
    return _in_order(counted.rename_columns([*by, "count"]), by)


def _in_order(table: pa.Table, by: list[str]) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in by])


def _checked(path: Path, make: Callable[[dict[str, Any]], Row], rows: pa.Table) -> tuple[Row, ...]:
    try:
        return tuple(make(row) for row in rows.to_pylist())
    except ValidationError as error:
        raise FileProblem(f"{path}: {mistakes(error)[0]}") from error
