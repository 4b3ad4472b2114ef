"""Files that are not as they should be: each is refused in words, and none is changed by that."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.regression.history.file import APPLICATION_ID, VERSION, migrate
from keyheat.regression.history.problem import Damaged, HistoryProblem, _pids
from keyheat.regression.history.store import History
from tests.regression.runs import a_summary

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
# The tables as the first version had them, word for word: they never change again.
VERSION_1 = """
CREATE TABLE written_by (version INTEGER PRIMARY KEY, keyheat TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, suite TEXT NOT NULL, suite_digest TEXT NOT NULL, label TEXT,
    command TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT,
    state TEXT NOT NULL CHECK (state IN ('running', 'ended', 'lost')),
    verdict TEXT CHECK ((verdict IS NOT NULL) = (state = 'ended')), findings TEXT NOT NULL DEFAULT '[]',
    host TEXT NOT NULL, boot TEXT NOT NULL, pid INTEGER NOT NULL, process_began TEXT NOT NULL);
CREATE INDEX sessions_by_suite ON sessions (suite, id);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    case_name TEXT NOT NULL, repetition INTEGER NOT NULL CHECK (repetition >= 0),
    side TEXT NOT NULL CHECK (side IN ('candidate', 'baseline')), run_id TEXT NOT NULL,
    folder_url TEXT NOT NULL, at TEXT NOT NULL, valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
    summary TEXT NOT NULL, UNIQUE (session, side, case_name, repetition));
CREATE INDEX runs_by_folder ON runs (folder_url);
CREATE TABLE pins (
    name TEXT PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions ON DELETE RESTRICT, at TEXT NOT NULL);
CREATE INDEX pins_by_session ON pins (session);
INSERT INTO written_by VALUES (1, '0.1.0', '2026-11-22T12:00:00+00:00');
INSERT INTO sessions VALUES (1, 'nightly', 'sha256:0', NULL, 'regress', '2026-11-22T12:00:00+00:00',
    '2026-11-22T13:00:00+00:00', 'ended', 'good', '[]', 'vm', '', 1, '');
INSERT INTO pins VALUES ('release', 1, '2026-11-22T14:00:00+00:00');
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def filled(path: Path, runs: int = 3) -> Path:
    with History.open(path, now=lambda: AT) as history:
        session = history.begin("nightly", "sha256:0")
        for repetition in range(runs):
            history.add(
                session, case="hotkey", repetition=repetition, summary=a_summary(repetition),
                folder_url=f"file:///{repetition}",
            )  # fmt: skip
        history.end(session, verdict="good")
    return path


def refused(path: Path) -> str:
    """Why a history is not opened, or begins no session; its file is as it was."""
    before = path.read_bytes()
    with pytest.raises(HistoryProblem) as raised, History.open(path, wait_s=0.0) as history:
        history.begin("nightly", "sha256:0")
    assert path.read_bytes() == before
    assert str(path) in str(raised.value)
    return str(raised.value)


