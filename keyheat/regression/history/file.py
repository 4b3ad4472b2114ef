"""The SQLite file of a history: its tables, and a connection to it."""

import os
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from keyheat.regression.history.problem import HistoryProblem, in_words

APPLICATION_ID: Final = int.from_bytes(b"KyHt")
"""Written into the file's header, so that no other program's SQLite file is taken for a history."""
VERSION: Final = 1
"""Of the tables. A file of another version is refused."""
TABLES: Final = f"""
BEGIN;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again after a session is pruned
    suite TEXT NOT NULL,
    suite_digest TEXT NOT NULL,
    label TEXT,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    state TEXT NOT NULL CHECK (state IN ('running', 'ended', 'lost')),
    verdict TEXT CHECK ((verdict IS NOT NULL) = (state = 'ended')),
    findings TEXT NOT NULL DEFAULT '[]',
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_began_s REAL NOT NULL
);
CREATE INDEX sessions_by_suite ON sessions (suite, id);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    case_name TEXT NOT NULL,
    repetition INTEGER NOT NULL CHECK (repetition >= 0),
    side TEXT NOT NULL CHECK (side IN ('candidate', 'baseline')),
    run_id TEXT NOT NULL,
    folder_url TEXT NOT NULL,
    at TEXT NOT NULL,
    valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
    summary TEXT NOT NULL,  -- as summary.json has it
    UNIQUE (session, side, case_name, repetition)
);
CREATE INDEX runs_by_folder ON runs (folder_url);
CREATE TABLE pins (
    name TEXT PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE RESTRICT,
    at TEXT NOT NULL
);
CREATE INDEX pins_by_session ON pins (session);
CREATE TABLE measures (  -- of valid candidates, in the order in which a series is read
    case_name TEXT NOT NULL,
    measure TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    repetition INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (case_name, measure, session, repetition)
) WITHOUT ROWID;
CREATE INDEX measures_by_session ON measures (session);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
COMMIT;
"""


def open_file(path: Path, *, wait_s: float) -> sqlite3.Connection:
    """Connect to the history at `path`, and create it if it does not exist.

    `wait_s` is how long another process may hold the file. A file that cannot be written is opened for
    reading. Raises `HistoryProblem`.
    """
    if not path.exists():
        _create(path)
    if path.is_dir():
        raise HistoryProblem(f"{path} is a folder. Name a file, as with --history {path / 'history.sqlite'}.")
    if not path.stat().st_size:
        raise HistoryProblem(
            f"{path} is empty, not a history file. Name another with --history FILE, or delete it."
        )
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    with in_words(path):
        connection = _connect(path, "rw" if writable else "ro", wait_s)
        try:
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `HistoryProblem` if the file is another program's, or has tables of another version."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise HistoryProblem(
            f"{path} is no history: it is another program's SQLite file. Name another with --history FILE."
        )
    if (version := connection.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
        raise HistoryProblem(
            f"{path} has version {version} of the history, and this Keyheat reads version {VERSION}. "
            "Use the Keyheat that wrote it, or name another file with --history FILE."
        )


def _connect(path: Path, mode: str, wait_s: float) -> sqlite3.Connection:
    where = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(where, uri=True, timeout=wait_s, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


def _create(path: Path) -> None:
    """Create a history under another name and then rename it, so that no process sees one without tables."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
        try:
            os.chmod(name, 0o644)
            with in_words(path):
                connection = _connect(Path(name), "rw", wait_s=0.0)
                connection.executescript(TABLES)
                connection.close()
            _rename(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise HistoryProblem(
            f"cannot make the history {path}: {error.strerror or error}. Name another with --history FILE."
        ) from error


def _rename(name: str, path: Path) -> None:
    """Rename a file unless another process has made `path` by now."""
    with suppress(FileExistsError):
        try:
            os.link(name, path)
        except FileExistsError:
            raise
        except OSError:  # a disk without links, such as FAT
            if not path.exists():
                os.replace(name, path)
