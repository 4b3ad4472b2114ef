"""The files of a run directory: their names, their versions, and writing them whole or not at all.

Every file starts with its format name and version; a reader that meets another one says so. Writing goes to
a temporary name beside the target and is renamed into place, so a killed process leaves a whole file or none.

    run.json          RUN       manifest: scenario, seed, versions, table, generator health, totals
    seconds.parquet   SECONDS   what the client saw, second by second
    throttles.parquet THROTTLES every throttled attempt: a row each, or one for many that are alike
    latency.hdr       LATENCY   HDR histograms in microseconds
    keys.json         KEYS      hottest keys, over the run and per window
    partitions.parquet PARTITIONS  what each partition served and refused, where that is known
    evidence.json     EVIDENCE  what CloudWatch and the client say, the analyzer's input
    diagnosis.json    DIAGNOSIS labels and recommendations
    summary.json      SUMMARY   the run in a few numbers, as it is compared with others
    report.html       its page, for a person
"""

import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import orjson

from keyheat import inputs

RUN = "keyheat.run/1"
SECONDS = "keyheat.seconds/1"
THROTTLES = "keyheat.throttles/1"
LATENCY = "keyheat.latency/1"
KEYS = "keyheat.keys/1"
PARTITIONS = "keyheat.partitions/1"
EVIDENCE = "keyheat.evidence/1"
DIAGNOSIS = "keyheat.diagnosis/1"
SUMMARY = "keyheat.summary/1"

SIMULATED = "simulated"
"""Target of a simulated run in its manifest."""
US_PER_MS = 1_000
"""Latencies are stored in microseconds and shown in milliseconds."""

FILES = {
    RUN: "run.json", SECONDS: "seconds.parquet", THROTTLES: "throttles.parquet", LATENCY: "latency.hdr",
    KEYS: "keys.json", PARTITIONS: "partitions.parquet",
    EVIDENCE: "evidence.json", DIAGNOSIS: "diagnosis.json", SUMMARY: "summary.json",
}  # fmt: skip
REPORT = "report.html"


MOST_BYTES = 1 << 30
MOST_ROWS = 3_000_000  # twenty indexes and fifteen days of minutes are two million points
MOST_VALUES = 20_000_000  # of all rows together
OTHER_BRACKETS = 100_000  # outside of rows: lists, series, indexes
SHORTER = "take a shorter window, or fewer indexes"


def time_of(epoch_s: float) -> str:
    """Format an epoch time as in files."""
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class FileProblem(Exception):
    """A missing, damaged or unsupported run file; the message is for the user."""


class CannotWrite(FileProblem):
    """A file that could not be written, as in a read-only folder or on a full disk."""


def check_no_link(folder: Path) -> None:
    """Raise `CannotWrite` for an output folder that is a link: another user may have set it."""
    if folder.is_symlink():
        raise CannotWrite(f"{folder} is a link: name the folder that it leads to, or another one (--out)")


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file completely or not at all: `write` fills a temporary file, which is then renamed.

    Raises `CannotWrite` for a read-only folder or a full disk; leaves nothing behind.
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


def write_text(path: Path, text: str) -> None:
    """Write a text file. Raises `CannotWrite`."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_json(path: Path, format_name: str, content: dict[str, Any]) -> None:
    """Write a JSON file that begins with its format. Raises `CannotWrite`."""
    body = orjson.dumps(
        {"format": format_name, **content}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    )
    write_atomically(path, lambda file: file.write(body))


def read_json(path: Path, format_name: str) -> dict[str, Any]:
    """Read a JSON file of this format. Raises `FileProblem`."""
    content = parsed_json(path)
    fields = content if isinstance(content, dict) else {}
    check_format(path, fields.get("format"), format_name)
    return fields


def parsed_json(path: Path) -> object:
    """Parse a JSON file of any format. Raises `FileProblem`, also if it is too long.

    Checks the length first: a row of a list takes five times its bytes in memory.
    """
    body = bytes_of(path)
    if (rows := body.count(b"[") + body.count(b"{")) > MOST_ROWS + OTHER_BRACKETS:
        raise FileProblem(f"{path} has some {rows:,} rows; at most {MOST_ROWS:,} are read: {SHORTER}")
    if (values := rows + body.count(b",")) > MOST_VALUES:
        raise FileProblem(f"{path} has some {values:,} values; at most {MOST_VALUES:,} are read: {SHORTER}")
    try:
        return inputs.parsed_json(body)
    except inputs.NotAccepted as error:
        raise FileProblem(f"{path} is {error}; make it again or restore it") from error


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Read a text file. Raises `FileProblem`."""
    try:
        return bytes_of(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem(f"{path} is not text: {error}") from error


def bytes_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a regular file of limited length. Raises `FileProblem`."""
    try:
        return inputs.read_file(path, most_bytes)
    except FileNotFoundError as error:
        # Hint once, for the file that is read first.
        hint = ""
        beside = {name for name in (RUN, EVIDENCE) if (path.parent / FILES[name]).exists()}
        if path.name == FILES[DIAGNOSIS] and beside:
            verb = "analyze" if EVIDENCE in beside else "collect --run"
            hint = f": `keyheat {verb} {path.parent}` comes first"
        elif path.name in (FILES[RUN], FILES[DIAGNOSIS]):
            hint = runs_below(path.parent)
        raise FileProblem(f"{path} is missing{hint}") from error
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error


def runs_below(folder: Path) -> str:
    """Hint for a user who named the folder that contains runs."""
    first = min(folder.glob(f"*/{FILES[RUN]}"), default=None)
    return f"; there are runs below it, such as {first.parent}" if first else ""


def check_format(path: Path, stated_format: object, accepted: str) -> None:
    """Raise `FileProblem` if a file states another format."""
    if stated_format != accepted:
        stated = f"format {stated_format!r}" if stated_format else "no format"
        raise FileProblem(f"{path} states {stated}; this version reads {accepted!r}")
