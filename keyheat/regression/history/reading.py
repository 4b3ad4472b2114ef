"""What a history can be asked."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history.problem import HistoryProblem, damaged, in_words
from keyheat.regression.history.records import GOOD, HistoryPoint, Kept, Pin, Session, Side, is_gone
from keyheat.regression.outcome import GateFinding, Verdict

Row = Sequence[Any]

SESSION: Final = (
    "SELECT id, suite, suite_digest, label, started_at, ended_at, state, verdict, "
    "host, pid, process_began_s FROM sessions"
)
KEPT: Final = "SELECT case_name, repetition, side, summary, folder_url, at FROM runs"
PIN: Final = "SELECT name, session, at FROM pins"

_FINDINGS: Final = TypeAdapter(tuple[GateFinding, ...])


def session_of(row: Row) -> Session:
    """A session; one that is running by the file, and whose process is gone, is lost."""
    number, suite, digest, label, started_at, ended_at, state, verdict, host, pid, began_s = row
    if state == "running" and is_gone(host, pid, began_s):
        state = "lost"
    return Session(
        id=number,
        suite=suite,
        suite_digest=digest,
        label=label,
        started_at=time_of(started_at),
        ended_at=None if ended_at is None else time_of(ended_at),
        state=state,
        verdict=verdict,
        host=host,
        pid=pid,
    )


def kept_of(row: Row) -> Kept:
    """A run."""
    case, repetition, side, summary, url, at = row
    return Kept(
        case=case,
        repetition=repetition,
        side=side,
        summary=RunSummary.model_validate_json(summary),
        folder_url=url,
        at=time_of(at),
    )


def pin_of(row: Row) -> Pin:
    """A pin."""
    name, session, at = row
    return Pin(name=name, session=session, at=time_of(at))


def points_of(rows: Iterable[Row]) -> tuple[HistoryPoint, ...]:
    """A point for each session, of rows `session, started_at, verdict, label, value` that stand together."""
    return tuple(
        HistoryPoint(
            session=session,
            started_at=time_of(started_at),
            verdict=verdict,
            label=label,
            values=tuple(row[4] for row in together),
        )
        for (session, started_at, verdict, label), together in groupby(rows, key=lambda row: tuple(row[:4]))
    )


def findings_of(text: str) -> tuple[GateFinding, ...]:
    """Findings, from how they are kept."""
    return _FINDINGS.validate_json(text)


def findings_text(findings: Sequence[GateFinding]) -> str:
    """Findings, as they are kept."""
    return _FINDINGS.dump_json(tuple(findings)).decode()


def time_of(text: str) -> datetime:
    """A moment, from how it is kept."""
    return datetime.fromisoformat(text)


def time_text(moment: datetime) -> str:
    """A moment as it is kept: in UTC, to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


Ref = Session | int
NEWEST: Final = 20
"""Sessions in which a case is looked for: one that is in none of them is not measured any more."""


