"""A digest in each row of a history: it tells when the row is read that it is still what was written."""

import sqlite3
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

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
