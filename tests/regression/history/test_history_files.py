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

from keyheat.regression.history.problem import Damaged, HistoryProblem
from keyheat.regression.history.store import History
from tests.make import a_summary

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)


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


def test_a_history_of_another_version_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(filled(path))) as file, file:
        file.execute("PRAGMA user_version = 99")
    assert "has version 99 of the history, and this Keyheat reads version 1" in refused(path)


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE runs SET summary = '{}' WHERE repetition = 1", "a run of session 1 cannot be read"),
        ("UPDATE sessions SET findings = '[{]'", "what the gates of session 1 found cannot be read"),
        ("UPDATE sessions SET started_at = 'yesterday'", "session 1 cannot be read"),
        ("UPDATE sessions SET started_at = x'ff'", "session 1 cannot be read"),
        ("UPDATE runs SET summary = CAST(x'ff' AS TEXT)", "cannot be read"),
    ],
)
def test_a_row_that_says_no_longer_what_it_said_is_damage(path: Path, change: str, said: str) -> None:
    with closing(sqlite3.connect(filled(path, runs=2))) as file, file:
        file.execute(change)
    with History.open(path) as history, pytest.raises(Damaged, match=said) as raised:
        read_all(history)
    assert f"{path} is damaged" in str(raised.value)


def read_all(history: History) -> None:
    for session in history.sessions():
        history.runs(session)
        history.findings(session)


HOLD = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(path: Path) -> Iterator[None]:
    """Another process that has locked the history."""
    command = [sys.executable, "-c", HOLD, str(filled(path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.stdin.close()


@pytest.mark.opens
def test_a_history_that_another_process_has_locked_is_refused(path: Path, holder: None) -> None:
    assert "is locked by another process. Wait until that has ended" in refused(path)


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


def test_a_transaction_that_is_done_outlives_the_power(path: Path) -> None:
    with History.open(path) as history:
        assert history._one("PRAGMA journal_mode") == ("delete",)
        assert history._one("PRAGMA synchronous") == (3,)
        assert history._one("PRAGMA foreign_keys") == (1,)
