"""A session lives as long as its process; one whose process is gone is lost, and nobody's baseline."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.records import is_gone, this_process
from keyheat.regression.history.store import History
from tests.make import a_summary

HERE = socket.gethostname()


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.opens
def test_whether_a_process_is_gone(gone: int) -> None:
    parent = psutil.Process(os.getppid())
    assert not is_gone(*this_process())
    assert not is_gone(HERE, parent.pid, parent.create_time())
    assert is_gone(HERE, gone, 0.0)
    assert is_gone(HERE, parent.pid, parent.create_time() - 3600), "another process has its number now"
    assert not is_gone("elsewhere", gone, 0.0), "nobody sees the processes of another machine"


@pytest.mark.opens
def test_a_session_whose_process_is_gone_is_lost(tmp_path: Path, gone: int) -> None:
    with History.open(tmp_path / "history.sqlite") as history:
        session = history.begin("nightly", "sha256:0")
        history.add(session, case="hotkey", repetition=0, summary=a_summary(), folder_url="file:///x")
        history._connection.execute("UPDATE sessions SET pid = ?", (gone,))
        assert history.session(session.id).state == "lost"
        assert history.last_good("nightly") is None
        assert len(history.runs(session)) == 1
        history.begin("nightly", "sha256:0")
        with pytest.raises(HistoryProblem, match="is lost, so nothing is added"):
            history.end(session, verdict="good")


def test_a_session_that_may_be_alive_is_left_alone(tmp_path: Path) -> None:
    with History.open(tmp_path / "history.sqlite") as history:
        far, near = history.begin("nightly", "sha256:0"), history.begin("nightly", "sha256:0")
        history._connection.execute("UPDATE sessions SET host = 'elsewhere', pid = 0 WHERE id = ?", (far.id,))
        history.begin("nightly", "sha256:0")
        assert [history.session(one.id).state for one in (far, near)] == ["running", "running"]
        assert history.prune(keep=1).sessions == ()
        history.add(far, case="hotkey", repetition=0, summary=a_summary(), folder_url="file:///x")
        history.end(far, verdict="good")
