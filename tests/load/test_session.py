"""Locust as a user runs it: whole files however it ends, and a clear word where it cannot begin."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.runs import parquet
from tests.load.conftest import Loaded
from tests.load.forked import Load
from tests.outside import PATIENCE_S, check_whole, decided, run_of

Locust = Callable[..., "tuple[int, str, str]"]
Start = Callable[..., Load]


def settings(scenario: Path, folder: Path, *more: str) -> tuple[str, ...]:
    return ("--scenario", str(scenario), "--out", str(folder), "--no-report", *more)


def test_the_record_is_what_the_endpoint_decided(
    load_run: Loaded, scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    other_scale = ("--set", "local.scale=0.5")
    load_run("hotkey.py", scenario_file, "--host", endpoint.url, "--run-time", "4s", *other_scale)
    totals = check_whole(folder)
    # A machine too slow to get that far says so.
    assert totals["throttled"] > 0 or run_of(folder)["generator"]["bound"]
    assert totals["errors"] == 0
    assert {name: totals[name] for name in ("accepted", "throttled")} == decided(endpoint.url)
    assert totals["consumed_units"] == {"write": 27.0 * totals["accepted"], "read": 0.0}
    assert set(totals["by_reason"]) == (
        {"TableWriteKeyRangeThroughputExceeded"} if totals["throttled"] else set()
    )
    partitions = parquet.read_table(folder / "partitions.parquet", runfiles.PARTITIONS)
    assert (pc.sum(partitions["throttled_writes"]).as_py() or 0) == totals["throttled"]
    assert pc.sum(partitions["write_units"]).as_py() == totals["consumed_units"]["write"]
    hottest = runfiles.read_json(folder / "keys.json", runfiles.KEYS)["overall"]["write"][0]
    assert hottest["share"] == pytest.approx(0.9, abs=0.1)
    assert hottest["throttles"] == pytest.approx(totals["throttled"], rel=0.2)
    assert (run_of(folder)["status"], run_of(folder)["transport"]) == ("finished", "signed")
    assert (run_of(folder)["scale"], run_of(folder)["scenario"]["local"]["scale"]) == (1, 1)
    assert "shared_with" not in run_of(folder)


def test_it_starts_its_own_endpoint_and_takes_users_and_time_from_the_scenario(
    run_locust: Locust, scenario_file: Path, tmp_path: Path
) -> None:
    code, out, err = run_locust("hotkey.py", *settings(scenario_file, tmp_path / "run", "--progress"))
    assert code == 0, err
    check_whole(tmp_path / "run")
    run = run_of(tmp_path / "run")
    assert (run["target"], run["users"], run["table"]["provisioned"]["write"]) == ("local", 10, 4_000)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[:2] == [{"phase": "preparing", "run_id": run["run_id"]}, {"phase": "loading"}]
    assert {"elapsed_s", "accepted_per_s", "throttled_per_s", "errors_per_s"} == set(lines[-1])
    assert any(line.get("accepted_per_s") for line in lines)


def test_a_run_that_is_told_to_end_keeps_whole_files(
    start_locust: Start, scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    """By SIGTERM, as Kubernetes does with a pod. What Ctrl-C leaves is held in `faults.test_runs`."""
    folder = tmp_path / "run"
    options = settings(scenario_file, folder, "--progress", "--host", endpoint.url, "--run-time", "300s")
    child = start_locust("hotkey.py", *options, "--headless", "--only-summary")
    assert any(json.loads(line).get("accepted_per_s") for line in child.stdout), child.communicate()[1]
    assert run_of(folder)["status"] == "running"
    child.terminate()
    _out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 130, err
    totals = check_whole(folder)
    assert run_of(folder)["status"] == "interrupted"
    assert {name: totals[name] for name in ("accepted", "throttled")} == decided(endpoint.url)
    assert "Traceback" not in err


def test_a_full_disk_is_one_clear_line(load_run: Loaded, scenario_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    err = load_run("hotkey.py", scenario_file, code=2, file_bytes=4_000)  # run.json fits, others do not
    assert len([line for line in err.splitlines() if line.startswith("keyheat: cannot write")]) == 1
    assert not list(folder.glob("*.tmp"))
    assert run_of(folder)["status"] == "running"


def test_our_options_have_a_help_of_their_own(run_locust: Locust) -> None:
    code, out, _err = run_locust("hotkey.py", "--keyheat-help")
    assert code == 0
    assert "Keyheat's guards:" in out
    assert "--scenario SCENARIO" in out
    assert "--run-time" not in out
