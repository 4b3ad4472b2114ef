"""The file of a history: its tables version by version, the digest in each row, and opening it whole."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

from keyheat.regression.history.problem import HistoryProblem, in_words

SEALED: Final[Mapping[str, str]] = {
    "sessions": "id, suite, suite_digest, label, command, started_at, ended_at, state, verdict, findings, "
    "host, boot, pid, process_began",
    "runs": "id, session, case_name, repetition, side, run_id, folder_url, at, valid, summary",
    "measures": "case_name, measure, session, repetition, value",
    "pins": "name, session, at",
}
"""The columns of each table that its digests are of, which is all but the digest."""


def with_digests(connection: sqlite3.Connection) -> None:
    """Teach a connection the digest of a row."""
    connection.create_function("row_digest", -1, _digest, deterministic=True)


def seal_of(table: str) -> str:
    """The statement that seals every row of a table, or those of a `WHERE` that is put behind it."""
    return f"UPDATE {table} SET digest = {_digest_of(table)}"


def whole(table: str) -> str:
    """The expression that is 1 where a row is as it was sealed, and 0 where not."""
    return f"{table}.digest = {_digest_of(table)}"


def _digest_of(table: str) -> str:
    """Text goes in as its bytes, since what is damaged may be no text any more."""
    columns = (f"{table}.{name}" for name in SEALED[table].split(", "))
    exact = (f"CASE typeof({one}) WHEN 'text' THEN CAST({one} AS BLOB) ELSE {one} END" for one in columns)
    return f"row_digest({', '.join(exact)})"


def _digest(*values: bytes | float | None) -> str:
    return blake2b(repr(values).encode(), digest_size=8).hexdigest()


APPLICATION_ID: Final = int.from_bytes(b"KyHt")
"""Written into the file's header, so that no other program's SQLite file is taken for a history."""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE written_by (
            version INTEGER PRIMARY KEY,  -- of these tables
            keyheat TEXT NOT NULL,        -- the version of Keyheat that brought the file to it
            at TEXT NOT NULL
        )""",
        """CREATE TABLE sessions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,  -- of a pruned session, never used again
            suite TEXT NOT NULL,
            suite_digest TEXT NOT NULL,
            label TEXT,
            command TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT,
            state TEXT NOT NULL CHECK (state IN ('running', 'ended', 'lost')),
            verdict TEXT CHECK ((verdict IS NOT NULL) = (state = 'ended')),
            findings TEXT NOT NULL DEFAULT '[]',
            host TEXT NOT NULL,
            boot TEXT NOT NULL,
            pid INTEGER NOT NULL,
            process_began TEXT NOT NULL
        )""",
        "CREATE INDEX sessions_by_suite ON sessions (suite, id)",
        """CREATE TABLE runs (
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
        )""",
        "CREATE INDEX runs_by_folder ON runs (folder_url)",
        """CREATE TABLE pins (
            name TEXT PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES sessions ON DELETE RESTRICT,
            at TEXT NOT NULL
        )""",
        "CREATE INDEX pins_by_session ON pins (session)",
    ),
    (
        """CREATE TABLE measures (  -- of valid candidates, in the order in which a series is read
            case_name TEXT NOT NULL,
            measure TEXT NOT NULL,
            session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
            repetition INTEGER NOT NULL,
            value REAL NOT NULL,
            PRIMARY KEY (case_name, measure, session, repetition)
        ) WITHOUT ROWID""",
        "CREATE INDEX measures_by_session ON measures (session)",
        """INSERT INTO measures SELECT case_name, taken.key, session, repetition, taken.value
            FROM runs, json_each(summary, '$.measures') AS taken WHERE valid AND side = 'candidate'""",
    ),
    tuple(
        statement
        for table in SEALED
        for statement in (f"ALTER TABLE {table} ADD COLUMN digest TEXT NOT NULL DEFAULT ''", seal_of(table))
    ),
)
VERSION: Final = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a file's tables; 0 of one that has none yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `HistoryProblem` where a file is another program's, or a later Keyheat's."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise HistoryProblem(
            f"{path} is no history: it is another program's SQLite file. Name another with --history FILE."
        )
    if (version := version_of(connection)) > VERSION:
        raise HistoryProblem(
            f"{path} has version {version} of the history, and this Keyheat reads versions up to {VERSION}. "
            f"{_newer(connection)}, or name another file with --history FILE."
        )


def _newer(connection: sqlite3.Connection) -> str:
    """Which Keyheat can read the file; a later version may say so elsewhere."""
    with suppress(sqlite3.Error):
        rows = connection.execute("SELECT keyheat, at FROM written_by ORDER BY version DESC LIMIT 1")
        for keyheat, at in rows:
            return f"Keyheat {keyheat} brought it there on {at[:10]}: use that one or a later one"
    return "Use a later Keyheat"


def migrate(
    connection: sqlite3.Connection,
    now: datetime,
    keyheat: str,
    migrations: Sequence[Sequence[str]] = MIGRATIONS,
) -> None:
    """Bring a file to the newest version, each step whole or not at all; another process may do the same."""
    while version_of(connection) < len(migrations):
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            if (version := version_of(connection)) < len(migrations):
                _step(connection, version + 1, migrations[version], now, keyheat)


def _step(
    connection: sqlite3.Connection, version: int, statements: Sequence[str], now: datetime, keyheat: str
) -> None:
    for statement in statements:
        connection.execute(statement)
    connection.execute("INSERT INTO written_by VALUES (?, ?, ?)", (version, keyheat, now.isoformat()))
    connection.execute(f"PRAGMA user_version = {version}")


def opened(path: Path, now: datetime, *, wait_s: float) -> sqlite3.Connection:
    """A connection to the history at `path`, made new where there is none, of the newest version.

    `wait_s` is how long another process may hold the file. Raises `HistoryProblem`. Where the file cannot be
    written, it can still be read.
    """
    if not path.exists():
        _make(path, now)
    if path.is_dir():
        raise HistoryProblem(f"{path} is a folder. Name a file, as with --history {path / 'history.sqlite'}.")
    if not path.stat().st_size:
        raise HistoryProblem(
            f"{path} is empty, so it is no history any more, or not yet. Name another with --history FILE, "
            "or delete it to begin anew."
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