def test_a_file_of_version_1_is_brought_up_to_date(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; {VERSION_1}")
        for place, (repetition, side, valid) in enumerate(
            [(0, "candidate", True), (1, "candidate", True), (0, "baseline", True), (2, "candidate", False)]
        ):
            summary = a_summary(place, valid=valid, measures={"p99_ms": 10.0 + place})
            file.execute(
                "INSERT INTO runs VALUES (NULL, 1, 'hotkey', ?, ?, ?, 'file:///x', ?, ?, ?)",
                (repetition, side, summary.run_id, AT.isoformat(), valid, summary.model_dump_json()),
            )
    file.close()
    with History.open(path, now=lambda: AT) as history:
        (point,) = history.series("nightly", "hotkey", "p99_ms")
        assert point.values == (10.0, 11.0)
        assert len(history.runs(1, side=None)) == 4
        assert history.pinned("release") == history.last_good("nightly") == history.session(1)
        assert history.faults() == ()
        assert history._one("PRAGMA user_version") == (VERSION,)
        versions = [row[0] for row in history._all("SELECT version FROM written_by ORDER BY version")]
        assert versions == list(range(1, VERSION + 1))
        assert history.begin("nightly", "sha256:0").id == 2


def test_a_migration_is_done_whole_or_not_at_all(path: Path) -> None:
    broken = [["CREATE TABLE written_by (version, keyheat, at)"], ["CREATE TABLE one (id)", "no statement"]]
    file = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(file, AT, "0.1.0", broken)
    assert file.execute("PRAGMA user_version").fetchone() == (1,)
    assert [name for (name,) in file.execute("SELECT name FROM sqlite_master")] == ["written_by"]
    migrate(file, AT, "0.1.0", [broken[0], broken[1][:1]])
    assert file.execute("SELECT version FROM written_by").fetchall() == [(1,), (2,)]
    file.close()


def test_a_history_of_a_later_version_is_refused(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as file:
        file.execute("INSERT INTO written_by VALUES (99, '7.8.9', '2031-05-06T07:00:00+00:00')")
        file.execute("PRAGMA user_version = 99")
    file.close()
    said = refused(path)
    assert "version 99" in said
    assert "Keyheat 7.8.9 brought it there on 2031-05-06" in said
    assert "use that one or a later one" in said
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("ALTER TABLE written_by RENAME TO writers")
    assert "version 99" in refused(path)
    assert "Use a later Keyheat" in refused(path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("ALTER TABLE writers RENAME TO written_by")
        file.execute("DELETE FROM written_by")
    assert "Use a later Keyheat" in refused(path)


def test_what_is_no_history_is_refused(path: Path) -> None:
    path.write_text("suite,session\n" * 1_000)
    assert "it is not an SQLite file" in refused(path)
    path.write_bytes(b"")
    assert "is empty" in refused(path)
    path.unlink()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE songs (name)")
    file.close()
    assert "another program's SQLite file" in refused(path)
    with pytest.raises(HistoryProblem, match="is a folder"):
        History.open(path.parent)


def test_a_truncated_history_is_refused(path: Path) -> None:
    whole = filled(path, runs=40).read_bytes()
    for share in (0.25, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert "is damaged or cut short" in refused(path)
        assert "Put back a copy of it" in refused(path)


def test_a_damaged_history_is_found_before_a_session_begins(path: Path) -> None:
    whole = filled(path, runs=40).read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :])
    assert "is damaged" in refused(path)
    assert faults_of(path) != ()
    path.write_bytes(whole)
    assert faults_of(path) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE runs SET summary = '{}' WHERE repetition = 1", "a run of session 1 cannot be read"),
        ("UPDATE sessions SET findings = '[{]'", "session 1 cannot be read"),
        ("UPDATE sessions SET started_at = 'yesterday'", "session 1 cannot be read"),
        ("UPDATE sessions SET started_at = x'ff'", "session 1 cannot be read"),
        ("UPDATE runs SET summary = CAST(x'ff' AS TEXT)", "cannot be read"),
    ],
)
def test_a_row_that_says_no_longer_what_it_said_is_damage(path: Path, change: str, said: str) -> None:
    with closing(sqlite3.connect(filled(path, runs=2))) as file, file:
        file.execute(change)
    (fault,) = faults_of(path)
    assert f"{path} is damaged" in fault
    assert said in fault


def faults_of(path: Path) -> tuple[str, ...]:
    """What is wrong with a file, which may be too damaged to say it."""
    try:
        with History.open(path) as history:
            return history.faults()
    except Damaged as problem:
        return (str(problem),)


HOLD = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(path: Path) -> Iterator[int]:
    """Another process that has locked the history."""
    command = [sys.executable, "-c", HOLD, str(filled(path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.stdin.close()


@pytest.mark.opens
@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="Linux only: who holds a lock")
def test_who_has_locked_a_history_is_said(path: Path, holder: int) -> None:
    said = refused(path)
    assert f"is locked by process {holder} ({sys.executable} -c" in said
    assert "Wait until that has ended" in said


def test_the_holders_of_a_lock_are_read_from_the_system() -> None:
    locks = (
        "1: POSIX  ADVISORY  WRITE 3548 08:01:77 1073741824 1073742335\n"
        "1: -> POSIX  ADVISORY  READ 3549 08:01:77 1073741826 1073742335\n"
        "2: FLOCK  ADVISORY  WRITE 12 00:19:78 0 EOF\n"
        "3: POSIX  ADVISORY  READ -1 08:01:77 128 128\n"
    )
    assert _pids(locks, 77) == {3548}
    assert _pids(locks, 79) == set()


def test_missing_folders_are_made_and_a_name_with_odd_letters_is_fine(tmp_path: Path) -> None:
    path = filled(tmp_path / "a" / "b?c#d %20" / "häs tory.sqlite")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with History.open(path) as history:
        assert len(history.sessions()) == 1


def test_a_place_where_no_file_can_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryProblem, match=r"cannot make the history .*Name another with --history FILE"):
        History.open(tmp_path / "file" / "history.sqlite")


def test_what_cannot_be_written_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)  # root may write everywhere
    with History.open(path) as history:
        assert history.last_good("nightly") is not None
        with pytest.raises(HistoryProblem, match="cannot be written"):
            history.begin("nightly", "sha256:0")
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 1")
    file.close()
    with pytest.raises(HistoryProblem, match="Copy it into a folder that can"):
        History.open(path)


