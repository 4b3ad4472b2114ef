"""History of suites: one SQLite file with each session, its runs and its outcome.

Every change is one transaction: after kill -9, all added runs are there. A session without a verdict is
running, or was killed; it is never a baseline.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from pydantic import Json

from keyheat.analysis.measures import MEASURES, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.regression.outcome import GOOD, SessionOutcome, Side, Verdict
from keyheat.runfiles import FileProblem
from keyheat.validation import Part, Time

if TYPE_CHECKING:
    import pandas as pd

WAIT_S: Final = 30.0
"""How long to wait for another process: writes take milliseconds, more on a slow disk."""
APPLICATION_ID: Final = int.from_bytes(b"KyHt")
"""Marks the file as a history, unlike another program's SQLite file."""
TABLES: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    suite TEXT NOT NULL, label TEXT, started_at TEXT NOT NULL, ended_at TEXT, verdict TEXT, outcome TEXT
);
CREATE TABLE IF NOT EXISTS runs (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    side TEXT NOT NULL, case_name TEXT NOT NULL, repetition INTEGER NOT NULL,
    folder_url TEXT NOT NULL, at TEXT NOT NULL, summary TEXT NOT NULL,
    UNIQUE (session, side, case_name, repetition)
);
PRAGMA application_id = {APPLICATION_ID};
COMMIT;
"""
SESSIONS: Final = """
    SELECT id, suite, label, started_at, ended_at, verdict,
        (SELECT count(*) FROM runs WHERE session = id) AS runs
    FROM sessions"""
RUNS: Final = 'SELECT case_name AS "case", repetition, side, summary, folder_url, at FROM runs'
VALUES: Final = """
    SELECT runs.session, case_name AS "case", taken.key AS measure, taken.value
    FROM runs JOIN sessions ON sessions.id = runs.session, json_each(summary, '$.measures') AS taken
    WHERE suite = ? AND verdict IS NOT NULL AND side = 'after' AND json_extract(summary, '$.valid')
        AND NOT json_extract(summary, '$.generator_bound')"""
WORSE: Final = """
    SELECT sessions.id AS session, json_extract(finding.value, '$.case') AS "case",
        json_extract(finding.value, '$.gate.measure') AS measure
    FROM sessions, json_each(outcome, '$.findings') AS finding
    WHERE suite = ? AND json_extract(finding.value, '$.decision') = 'worse' ORDER BY sessions.id"""
utc_now = partial(datetime.now, UTC)
Row = TypeVar("Row", bound=Part)


class HistoryProblem(ValueError):
    """A history that cannot be used as requested, and what to do."""


class Damaged(HistoryProblem, FileProblem):
    """A history file with lost or changed content."""


class Session(Part):
    """One regress of a suite; without a verdict, it is running or was killed."""

    id: int
    suite: str
    label: str | None
    started_at: Time
    ended_at: Time | None
    verdict: Verdict | None
    runs: int  # number of stored runs

    @property
    def took_s(self) -> float | None:
        """Seconds from its start to its end; None while it runs, or if it was killed."""
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()

    @property
    def good(self) -> bool:
        return self.verdict in GOOD


class StoredRun(Part):
    """One stored run of a session, with the address of its directory."""

    case: str
    repetition: int  # 0 for the first
    side: Side
    summary: Json[RunSummary]
    folder_url: str
    at: Time


class History:
    """Sessions of all suites, for one thread; a context manager. Methods raise `HistoryProblem`."""

    def __init__(self, path: Path, now: Callable[[], datetime] = utc_now, *, wait_s: float = WAIT_S) -> None:
        """Open the history at `path`; create it if needed."""
        self.path, self._now = path, now
        with _problems(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path.absolute(), timeout=wait_s, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def _prepare(self) -> None:
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA synchronous = EXTRA")
        if self._db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
            return
        if self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise _no_history(self.path, "it belongs to another program")
        self._db.executescript(TABLES)

    # sessions

    def begin(self, suite: str, label: str | None = None) -> Session:
        """Begin a session. Checks the file for damage before hours of load, not after."""
        with self._writing():
            if (problem := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise _damaged(self.path, problem)
            query = "INSERT INTO sessions (suite, label, started_at) VALUES (?, ?, ?)"
            number = self._db.execute(query, (suite, label, self._at())).lastrowid
        return self.session(number or 0)

    def add(
        self, session: Session, case: str, repetition: int, summary: RunSummary, folder_url: str,
        side: Side = "after",
    ) -> None:  # fmt: skip
        """Store one run of an open session."""
        with self._writing():
            self._must_be_open(session)
            self._db.execute(
                "INSERT INTO runs (session, side, case_name, repetition, folder_url, at, summary) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session.id, side, case, repetition, folder_url, self._at(), summary.model_dump_json()),
            )

    def end(self, session: Session, verdict: Verdict, outcome: SessionOutcome | None = None) -> None:
        """End a session; a failed one has no outcome."""
        kept = outcome.model_dump_json(exclude={"exit_code"}) if outcome else None
        with self._writing():
            self._must_be_open(session)
            self._db.execute(
                "UPDATE sessions SET ended_at = ?, verdict = ?, outcome = ? WHERE id = ?",
                (self._at(), verdict, kept, session.id),
            )

    def sessions(self, suite: str | None = None, limit: int = -1) -> tuple[Session, ...]:
        """Sessions of a suite, or of all suites, newest first."""
        where = "WHERE ?1 IS NULL OR suite = ?1 ORDER BY id DESC LIMIT ?2"
        return self._read(Session, f"{SESSIONS} {where}", suite, limit)

    def session(self, name: int | str, suite: str | None = None) -> Session:
        """The session with this number, else the newest one with this label, of `suite` if it has any."""
        order = "ORDER BY CAST(id AS TEXT) = ?1 DESC, suite IS ?2 DESC, id DESC LIMIT 1"
        query = f"{SESSIONS} WHERE ?1 IN (CAST(id AS TEXT), label) {order}"
        for session in self._read(Session, query, str(name), suite):
            return session
        raise HistoryProblem(
            f"{self.path} has no session with the number or label {name!r}; keyheat history lists sessions"
        )

    def last_good(self, suite: str) -> Session | None:
        return self.latest(suite, *GOOD)

    def latest(self, suite: str, *verdicts: Verdict) -> Session | None:
        """The newest session of a suite with one of the verdicts."""
        return next((session for session in self.sessions(suite) if session.verdict in verdicts), None)

    def runs(self, session: Session, side: Side | None = "after") -> tuple[StoredRun, ...]:
        """The runs of a session in order; both sides if `side` is None."""
        where = "WHERE session = ?1 AND (?2 IS NULL OR side = ?2) ORDER BY rowid"
        return self._read(StoredRun, f"{RUNS} {where}", session.id, side)

    def outcome(self, session: Session) -> SessionOutcome | None:
        """The outcome of a session; None if it has none."""
        query = "SELECT outcome FROM sessions WHERE id = ? AND outcome IS NOT NULL"
        with _problems(self.path):
            outcomes = map(SessionOutcome.model_validate_json, self._column(query, session.id))
            return next(outcomes, None)

    def frame(self, query: str, suite: str) -> "pd.DataFrame":
        """The rows of a query about a suite."""
        import pandas as pd

        with _problems(self.path):
            return pd.read_sql_query(query, self._db, params=(suite,))

    def _must_be_open(self, session: Session) -> None:
        if not self._column("SELECT id FROM sessions WHERE id = ? AND verdict IS NULL", session.id):
            raise HistoryProblem(f"session {session.id} of {self.path} has ended")

    def _read(self, kind: type[Row], query: str, *values: object) -> tuple[Row, ...]:
        with _problems(self.path):
            return tuple(kind.model_validate(dict(row)) for row in self._db.execute(query, values))

    def _column(self, query: str, *values: object) -> list[Any]:
        with _problems(self.path):
            return [row[0] for row in self._db.execute(query, values)]

    def _at(self) -> str:
        """The time as it is stored: UTC with microseconds, so that text sorts as time does."""
        return self._now().astimezone(UTC).isoformat(timespec="microseconds")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction with exclusive write access; any exception rolls it back."""
        with _problems(self.path), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    """Convert SQLite errors and unreadable rows to `HistoryProblem`."""
    try:
        yield
    except HistoryProblem:
        raise
    except sqlite3.IntegrityError as error:
        raise HistoryProblem(f"{path} has this run already ({error})") from error
    except (sqlite3.Error, OSError) as error:
        raise _problem(path, error) from error
    except (ValueError, TypeError) as error:
        raise _damaged(path, "a row cannot be read") from error


