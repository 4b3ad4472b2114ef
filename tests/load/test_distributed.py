"""Master and workers as processes of their own, as on several machines: nothing is lost unsaid."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.formats import read_diagnosis
from tests.load.forked import Load
from tests.outside import (
    OR_TOO_SLOW,
    PATIENCE_S,
    check_verdict,
    check_whole,
    decided,
    eventually,
    free_port,
    run_of,
)

LATE = """
import gevent, locust


@locust.events.init.add_listener
def wait(**_more):
    gevent.sleep(6)  # twice as long as Locust waits for a heartbeat


"""
ROOT = Path(__file__).parents[2]
Start = Callable[..., Load]
Verb = Callable[..., Any]


def start_all(
    start: Start, scenario: Path, folder: Path, url: str, *more: str, worker: str = "hotkey.py"
) -> list[Any]:
    """A master, which waits for its two workers, and the workers, whose Locust file is `worker`."""
    port = str(free_port())
    master = start(
        "hotkey.py", "--headless", "--only-summary", "--progress",
        "--master", "--master-bind-host", "127.0.0.1", "--master-bind-port", port, "--expect-workers", "2",
        "--scenario", str(scenario), "--out", str(folder), "--no-report", "--host", url, *more,
    )  # fmt: skip
    workers = [
        start(worker, "--worker", "--master-host", "127.0.0.1", "--master-port", port) for _ in range(2)
    ]
    return [master, *workers]


def against_workers(run: dict[str, Any]) -> list[str]:
    """What makes the run worth nothing for its workers' sake; a machine that is busy is another matter."""
    return [check for check in run["generator"]["checks"] if "worker" in check]


def test_the_master_has_all_that_the_workers_sent(
    start_locust: Start, scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    """Also where a worker hears the order to start before its Locust is set up, as on a busy machine."""
    folder, late = tmp_path / "run", tmp_path / "late.py"
    late.write_text(LATE + (ROOT / "loadtests" / "hotkey.py").read_text(encoding="utf-8"))
    master, *workers = start_all(
        start_locust, scenario_file, folder, endpoint.url, "--run-time", "4s", worker=str(late)
    )
    _out, err = master.communicate(timeout=PATIENCE_S)
    assert master.returncode == 0, err
    assert [worker.wait(PATIENCE_S) for worker in workers] == [0, 0]

    run, totals = run_of(folder), check_whole(folder)
    assert {name: totals[name] for name in ("accepted", "throttled")} == decided(endpoint.url)
    assert totals["throttled"] > 0 or run["generator"]["bound"]  # a machine too slow to get that far
    assert totals["errors"] == 0
    assert (run["status"], run["processes"], run["users"]) == ("finished", 2, 10)
    assert (run["generator"]["missing"], against_workers(run)) == ([], [])
    assert totals["attempts"] > 0, "the time counts from a worker's begin"


@pytest.mark.nightly
def test_a_worker_that_is_killed_is_named_and_the_rest_stays_valid(
    start_locust: Start, scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path, verb: Verb
) -> None:
    folder = tmp_path / "run"
    master, lost, stays = start_all(start_locust, scenario_file, folder, endpoint.url, "--run-time", "300s")
    eventually(lambda: (folder / "run.json").exists() and sum(decided(endpoint.url).values()) > 600)
    lost.kill()
    before = sum(decided(endpoint.url).values())
    eventually(lambda: sum(decided(endpoint.url).values()) > before + 200)
    master.send_signal(signal.SIGINT)
    _out, err = master.communicate(timeout=PATIENCE_S)
    assert master.returncode == 130, err
    assert stays.wait(PATIENCE_S) == 0

    run = run_of(folder)
    (named,) = run["generator"]["missing"]
    assert re.search(r"worker \S+_[0-9a-f]{8} was lost at \d\d:\d\d:\d\d UTC, \d+ s into the run", named)
    assert "it had 5 of 10 users (50% of the load)" in named
    assert against_workers(run) == []
    truth, totals = decided(endpoint.url), run["totals"]
    counted = totals["accepted"] + totals["throttled"]
    assert 200 <= counted <= sum(truth.values())
    assert {path.name for path in folder.iterdir()} == {
        "run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json", "partitions.parquet",
    }  # fmt: skip

    assert verb("analyze", folder).code in OR_TOO_SLOW
    check_verdict(folder, "partition")
    diagnosis = read_diagnosis(folder / "diagnosis.json")
    assert any("was lost at" in line for line in diagnosis.coverage.missing)
    assert verb("report", folder).code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.search(r'class="warning">Worker \S+ was lost at', page)


@pytest.mark.nightly  # by day `test_workers` has both
def test_a_worker_that_goes_and_one_that_joins_lose_nothing(
    start_locust: Start, scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    master, leaves, stays = start_all(start_locust, scenario_file, folder, endpoint.url, "--run-time", "300s")
    eventually(lambda: (folder / "run.json").exists() and sum(decided(endpoint.url).values()) > 300)
    port = master.args[master.args.index("--master-bind-port") + 1]
    joins = start_locust("hotkey.py", "--worker", "--master-host", "127.0.0.1", "--master-port", port)
    assert any("3 workers connected" in line for line in master.stderr)
    before = sum(decided(endpoint.url).values())
    eventually(lambda: sum(decided(endpoint.url).values()) > before + 300)
    leaves.terminate()  # as Kubernetes does with a pod
    assert leaves.wait(PATIENCE_S) == 0
    master.send_signal(signal.SIGINT)
    _out, err = master.communicate(timeout=PATIENCE_S)
    assert master.returncode == 130, err
    assert [worker.wait(PATIENCE_S) for worker in (stays, joins)] == [0, 0]
    run = run_of(folder)
    (named,) = run["generator"]["missing"]
    assert "left the run at" in named
    assert against_workers(run) == []
    totals = run["totals"]
    # Locust moves users to the worker that joins; one that is stopped for that may have a request in flight.
    assert set(totals["errors_by_kind"]) <= {"still_in_flight_at_stop"}
    answered = totals["accepted"] + totals["throttled"]
    assert answered <= sum(decided(endpoint.url).values()) <= answered + totals["errors"]
