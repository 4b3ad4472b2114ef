"""The Parquet files of a run: columns, writer and reader.

Needs pyarrow, which comes with an extra.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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

SECONDS_SCHEMA = pa.schema(
    [
        ("second", pa.timestamp("s", tz="UTC")),
        ("index", pa.string()),  # null: the table itself
        ("direction", pa.string()),  # read | write
        ("operation", pa.string()),  # PutItem ...; null on index rows
        ("attempts", pa.int64()),
        ("accepted", pa.int64()),
        ("throttled", pa.int64()),
        ("errors", pa.int64()),  # failed for another reason than a throttle
        ("consumed_units", pa.float64()),
        ("unmet", pa.int64()),  # of the errors, those that never met the table's limits
    ]
)
THROTTLES_SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", tz="UTC")),  # when the attempt was sent
        ("index", pa.string()),
        ("direction", pa.string()),
        ("reason", pa.string()),  # DynamoDB's own word, null where it gave none
        ("operation", pa.string()),
        ("key", pa.string()),  # sha256:... digest of the partition key; null where many keys are meant
        ("units", pa.float64()),  # what the attempt would have consumed, as the client estimates it
        ("late_us", pa.int64()),  # actual start minus intended start; null: not measured
        ("service_us", pa.int64()),
        ("count", pa.int64()),  # attempts that the row stands for: 1, but for those of a simulated run
    ]
)
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