def _problem(path: Path, error: sqlite3.Error | OSError) -> HistoryProblem:
    """https://www.sqlite.org/rescode.html; the low byte is the kind of error."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return HistoryProblem(f"{path} is locked by another process; try again once that has ended")
        case sqlite3.SQLITE_NOTADB:
            return _no_history(path, "it is not an SQLite file")
        case sqlite3.SQLITE_CORRUPT:
            return _damaged(path, str(error))
    if str(error).startswith("Could not decode"):  # Python's own error, which has no code
        return _damaged(path, "text cannot be decoded")
    return HistoryProblem(f"cannot use the history {path}: {error}. Name another with --history FILE")


def _no_history(path: Path, why: str) -> HistoryProblem:
    return HistoryProblem(f"{path} is not a history: {why}. Name another with --history FILE")


def _damaged(path: Path, why: str) -> Damaged:
    return Damaged(
        f"{path} is damaged ({why}). Restore a copy, or recover what can be read: "
        f"sqlite3 {path} .recover | sqlite3 recovered.sqlite"
    )


# Trends


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One measure of a case over sessions, oldest first: the median of its valid runs."""

    case: str
    measure: Measure
    sessions: tuple[int, ...]
    values: tuple[float, ...]
    regressed: tuple[int, ...]  # sessions where a gate failed as worse


