"""The files of a run directory: their names, their versions, and writing them whole or not at all.

Every file starts with its format name and version; a reader that meets another one says so. Writing goes to
a temporary name beside the target and is renamed into place, so a killed process leaves a whole file or none.

    run.json          RUN       manifest: scenario, seed, versions, table, generator health, totals
    seconds.parquet   SECONDS   what the client saw, second by second
    throttles.parquet THROTTLES every throttled attempt, one row each
    latency.hdr       LATENCY   HDR histograms in microseconds
    keys.json         KEYS      hottest keys, over the run and per window
    evidence.json     EVIDENCE  what CloudWatch and the client say, the analyzer's input
    diagnosis.json    DIAGNOSIS labels and recommendations
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

RUN = "keyheat.run/1"
SECONDS = "keyheat.seconds/1"
THROTTLES = "keyheat.throttles/1"
LATENCY = "keyheat.latency/1"
KEYS = "keyheat.keys/1"
EVIDENCE = "keyheat.evidence/1"
DIAGNOSIS = "keyheat.diagnosis/1"

FILES = {
    RUN: "run.json", SECONDS: "seconds.parquet", THROTTLES: "throttles.parquet", LATENCY: "latency.hdr",
    KEYS: "keys.json", EVIDENCE: "evidence.json", DIAGNOSIS: "diagnosis.json",
}  # fmt: skip

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
    ]
)
THROTTLES_SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", tz="UTC")),  # when the attempt was sent
        ("index", pa.string()),
        ("direction", pa.string()),
        ("reason", pa.string()),  # DynamoDB's own word, null where it gave none
        ("operation", pa.string()),
        ("key", pa.string()),  # sha256:... digest of the partition key
        ("units", pa.float64()),  # what the attempt would have consumed, as the client estimates it
        ("late_us", pa.int64()),  # actual start minus intended start
        ("service_us", pa.int64()),
    ]
)
SCHEMAS = {SECONDS: SECONDS_SCHEMA, THROTTLES: THROTTLES_SCHEMA}


class FileProblem(Exception):
    """A run file that is missing, damaged or of another version; the message is for the person who asked."""


class CannotWrite(FileProblem):
    """A file that could not be written: a read-only folder, a full disk."""


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file whole or not at all: `write` gets the open temporary file, which is then renamed.

    Raises `CannotWrite` where the folder cannot be written or the disk is full; nothing is left behind.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False
        ) as file:
            temporary = file.name
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_json(path: Path, format_name: str, content: dict[str, Any]) -> None:
    """Write a JSON file that starts with its format. Raises `CannotWrite`."""
    body = orjson.dumps(
        {"format": format_name, **content}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    )
    write_atomically(path, lambda file: file.write(body))


def read_json(path: Path, format_name: str) -> dict[str, Any]:
    """Read a JSON file of the stated format. Raises `FileProblem` with what would be accepted."""
    try:
        content = orjson.loads(_bytes_of(path))
    except orjson.JSONDecodeError as error:
        raise FileProblem(f"{path} is not whole JSON ({error}); make it again or restore it") from error
    found = content.get("format") if isinstance(content, dict) else None
    _check_format(path, found, format_name)
    return dict(content)


def read_text(path: Path) -> str:
    """The text of a file. Raises `FileProblem`."""
    try:
        return _bytes_of(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem(f"{path} is not text: {error}") from error


def write_table(path: Path, format_name: str, table: pa.Table) -> None:
    """Write a Parquet file whose schema carries its format. Raises `CannotWrite`."""
    table = table.cast(SCHEMAS[format_name]).replace_schema_metadata({"format": format_name})
    write_atomically(path, lambda file: pq.write_table(table, file, compression="zstd"))


def read_table(path: Path, format_name: str) -> pa.Table:
    """Read a Parquet file of the stated format. Raises `FileProblem`."""
    try:
        table = pq.read_table(pa.BufferReader(_bytes_of(path)))
    except pa.ArrowException as error:
        raise FileProblem(
            f"{path} is not a whole Parquet file ({error}); make it again or restore it"
        ) from error
    found = (table.schema.metadata or {}).get(b"format", b"").decode()
    _check_format(path, found, format_name)
    try:
        return table.cast(SCHEMAS[format_name])  # Parquet has no seconds: they come back as milliseconds
    except (pa.ArrowException, ValueError) as error:
        raise FileProblem(f"{path} says {format_name} but its columns are {table.schema.names}") from error


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise FileProblem(f"{path} is missing") from error
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error


def _check_format(path: Path, found: object, wanted: str) -> None:
    if found != wanted:
        stated = f"format {found!r}" if found else "no format"
        raise FileProblem(f"{path} states {stated}; this version reads {wanted!r}")
