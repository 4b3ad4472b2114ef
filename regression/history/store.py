"""The history of regresses: one SQLite file, in which every run is kept as soon as it is made.

Each call that changes something is one transaction: after kill -9 all runs that were added are there, and
their session is found to be lost. Sessions of several processes go on beside each other and never mix.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from analyzers.summary import RunSummary
from regression.finding import Finding
from regression.history.makers import Maker
from regression.history.opening import opened
from regression.history.problem import HistoryProblem, in_words
from regression.history.records import GOOD, Kept, Pin, Point, Session, Side
from regression.history.rows import (
    KEPT,
    PIN,
    SESSION,
    findings_of,
    findings_text,
    kept_of,
    pin_of,
    points_of,
    session_of,
    time_text,
)
from regression.outcome import Verdict

DEFAULT: Final = Path("reports/history.sqlite")
VARIABLE: Final = "KEYHEAT_HISTORY"
WAIT_S: Final = 30.0
"""How long another process may hold the file; it does so for milliseconds, unless its disk is slow."""

Ref = Session | int


def default_path() -> Path:
    """Where the history is, unless somebody says otherwise."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


class History:
    """All sessions of all suites. A context manager, of one thread and one process."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, now: Callable[[], datetime], maker: Maker
    ) -> None:
        self._connection, self.path, self._now, self._me = connection, path, now, maker

    @classmethod
    def open(
        cls, path: Path | None = None, now: Callable[[], datetime] = utc_now, *, wait_s: float = WAIT_S
    ) -> Self:
        """The history at `path`, made where there is none, of the newest version. Raises `HistoryProblem`."""
        path = path or default_path()
        return cls(opened(path, now(), wait_s=wait_s), path, now, Maker.here())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def begin(
        self, suite: str, suite_digest: str, label: str | None = None, command: str = "regress"
    ) -> Session:
        """A new session, which runs as long as this process does; those whose process is gone are lost."""
        me = self._me
        with self._writing():
            self._mark_lost()
            cursor = self._connection.execute(
                "INSERT INTO sessions (suite, suite_digest, label, command, started_at, state, "
                "host, boot, pid, process_began) VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)",
                (suite, suite_digest, label, command, self._at(), me.host, me.boot, me.pid, me.began),
            )
        assert cursor.lastrowid is not None, "an inserted row has a number"
        return self.session(cursor.lastrowid)

    def add(
        self,
        session: Ref,
        *,
        case: str,
        repetition: int,
        summary: RunSummary,
        folder_url: str,
        side: Side = "candidate",
    ) -> None:
        """Keep one run. Raises `HistoryProblem` where the session is over, or has that run already."""
        number = _id(session)
        run = (number, side, case, repetition)
        kept = (summary.run_id, folder_url, self._at(), summary.valid, summary.model_dump_json())
        with self._writing():
            self._must_run(number)
            if self._one(
                "SELECT 1 FROM runs WHERE session = ? AND side = ? AND case_name = ? AND repetition = ?", run
            ):
                raise HistoryProblem(
                    f"session {number} has {case}, repetition {repetition + 1} ({side}) already: "
                    "each run is kept once"
                )
            self._connection.execute(
                "INSERT INTO runs (session, side, case_name, repetition, run_id, folder_url, at, valid, "
                "summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*run, *kept),
            )

    def end(self, session: Ref, *, verdict: Verdict, findings: Sequence[Finding] = ()) -> None:
        """What came of a session. Raises `HistoryProblem` where it is over, or good without a valid run."""
        number = _id(session)
        with self._writing():
            self._must_run(number)
            if verdict in GOOD and not self._one(
                "SELECT 1 FROM runs WHERE session = ? AND side = 'candidate' AND valid", (number,)
            ):
                raise HistoryProblem(f"session {number} has no valid run, so it cannot be {verdict}")
            self._connection.execute(
                "UPDATE sessions SET state = 'ended', ended_at = ?, verdict = ?, findings = ? WHERE id = ?",
                (self._at(), verdict, findings_text(findings), number),
            )

    def lose(self, session: Ref) -> None:
        """Say of a session that it will not go on: its process is gone, where nobody here can see it."""
        number = _id(session)
        with self._writing():
            self._must_run(number)
            self._connection.execute("UPDATE sessions SET state = 'lost' WHERE id = ?", (number,))

    def session(self, number: int) -> Session:
        """One session. Raises `HistoryProblem` where there is none of that number."""
        if row := self._one(f"{SESSION} WHERE id = ?", (number,)):
            return session_of(row, self._me)
        raise HistoryProblem(f"{self.path} has no session {number}; keyheat history lists those it has")

    def sessions(self, suite: str | None = None, limit: int | None = None) -> tuple[Session, ...]:
        """Sessions of a suite, or of all, the newest first."""
        rows = self._all(
            f"{SESSION} WHERE ?1 IS NULL OR suite = ?1 ORDER BY id DESC LIMIT ?2",
            (suite, -1 if limit is None else limit),
        )
        return tuple(session_of(row, self._me) for row in rows)

    def runs(self, session: Ref, side: Side | None = "candidate") -> tuple[Kept, ...]:
        """The runs of a session in the order in which they were made; of both sides where `side` is None."""
        rows = self._all(
            f"{KEPT} WHERE session = ?1 AND (?2 IS NULL OR side = ?2) ORDER BY id", (_id(session), side)
        )
        return tuple(map(kept_of, rows))

    def findings(self, session: Ref) -> tuple[Finding, ...]:
        """What the gates found when the session ended; nothing of one that has not."""
        row = self._one("SELECT findings FROM sessions WHERE id = ?", (_id(session),))
        return findings_of(row[0]) if row else ()

    def last_good(self, suite: str) -> Session | None:
        """The newest session of a suite that ended and was good."""
        row = self._one(
            f"{SESSION} WHERE suite = ? AND state = 'ended' AND verdict IN (?, ?) ORDER BY id DESC LIMIT 1",
            (suite, *GOOD),
        )
        return session_of(row, self._me) if row else None

    def pin(self, name: str, session: Ref) -> Session | None:
        """Give a session a name; gives the session that had it before.

        Raises `HistoryProblem` for one that cannot be a baseline: it has not ended, or says nothing.
        """
        with self._writing():
            found, before = self.session(_id(session)), self.pinned(name)
            if found.verdict not in (*GOOD, "regressed"):
                raise HistoryProblem(
                    f"session {found.id} is {found.verdict or found.state}, so nothing can be held against "
                    "it; pin one that is good or regressed"
                )
            self._connection.execute(
                "INSERT OR REPLACE INTO pins VALUES (?, ?, ?)", (name, found.id, self._at())
            )
        return before

    def unpin(self, name: str) -> None:
        """Take a name away again. Raises `HistoryProblem` where there is none."""
        with self._writing():
            if not self._connection.execute("DELETE FROM pins WHERE name = ?", (name,)).rowcount:
                names = ", ".join(pin.name for pin in self.pins()) or "none"
                raise HistoryProblem(f"no session is pinned as {name!r}; names that are: {names}")

    def pinned(self, name: str) -> Session | None:
        """The session of that name."""
        row = self._one("SELECT session FROM pins WHERE name = ?", (name,))
        return self.session(row[0]) if row else None

    def pins(self) -> tuple[Pin, ...]:
        """Every name, sorted."""
        return tuple(map(pin_of, self._all(f"{PIN} ORDER BY name")))

    def series(self, suite: str, case: str, measure: str) -> tuple[Point, ...]:
        """A measure of a case in every session that is over, the oldest first; of valid runs only."""
        return points_of(
            self._all(
                "SELECT s.id, s.started_at, s.verdict, s.label, "
                "json_extract(r.summary, '$.measures.\"' || ?3 || '\"') AS value "
                "FROM sessions s JOIN runs r ON r.session = s.id WHERE s.suite = ?1 AND s.state <> 'running' "
                "AND r.side = 'candidate' AND r.case_name = ?2 AND r.valid AND value IS NOT NULL "
                "ORDER BY s.id, r.repetition",
                (suite, case, measure),
            )
        )

    def _mark_lost(self) -> None:
        """Those that run by the file, and whose process is gone; of other machines nobody here can tell."""
        running = self._all(f"{SESSION} WHERE state = 'running'")
        lost = [one for row in running if (one := session_of(row, self._me)).state == "lost"]
        self._connection.executemany(
            "UPDATE sessions SET state = 'lost' WHERE id = ?", [(one.id,) for one in lost]
        )

    def _must_run(self, number: int) -> None:
        """Nothing is added to a session that is over."""
        row = self._one("SELECT state FROM sessions WHERE id = ?", (number,))
        if row is None or row[0] != "running":
            said = "is not there any more" if row is None else f"is {row[0]}"
            raise HistoryProblem(f"session {number} of {self.path} {said}, so nothing is added to it")

    def _at(self) -> str:
        return time_text(self._now())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, in which nobody else writes."""
        with in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:  # commits, or rolls back
                yield

    def _all(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with in_words(self.path):
            return self._connection.execute(query, tuple(values)).fetchall()

    def _one(self, query: str, values: Sequence[object] = ()) -> Any:
        with in_words(self.path):
            return self._connection.execute(query, tuple(values)).fetchone()


def _id(session: Ref) -> int:
    return session.id if isinstance(session, Session) else session
