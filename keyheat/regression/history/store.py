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
from typing import Final, Self

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history.file import open_file
from keyheat.regression.history.problem import HistoryProblem, damaged, in_words
from keyheat.regression.history.reading import (
    SESSION,
    HistoryReading,
    Ref,
    findings_text,
    id_of,
    time_text,
)
from keyheat.regression.history.records import GOOD, Pruned, Session, Side, check_pin, this_process
from keyheat.regression.outcome import GateFinding, Verdict

DEFAULT: Final = Path("reports/history.sqlite")
VARIABLE: Final = "KEYHEAT_HISTORY"
WAIT_S: Final = 30.0
"""How long another process may hold the file; it does so for milliseconds, unless its disk is slow."""
DOOMED: Final = """
    SELECT id FROM (
        SELECT *,
            row_number() OVER (PARTITION BY suite ORDER BY id DESC) AS age,
            max(id) FILTER (WHERE verdict IN (?, ?)) OVER (PARTITION BY suite) AS last_good
        FROM sessions
    )
    WHERE age > ? AND state <> 'running' AND id IS NOT last_good AND id NOT IN (SELECT session FROM pins)
    ORDER BY id"""
"""Sessions that are not kept: older than so many of their suite, and nothing needs them."""


def default_path() -> Path:
    """Where the history is, unless somebody says otherwise."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


class History(HistoryReading):
    """All sessions of all suites. A context manager, of one thread and one process."""

    def __init__(self, connection: sqlite3.Connection, path: Path, now: Callable[[], datetime]) -> None:
        super().__init__(connection, path)
        self._now = now

    @classmethod
    def open(
        cls, path: Path | None = None, now: Callable[[], datetime] = utc_now, *, wait_s: float = WAIT_S
    ) -> Self:
        """The history at `path`, made where there is none. Raises `HistoryProblem`."""
        path = path or default_path()
        return cls(open_file(path, wait_s=wait_s), path, now)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def begin(self, suite: str, suite_digest: str, label: str | None = None) -> Session:
        """A new session, which runs as long as this process does; those whose process is gone are lost."""
        self._must_be_whole()
        with self._writing():
            self._mark_lost()
            cursor = self._connection.execute(
                "INSERT INTO sessions (suite, suite_digest, label, started_at, state, "
                "host, pid, process_began_s) VALUES (?, ?, ?, ?, 'running', ?, ?, ?)",
                (suite, suite_digest, label, self._at(), *this_process()),
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
        number = id_of(session)
        run = (number, side, case, repetition)
        kept = (summary.run_id, folder_url, self._at(), summary.comparable, summary.model_dump_json())
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
            if side == "candidate" and summary.comparable:
                self._connection.executemany(
                    "INSERT INTO measures (case_name, measure, session, repetition, value) "
                    "VALUES (?, ?, ?, ?, ?)",
                    [
                        (case, measure, number, repetition, value)
                        for measure, value in summary.measures.items()
                    ],
                )

    def end(self, session: Ref, *, verdict: Verdict, findings: Sequence[GateFinding] = ()) -> None:
        """What came of a session. Raises `HistoryProblem` where it is over, or good without a valid run."""
        number = id_of(session)
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

    def pin(self, name: str, session: Ref) -> Session | None:
        """Give a session a name; gives the session that had it before.

        Raises `HistoryProblem` for one that cannot be a baseline: it has not ended, or says nothing; and for
        a name that is none.
        """
        check_pin(name)
        with self._writing():
            found, before = self.session(id_of(session)), self.pinned(name)
            if found.verdict not in (*GOOD, "regressed"):
                raise HistoryProblem(
                    f"session {found.id} is {found.verdict or found.state}, so nothing can be held against "
                    "it; pin one that is good or regressed"
                )
            self._connection.execute(
                "INSERT OR REPLACE INTO pins (name, session, at) VALUES (?, ?, ?)",
                (name, found.id, self._at()),
            )
        return before

    def prune(self, keep: int) -> Pruned:
        """Take out all but the newest `keep` sessions of each suite; gives what nothing refers to any more.

        What is pinned or runs stays, and the last good session of each suite, which the next is held against.
        """
        with self._writing():
            self._mark_lost()
            doomed = [row[0] for row in self._all(DOOMED, (*GOOD, keep))]
            urls = {
                row[0]
                for number in doomed
                for row in self._all("SELECT folder_url FROM runs WHERE session = ?", (number,))
            }
            self._connection.executemany("DELETE FROM sessions WHERE id = ?", [(one,) for one in doomed])
            left = {url for url in urls if self._one("SELECT 1 FROM runs WHERE folder_url = ?", (url,))}
        return Pruned(sessions=tuple(doomed), unreferred=tuple(sorted(urls - left)))

    def _mark_lost(self) -> None:
        """Those that run by the file, and whose process is gone; of other machines nobody here can tell."""
        for session in map(self._session, self._all(f"{SESSION} WHERE state = 'running'")):
            if session.state == "lost":
                self._connection.execute("UPDATE sessions SET state = 'lost' WHERE id = ?", (session.id,))

    def _must_be_whole(self) -> None:
        """Damage is found before hours of load, not after: 0.1 s for 10,000 runs, more on a slow disk."""
        said = [row[0] for row in self._all("PRAGMA quick_check(3)") if row[0] != "ok"]
        if said:
            raise damaged(self.path, "; ".join(said))

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
        with in_words(self.path), self._connection:  # which commits, or rolls back, also when interrupted
            self._connection.execute("BEGIN IMMEDIATE")
            yield
