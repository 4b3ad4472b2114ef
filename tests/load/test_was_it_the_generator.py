"""Who was the limit? A generator that gets a small share of one core while it sends makes its run invalid.

Every other verdict is in `test_verdict`, by numbers.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.formats import read_diagnosis
from tests.load.forked import Load
from tests.make import a_scenario_file
from tests.outside import PATIENCE_S, decided, eventually, run_of

DURATION_S = 4
CONFESS = {
    "table": {"name": "confess-table", "provisioned": {"read": 500, "write": 4_000}},
    "load": {
        "arrivals": "poisson", "users": 20, "requests_per_s": 800, "item_bytes": 300,
        "duration_s": DURATION_S,
    },
}  # fmt: skip


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
    start_locust: Callable[..., Load], endpoint: EndpointProcess, tmp_path: Path, verb: Callable[..., Any]
) -> None:
    folder = tmp_path / "run"
    load = start_locust(
        "hotkey.py", "--headless", "--only-summary", "--scenario", str(a_scenario_file(tmp_path, CONFESS)),
        "--out", str(folder), "--target", endpoint.url, "--no-report",
    )  # fmt: skip
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
