"""The tables of a history, version by version. A file of an older version goes through every step between.

version 1  2026-11  sessions, their runs, pins
version 2  2026-11  measures, as a series is read
version 3  2026-11  a digest of each row, by which one is known that something else has changed
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.seals import SEALED, seal_of

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
