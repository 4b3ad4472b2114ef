"""Who was the limit? A generator that is throttled makes its run invalid; an endpoint that is slow does not.

Real processes: a generator that gets a small share of one core while it sends, and an endpoint whose answers
come late. Every other verdict is in `test_verdict`, by numbers.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.formats import read_diagnosis
from keyheat.runs.latencies import read_latencies
from keyheat.testing.local import LocalDynamoDB
from tests.load.forked import Load
from tests.make import a_scenario_file
from tests.outside import PATIENCE_S, decided, eventually, run_of

Begin = Callable[..., Load]
DELAY_MS = 200
DURATION_S = 4
CONFESS = {
    "table": {"name": "confess-table", "provisioned": {"read": 500, "write": 4_000}},
    "load": {"item_bytes": 300, "duration_s": DURATION_S},
}


@pytest.fixture
def begin(start_locust: Callable[..., Load], endpoint: EndpointProcess, tmp_path: Path) -> Begin:
    """Begins a load of so many users and requests; its run is in `run`."""

    def start(**load: Any) -> Load:
        path = a_scenario_file(tmp_path, CONFESS, load=load)
        return start_locust(
            "hotkey.py", "--headless", "--only-summary", "--scenario", str(path), "--out",
            str(tmp_path / "run"), "--target", endpoint.url, "--no-report",
        )  # fmt: skip

    return start


@contextmanager
def small_share_of_a_core(pid: int) -> Iterator[None]:
    """Pin a process to one core that another one, which counts for 68 times as much, keeps busy."""
    cpu = min(os.sched_getaffinity(0))
    all_cpus = os.sched_getaffinity(pid)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        os.sched_setaffinity(busy.pid, {cpu})
        os.sched_setaffinity(pid, {cpu})
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        yield
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(pid, all_cpus)
        with suppress(PermissionError):  # only root gives back what was taken
            os.setpriority(os.PRIO_PROCESS, pid, 0)


def test_a_generator_that_is_throttled_makes_the_run_invalid(
    begin: Begin, endpoint: EndpointProcess, tmp_path: Path, verb: Callable[..., Any]
) -> None:
    load, folder = begin(arrivals="poisson", users=20, requests_per_s=800), tmp_path / "run"
    eventually(lambda: load.poll() is not None or decided(endpoint.url, "confess-table")["accepted"] > 400)
    if load.poll() is None:  # else this machine has a small share of a core itself
        with small_share_of_a_core(load.pid):
            time.sleep(DURATION_S)  # until the load's time is over; files may be made at full speed
    _, err = load.communicate(timeout=PATIENCE_S)
    assert load.returncode == 0, err
    assert run_of(folder)["generator"]["bound"] is True
    said = verb("analyze", folder)
    assert said.code == 3
    assert said.says("the load generator was the limit, not DynamoDB")
    diagnosis = read_diagnosis(folder / "diagnosis.json")
    assert (diagnosis.generator.bound, diagnosis.verdict.valid) == (True, False)


def test_a_slow_endpoint_leaves_the_run_valid(
    begin: Begin, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    with LocalDynamoDB(endpoint.url).faults(operations=["PutItem"], delay_ms=DELAY_MS):
        load = begin(arrivals="constant", users=60, requests_per_s=100)
        _, err = load.communicate(timeout=PATIENCE_S)
    assert load.returncode == 0, err
    generator, latencies = (
        run_of(tmp_path / "run")["generator"],
        read_latencies(tmp_path / "run" / "latency.hdr"),
    )
    assert latencies["PutItem.accepted"].get_value_at_percentile(50) >= DELAY_MS * 1e3
    if (generator["cpu_starved_share"] or 0.0) > 0.1 or generator["loop_lag_ms_max"] > 100.0:
        return  # this machine gave the generator no CPU in time: nobody else can be found to be slow
    assert not generator["bound"], generator
    assert any("sent 100 of 100" in check for check in generator["checks"]), generator