def test_a_transaction_that_is_done_outlives_the_power(path: Path) -> None:
    with History.open(path) as history:
        assert history._one("PRAGMA journal_mode") == ("delete",)
        assert history._one("PRAGMA synchronous") == (3,)
        assert history._one("PRAGMA foreign_keys") == (1,)


ROWS = {
    "a run": ("UPDATE runs SET summary = ' ' || summary", lambda kept: kept.runs(1)),
    "a run's case": ("UPDATE runs SET case_name = 'hotkez'", lambda kept: kept.runs(1)),
    "a session's verdict": (
        "UPDATE sessions SET verdict = 'regressed' WHERE id = 1", lambda kept: kept.session(1)
    ),
    "what the gates found": (
        "UPDATE sessions SET findings = '[ ]' WHERE id = 1", lambda kept: kept.findings(1)
    ),
    "a measure": (
        "UPDATE measures SET value = value * 1.0000000001",
        lambda kept: kept.series("nightly", "hotkey", kept.measured("nightly")[0][1]),
    ),
    "a pin": ("UPDATE pins SET session = 2", lambda kept: kept.pinned("release")),
    "the last good one": ("UPDATE sessions SET label = 'x'", lambda kept: kept.last_good("nightly")),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_row_with_flipped_bytes_is_damage_when_it_is_used(path: Path, row: str) -> None:
    """What is still well-formed too: the digest of the row is another."""
    change, use = ROWS[row]
    filled(path, runs=2)
    with History.open(path, now=lambda: AT) as history:
        history.pin("release", 1)
        history.begin("nightly", "sha256:0")
        use(history)
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(change).rowcount
    with History.open(path) as history, pytest.raises(Damaged, match="it is not what was written") as raised:
        use(history)
    assert "put back a copy of the file" in str(raised.value)
    assert faults_of(path) != ()


def test_other_rows_than_the_damaged_one_are_used(path: Path) -> None:
    for _ in range(2):
        filled(path, runs=2)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE sessions SET label = 'flipped' WHERE id = 1")
        file.execute("UPDATE runs SET folder_url = 'file:///flipped' WHERE session = 1 AND repetition = 1")
    with History.open(path) as history:
        damage: list[str] = []
        assert [one.id for one in history.sessions(damage=damage)] == [2]
        assert len(damage) == 1
        assert "session 1 cannot be read (it is not what was written)" in damage[0]
        assert history.last_good("nightly") == history.session(2)
        assert len(history.runs(2)) == 2
        with pytest.raises(Damaged, match=r"hotkey, repetition 2 \(candidate\): it is not what was written"):
            history.runs(1)
        assert history.begin("nightly", "sha256:0").id == 3


def test_nothing_is_added_to_a_session_that_is_damaged(path: Path) -> None:
    """Or its damage would be sealed."""
    with History.open(path) as history:
        session = history.begin("nightly", "sha256:0")
        history._connection.execute("UPDATE sessions SET label = 'flipped'")
        with pytest.raises(Damaged, match=f"session {session.id} cannot be read"):
            history.end(session, verdict="failed")


def test_old_rows_get_their_digests(path: Path) -> None:
    """Also where one of them is no text any more: the others are usable."""
    with closing(sqlite3.connect(path)) as file:
        file.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; {VERSION_1}")
        file.execute("UPDATE sessions SET label = CAST(x'ff' AS TEXT)")
        file.commit()
    with History.open(path) as history:
        assert history.pins()[0].name == "release"
        assert history.begin("nightly", "sha256:0").id == 2
