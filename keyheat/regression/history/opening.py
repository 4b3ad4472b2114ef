"""Opening the file of a history, or making a new one; every way in which that can fail, said.

The journal is SQLite's rollback journal and not its write-ahead log: the log needs memory that all processes
share, which a network disk does not have (https://www.sqlite.org/wal.html), and it is faster only where much
is written. With synchronous EXTRA a transaction that is done outlives kill -9 and loss of power
(https://www.sqlite.org/pragma.html#pragma_synchronous).
"""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from keyheat.regression.history.problem import HistoryProblem, in_words
from keyheat.regression.history.schema import APPLICATION_ID, VERSION, check, migrate, version_of
from keyheat.regression.history.seals import with_digests


def opened(path: Path, now: datetime, *, wait_s: float) -> sqlite3.Connection:
    """A connection to the history at `path`, made new where there is none, of the newest version.

    `wait_s` is how long another process may hold the file. Raises `HistoryProblem`. Where the file cannot be
    written, it can still be read.
    """
    if not path.exists():
        _make(path, now)
    if path.is_dir() or not path.stat().st_size:
        what = "a folder" if path.is_dir() else "empty, so it is no history any more, or not yet"
        raise HistoryProblem(
            f"{path} is {what}. Name another with --history FILE, or delete it to begin anew."
        )
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    with in_words(path):
        connection = _connected(path, "rw" if writable else "ro", wait_s)
        try:
            check(connection, path)
            _bring_up(connection, path, now, writable=writable)
        except BaseException:
            connection.close()
            raise
    return connection


def _bring_up(connection: sqlite3.Connection, path: Path, now: datetime, *, writable: bool) -> None:
    if writable:
        migrate(connection, now, version("keyheat"))
    elif (found := version_of(connection)) < VERSION:
        raise HistoryProblem(
            f"{path} has version {found} of the history, this Keyheat needs {VERSION}, and the file cannot "
            "be written. Copy it into a folder that can, and name it with --history FILE."
        )


def _connected(path: Path, mode: str, wait_s: float) -> sqlite3.Connection:
    where = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(where, uri=True, timeout=wait_s, isolation_level=None)
    with_digests(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


def _make(path: Path, now: datetime) -> None:
    """Make a new history whole or not at all: nobody ever sees one without its tables.

    Of several processes that do so at once one is first, and all use its file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _beside(path) as temporary, in_words(path):
            connection = _connected(temporary, "rw", wait_s=0.0)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrate(connection, now, version("keyheat"))
            connection.close()
            _put(temporary, path)
    except OSError as error:
        raise HistoryProblem(
            f"cannot make the history {path}: {error.strerror or error}. Name another with --history FILE."
        ) from error


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """An empty file in the same folder, which is gone afterwards."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    os.chmod(name, 0o644)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _put(temporary: Path, path: Path) -> None:
    """Give a file its name, unless another has it by now."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError:
        if (
            not path.exists()
        ):  # a disk without links, such as FAT: two that are first at once are not kept apart
            os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
