"""A session lives as long as its process; one whose process is gone is lost, and nobody's baseline."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.regression.history.file import opened
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.records import Maker
from keyheat.regression.history.store import History
from tests.regression.runs import a_summary

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
Opened = Callable[[Maker], History]


@pytest.fixture
def as_maker(tmp_path: Path) -> Opened:
    """The same history, opened by somebody else."""

    def open_as(maker: Maker) -> History:
        path = tmp_path / "history.sqlite"
        return History(opened(path, AT, wait_s=5.0), path, lambda: AT, maker)

    return open_as


def gone() -> Maker:
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        maker = Maker.here(process.pid)
        assert maker.fate(Maker.here()) == "alive"
    return maker


@pytest.mark.opens
def test_what_has_become_of_a_process() -> None:
    me, parent = Maker.here(), Maker.here(os.getppid())
    assert me.fate(me) == parent.fate(me) == "alive"
    assert gone().fate(me) == "gone"
    assert replace(parent, began="1").fate(me) == "gone", "another process has its number now"
    assert replace(gone(), host="elsewhere").fate(me) == "unknown"
    assert replace(gone(), boot="before the restart, or in another container").fate(me) == "unknown"
    assert me.said == f"process {os.getpid()} on {socket.gethostname()}"


@pytest.mark.opens
def test_a_session_whose_process_is_gone_is_lost(as_maker: Opened) -> None:
    with as_maker(gone()) as killed:
        session = killed.begin("nightly", "sha256:0")
        killed.add(session, case="hotkey", repetition=0, summary=a_summary(), folder_url="file:///x")
    with as_maker(Maker.here()) as mine:
        assert mine.session(session.id).state == "lost"
        assert mine.last_good("nightly") is None
        assert len(mine.runs(session)) == 1
        mine.begin("nightly", "sha256:0")
        with pytest.raises(HistoryProblem, match="is lost, so nothing is added"):
            mine.end(session, verdict="good")


@pytest.mark.opens
def test_a_session_that_may_be_alive_is_left_alone(as_maker: Opened) -> None:
    elsewhere = replace(gone(), host="elsewhere")
    with (
        as_maker(elsewhere) as far,
        as_maker(Maker.here(os.getppid())) as near,
        as_maker(Maker.here()) as mine,
    ):
        theirs, ours = far.begin("nightly", "sha256:0"), near.begin("nightly", "sha256:0")
        mine.begin("nightly", "sha256:0")
        assert [mine.session(one.id).state for one in (theirs, ours)] == ["running", "running"]
        assert mine.prune(keep=1).sessions == ()
        far.add(theirs, case="hotkey", repetition=0, summary=a_summary(), folder_url="file:///x")
        far.end(theirs, verdict="good")
        mine.lose(ours)
        assert mine.session(ours.id).state == "lost"


def test_a_process_whose_beginning_nobody_knows_counts_as_there() -> None:
    assert replace(Maker.here(), began="").fate(Maker.here()) == "alive"