def trends_of(
    history: History, suite: str, last: int, case: str | None = None, measure: str | None = None
) -> tuple[Trend, ...]:
    """Trends of a suite over its `last` sessions, for all or the named cases and measures.

    Raises `HistoryProblem` with the existing names for an unknown one.
    """
    values, worse = history.frame(VALUES, suite), history.frame(WORSE, suite)
    numbers = [session.id for session in history.sessions(suite, last) if session.verdict is not None]
    values = values[values["session"].isin(numbers) & values["measure"].isin(list(MEASURES))]
    if values.empty:
        suites = ", ".join(sorted({session.suite for session in history.sessions()})) or "none"
        raise HistoryProblem(f"suite {suite!r} has no measures in {history.path}; suites there: {suites}")
    for column, name in (("case", case), ("measure", measure)):
        if name is not None and name not in (there := sorted(values[column].unique())):
            named = ", ".join(there)
            raise HistoryProblem(f"no {column} {name!r} in the newest sessions; there are: {named}")
        values = values if name is None else values[values[column] == name]
    worse = worse[worse["session"].isin(numbers)]
    medians = values.groupby(["case", "measure", "session"])["value"].median()
    trends = [
        Trend(
            case=of_case, measure=MEASURES[name],
            regressed=tuple(worse[(worse["case"] == of_case) & (worse["measure"] == name)]["session"]),
            sessions=tuple(map(int, medians[of_case, name].index)), values=tuple(medians[of_case, name]),
        )
        for of_case, name in dict.fromkeys(zip(values["case"], values["measure"], strict=True))
    ]  # fmt: skip
    order = list(MEASURES)
    return tuple(sorted(trends, key=lambda trend: (trend.case, order.index(trend.measure.name))))
