"""Whatever is killed, and whenever: files are whole or absent, and the next command goes on from there."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.evidence.collection import collect
from tests import outside
from tests.conftest import ROOT, Verb
from tests.load.conftest import SHORT
from tests.make import a_scenario_file
from tests.outside import (
    OR_TOO_SLOW,
    PATIENCE_S,
    SEEN_BY_THE_CLIENT,
    decided,
    end_all,
    in_a_terminal,
    run_of,
    started,
)  # fmt: skip

pytestmark = [pytest.mark.opens, pytest.mark.nightly]

Start = Callable[..., "subprocess.Popen[str]"]
RECORDS = SEEN_BY_THE_CLIENT | {"partitions.parquet"}  # which the endpoint tells


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `python -m MODULE ...` in a process group of its own, which is killed at the end of the test."""
    children: list[subprocess.Popen[str]] = []

    def popen(*arguments: object) -> "subprocess.Popen[str]":
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        children.append(started((sys.executable, "-m", *arguments), tmp_path, environment))
        return children[-1]

    yield popen
    end_all(children)


def scenario(folder: Path, duration_s: float) -> Path:
    return a_scenario_file(folder, SHORT, load={"duration_s": duration_s})


def eventually(attempt: Callable[[], Any]) -> Any:
    """What the attempt gives once it gives something; a file or a process may not be there yet."""
    return outside.eventually(attempt, runfiles.FileProblem, psutil.Error)


def has_sent(run: Path, requests: int) -> bool:
    """Whether the run's endpoint has decided on so many requests."""
    return sum(decided(run_of(run)["endpoint_url"]).values()) >= requests


def child_of(parent: "subprocess.Popen[str]", word: str) -> psutil.Process | None:
    """The descendant whose command line has the word."""
    family = psutil.Process(parent.pid).children(recursive=True)
    return next((child for child in family if word in child.cmdline()), None)


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def collected_later(run: Path) -> Any:
    """`keyheat collect`, in a world in which each look at the clock takes a minute."""
    minutes = itertools.count(time.time(), 60.0)
    return collect(run, clock=lambda: next(minutes), sleep=lambda seconds: None)


def test_the_load_is_killed(start: Start, verb: Verb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    parent = start("keyheat", "run", scenario(tmp_path, 300), "--out", run)
    eventually(lambda: has_sent(run, 1))
    endpoint = child_of(parent, "keyheat.endpoint")
    locust = child_of(parent, "locust")
    assert locust is not None
    assert endpoint is not None
    locust.kill()
    _out, err = parent.communicate(timeout=PATIENCE_S)
    assert parent.returncode == 130
    assert err.splitlines()[-1] == "keyheat: the load was ended by signal 9; what was written is kept"
    psutil.wait_procs([endpoint], timeout=PATIENCE_S)  # nothing is left behind
    assert not endpoint.is_running() or endpoint.status() == psutil.STATUS_ZOMBIE

    assert files_in(run) == {"run.json"}
    assert run_of(run)["status"] == "running"
    evidence = collected_later(run)
    assert evidence.table.name == "short-table"
    assert any("its status is running" in line for line in evidence.missing)
    said = verb("analyze", run)
    assert said.code == 3
    assert all(said.says(name) for name in SEEN_BY_THE_CLIENT)
    assert verb("report", run).code == 0


def test_the_process_that_watches_is_killed(start: Start, verb: Verb, tmp_path: Path) -> None:
    """The load does not go on to its planned end: it ends as on Ctrl-C, with its files whole."""
    run = tmp_path / "run"
    parent = start("keyheat", "run", scenario(tmp_path, 3_000), "--out", run)
    eventually(lambda: has_sent(run, 100))
    family = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    eventually(lambda: all(not one.is_running() or one.status() == psutil.STATUS_ZOMBIE for one in family))
    assert files_in(run) >= {"run.json"} | RECORDS
    assert not [name for name in files_in(run) if name.endswith(".tmp")]
    assert verb("analyze", run).code in OR_TOO_SLOW


def test_an_endpoint_that_hangs_in_mid_run_costs_no_file_and_ctrl_c_leaves_it(
    start: Start, verb: Verb, tmp_path: Path
) -> None:
    """Once is enough: nobody is waited for any longer, and the run's own files are whole."""
    run = tmp_path / "run"
    with EndpointProcess.start() as endpoint:
        parent = start("keyheat", "run", scenario(tmp_path, 6), "--target", endpoint.url, "--out", run)
        eventually(lambda: has_sent(run, 100))
        os.kill(endpoint.pid, signal.SIGSTOP)
        assert parent.stderr is not None
        waits = next(line for line in parent.stderr if "to answer DynamoDB" in line)
        os.killpg(parent.pid, signal.SIGINT)
        _out, err = parent.communicate(timeout=PATIENCE_S)
        os.kill(endpoint.pid, signal.SIGCONT)
    assert parent.returncode == 130, err
    assert waits.startswith(f"keyheat: waiting for {endpoint.url.removeprefix('http://')} to answer ")
    assert files_in(run) == {"run.json"} | SEEN_BY_THE_CLIENT
    manifest = run_of(run)
    assert (manifest["status"], set(manifest["totals"]["errors_by_kind"])) == ("finished", {"timeout"})
    assert verb("analyze", run).code in OR_TOO_SLOW  # throttles before that have reasons
    assert "Ctrl-C again leaves at once" in err


def test_who_watches_passes_on_what_it_alone_is_told(start: Start, tmp_path: Path) -> None:
    run = tmp_path / "run"
    parent = start("keyheat", "run", scenario(tmp_path, 300), "--out", run, "--no-collect")
    eventually(lambda: has_sent(run, 100))
    os.kill(parent.pid, signal.SIGTERM)
    _out, err = parent.communicate(timeout=PATIENCE_S)
    check_interrupted(parent, run)
    assert "Traceback" not in err


def test_a_second_ctrl_c_ends_the_wait_for_the_minute_to_be_published(start: Start, tmp_path: Path) -> None:
    run = tmp_path / "run"
    parent = start("keyheat", "run", scenario(tmp_path, 300), "--out", run)
    eventually(lambda: has_sent(run, 300))
    os.killpg(parent.pid, signal.SIGINT)
    eventually(lambda: child_of(parent, "collect"))  # the run's own files are written by now
    os.killpg(parent.pid, signal.SIGINT)
    _out, err = parent.communicate(timeout=PATIENCE_S)
    check_interrupted(parent, run)
    assert "Traceback" not in err


def test_a_terminal_that_closes_ends_the_load_and_what_there_is_is_kept(tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = (sys.executable, "-m", "keyheat", "run", scenario(tmp_path, 300), "--out", run, "--no-collect")
    with in_a_terminal(words, tmp_path, os.environ | {"PYTHONPATH": str(ROOT)}) as (child, close):
        eventually(lambda: has_sent(run, 100))
        close()
        child.wait(PATIENCE_S)
    check_interrupted(child, run)


def check_interrupted(child: Any, run: Path) -> None:
    assert child.returncode == 130
    assert files_in(run) == {"run.json"} | RECORDS
    assert run_of(run)["status"] == "interrupted"