class HistoryReading:
    """The questions to a history; each raises `HistoryProblem` where its file cannot be read."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self.path = connection, path

    def session(self, number: int) -> Session:
        """One session. Raises `HistoryProblem` where there is none of that number."""
        if row := self._one(f"{SESSION} WHERE id = ?", (number,)):
            return self._session(row)
        raise HistoryProblem(f"{self.path} has no session {number}; keyheat history lists those it has")

    def sessions(self, suite: str | None = None, limit: int | None = None) -> tuple[Session, ...]:
        """Sessions of a suite, or of all, the newest first."""
        rows = self._all(
            f"{SESSION} WHERE ?1 IS NULL OR suite = ?1 ORDER BY id DESC LIMIT ?2",
            (suite, -1 if limit is None else limit),
        )
        return tuple(map(self._session, rows))

    def runs(self, session: Ref, side: Side | None = "candidate") -> tuple[Kept, ...]:
        """The runs of a session in the order in which they were made; of both sides where `side` is None."""
        rows = self._all(
            f"{KEPT} WHERE session = ?1 AND (?2 IS NULL OR side = ?2) ORDER BY id", (id_of(session), side)
        )
        with self._readable(f"a run of session {id_of(session)}"):
            return tuple(map(kept_of, rows))

    def count(self, session: Ref) -> int:
        """How many runs of a session are kept, of both sides."""
        return int(self._one("SELECT count(*) FROM runs WHERE session = ?", (id_of(session),))[0])

    def findings(self, session: Ref) -> tuple[GateFinding, ...]:
        """What the gates found when the session ended; nothing of one that has not."""
        row = self._one("SELECT findings FROM sessions WHERE id = ?", (id_of(session),))
        with self._readable(f"what the gates of session {id_of(session)} found"):
            return findings_of(row[0]) if row else ()

    def last_good(self, suite: str) -> Session | None:
        """The newest session of a suite that ended and was good."""
        return self.latest(suite, *GOOD)

    def latest(self, suite: str, *verdicts: Verdict) -> Session | None:
        """The newest session of a suite that ended with one of the verdicts."""
        row = self._one(
            f"{SESSION} WHERE suite = ? AND state = 'ended' AND verdict IN (SELECT value FROM json_each(?)) "
            "ORDER BY id DESC LIMIT 1",
            (suite, json.dumps(verdicts)),
        )
        return self._session(row) if row else None

    def pinned(self, name: str) -> Session | None:
        """The session of that name."""
        row = self._one(f"{PIN} WHERE name = ?", (name,))
        with self._readable(f"pin {name!r}"):
            pin = pin_of(row) if row else None
        return self.session(pin.session) if pin else None

    def pins(self) -> tuple[Pin, ...]:
        """Every name, sorted."""
        rows = self._all(f"{PIN} ORDER BY name")
        with self._readable("a pin"):
            return tuple(map(pin_of, rows))

    def suites(self) -> tuple[str, ...]:
        """The suites that have sessions, sorted."""
        return tuple(row[0] for row in self._all("SELECT DISTINCT suite FROM sessions ORDER BY suite"))

    def measured(self, suite: str) -> tuple[tuple[str, str], ...]:
        """What the newest sessions of a suite measured, as (case, measure) sorted: each has a series."""
        rows = self._all(
            "SELECT DISTINCT case_name, measure FROM measures WHERE session IN (SELECT id FROM sessions "
            "WHERE suite = ? AND state <> 'running' ORDER BY id DESC LIMIT ?) ORDER BY case_name, measure",
            (suite, NEWEST),
        )
        return tuple((case, measure) for case, measure in rows)

    def series(self, suite: str, case: str, measure: str) -> tuple[HistoryPoint, ...]:
        """A measure of a case in every session that is over, the oldest first; of valid runs only."""
        rows = self._all(
            "SELECT sessions.id, started_at, verdict, label, value "
            "FROM measures JOIN sessions ON sessions.id = session "
            "WHERE suite = ? AND case_name = ? AND measure = ? AND state <> 'running' "
            "ORDER BY session, repetition",
            (suite, case, measure),
        )
        with self._readable(f"{measure} of {case}"):
            return points_of(rows)

    def _session(self, row: Row) -> Session:
        with self._readable(f"session {row[0]}"):
            return session_of(row)

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        """A row that SQLite gives, and that does not say what it should, is damage too."""
        try:
            yield
        except (TypeError, ValueError) as error:
            raise damaged(self.path, f"{what} cannot be read") from error

    def _all(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with in_words(self.path):
            return self._connection.execute(query, tuple(values)).fetchall()

    def _one(self, query: str, values: Sequence[object] = ()) -> Any:
        with in_words(self.path):
            return self._connection.execute(query, tuple(values)).fetchone()


def id_of(session: Ref) -> int:
    """The number of a session."""
    return session.id if isinstance(session, Session) else session
