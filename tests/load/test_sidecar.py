"""A process beside a load: it is told, it answers, it fails aloud, and it never outlives its run."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from keyheat.load.record.record import Record
from keyheat.load.sidecar import Assignment, SidecarOutcome, SidecarProcess, Sidecars
from keyheat.scenario.scenario import Scenario, load_scenario
from tests.outside import PATIENCE_S, eventually

pytestmark = pytest.mark.opens

ROOT = Path(__file__).parents[2]
ECHO = "tests.load.beside_echo"


@pytest.fixture
def scenario(scenario_file: Path) -> Scenario:
    return load_scenario(scenario_file)


@pytest.fixture
def assignment(scenario: Scenario) -> Assignment:
    return Assignment(run_id="run-1", url="http://127.0.0.1:1", region="us-east-1", scenario=scenario)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_what_travels_is_what_arrives(assignment: Assignment) -> None:
    assert Assignment.from_line(assignment.to_line()) == assignment
    outcome = SidecarOutcome(counted={"orders.counted": 3.0}, said=["equal"], problems=["none"])
    assert SidecarOutcome.from_line(outcome.to_line()) == outcome


def test_it_is_told_the_run_and_what_was_counted(assignment: Assignment) -> None:
    process = SidecarProcess.start((ECHO,), assignment)
    outcome = process.finish({"orders.placed": 7.0})
    assert outcome == SidecarOutcome(counted={"echo.orders.placed": 7.0}, said=["beside run-1"])
    assert gone(process.pid)
    process.kill()  # once more harms nothing


def test_several_are_started_once_each_and_counted_together(assignment: Assignment) -> None:
    users = [SimpleNamespace(beside=(ECHO,)), SimpleNamespace(beside=(ECHO,)), SimpleNamespace()]
    beside, record = Sidecars(), Record()
    beside.start(users, assignment)
    assert len(beside.processes) == 1
    record.count("orders.placed", 5)
    assert beside.finish(record, given_up=lambda: False, within_s=PATIENCE_S) == ["beside run-1"]
    assert record.counted == {"orders.placed": 5, "echo.orders.placed": 5.0}
    assert record.health.problems == []
    beside.kill()


def test_one_that_fails_says_why_and_its_run_is_worth_nothing(assignment: Assignment) -> None:
    beside, record = Sidecars(), Record()
    beside.start([SimpleNamespace(beside=(ECHO, "fail"))], assignment)
    beside.finish(record, given_up=lambda: False, within_s=PATIENCE_S)
    (problem,) = record.health.problems
    assert problem == (
        f"the process {ECHO} fail ended with exit code 1: RuntimeError: there is no such stream"
    )


@pytest.mark.parametrize(("within_s", "given_up"), [(0.2, False), (PATIENCE_S, True)])
def test_one_that_does_not_finish_is_killed(assignment: Assignment, within_s: float, given_up: bool) -> None:
    process = SidecarProcess.start((ECHO, "wait"), assignment)
    outcome = process.finish({}, given_up=lambda: given_up, within_s=within_s)
    assert outcome.problems == [f"the process {ECHO} wait was stopped before it had finished"]
    assert gone(process.pid)


@pytest.mark.parametrize("told", [False, True])
def test_it_ends_with_who_started_it(assignment: Assignment, told: bool) -> None:
    """Its starter is killed while the load goes on, or while it finishes."""
    starter = (
        "import signal, sys\n"
        "from keyheat.load.sidecar import Assignment, SidecarProcess, end_line\n"
        "assignment = Assignment.from_line(sys.stdin.buffer.readline())\n"
        f"process = SidecarProcess.start(({ECHO!r}, 'wait'), assignment)\n"
        f"process._tell(end_line({{}})) if {told} else None\n"
        "print(process.pid, flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(assignment.to_line())
        parent.stdin.flush()
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.kill()
    eventually(lambda: gone(pid))
