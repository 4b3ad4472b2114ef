"""An open loop against a real endpoint: units steered by what comes back, and every retry on record.

A trace is sent as it stands, by several processes.
"""

import json
from math import sqrt
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.record.generator import LOOP_LAG_P99_MS
from keyheat.runs import parquet
from keyheat.runs.latencies import read_latencies
from tests.load.conftest import Loaded
from tests.make import a_scenario_file
from tests.outside import free_port, get, run_of

COSTS = (1, 4, 10)  # write units of the three sizes below
OPEN = {
    "table": {"name": "open-table", "sort_key": "sk", "provisioned": {"read": 500, "write": 4_000}},
    "load": {"users": 40, "arrivals": "constant", "duration_s": 4},
}
TOO_LARGE: dict[str, Any] = {
    "table": {"provisioned": {"read": 500, "write": 1}},
    "load": {"requests_per_s": 40, "item_bytes": 390_000},
}
"""Every request asks for more than the table has saved up, so that all but the first are throttled."""


def run(load_run: Loaded, tmp_path: Path, *options: str, **sections: Any) -> tuple[dict[str, Any], Path]:
    load_run("hotkey.py", a_scenario_file(tmp_path, OPEN, **sections), *options)
    return run_of(tmp_path / "run"), tmp_path / "run"


def test_capacity_units_are_sent_as_asked_for_whatever_the_items_sizes(
    load_run: Loaded, tmp_path: Path
) -> None:
    sizes = {"kind": "choice", "sizes": [500, 3_500, 9_500]}
    made, _ = run(load_run, tmp_path, load={"write_units_per_s": 400, "item_bytes": sizes})
    health = made["generator"]
    assert health["target_unit"] == "WCU"
    assert health["asked_per_s"] == pytest.approx(400, rel=0.01)
    consumed, attempts = made["totals"]["consumed_units"]["write"], made["totals"]["attempts"]
    assert consumed / attempts == pytest.approx(mean(COSTS), abs=4 * pstdev(COSTS) / sqrt(attempts))
    if not health["bound"]:  # a machine that stood still could not send it all, and the run says so
        assert health["achieved_per_s"] == pytest.approx(400, rel=0.03)
        assert consumed == pytest.approx(4 * 400, rel=0.1)  # the run ends within its last second
        assert made["counted"]["arrivals.dropped"] < 0.03 * attempts


def test_retries_leave_every_attempt_in_the_record(load_run: Loaded, tmp_path: Path) -> None:
    options = ("--transport", "boto3", "--set", "client.sdk='boto3-2026'", "--set", "client.clients=2")
    made, folder = run(load_run, tmp_path, *options, **TOO_LARGE)
    counted, totals = made["counted"], made["totals"]
    assert made["retries"] == "client"
    assert counted["retries.attempts"] > 0
    assert counted["retries.backoff_s"] > 0
    assert counted["retries.requests"] >= counted.get("retries.given_up", 0)
    latencies = read_latencies(folder / "latency.hdr")
    service = sum(
        histogram.get_total_count()
        for tag, histogram in latencies.items()
        if tag in ("PutItem.accepted", "PutItem.throttled", "PutItem.error")
    )
    assert service == totals["attempts"] == totals["accepted"] + totals["throttled"] + totals["errors"]
    assert latencies["PutItem.backoff"].get_total_count() == counted["retries.attempts"]
    assert totals["attempts"] >= latencies["PutItem.response"].get_total_count() + counted["retries.attempts"]


def test_what_an_adaptive_client_holds_back_is_not_said_to_be_sent(load_run: Loaded, tmp_path: Path) -> None:
    client = {"sdk": "boto3-2026", "mode": "adaptive"}
    made, _ = run(load_run, tmp_path, "--set", "load.users=200", **TOO_LARGE, client=client)
    health, counted = made["generator"], made["counted"]
    duration_s = counted["retries.requests"] / health["achieved_per_s"]
    held_back = health["held_back_per_s"] * duration_s
    assert held_back > 10 or health["bound"]
    assert held_back <= counted["retries.waiting"]
    dropped = counted["arrivals.dropped"]
    begun = counted["retries.requests"] + held_back
    late = health["asked_per_s"] * LOOP_LAG_P99_MS / 1000  # due while the process waited for a CPU
    due = pytest.approx(health["asked_per_s"] * duration_s, abs=3 + late)
    assert begun + dropped == due or health["bound"]
    sent = f"sent {health['achieved_per_s']:.0f} of {health['asked_per_s']:.0f} requests/s of demand"
    (said,) = [check for check in health["checks"] if check.startswith(sent)]
    assert f", {health['held_back_per_s']:.0f} held back by the client's own rate" in said


AGAIN = {
    "name": "again",
    "loadtest": "replay",
    "table": {"name": "again-table", "sort_key": "sk", "provisioned": {"read": 2_000, "write": 2_000}},
    "keys": {"kind": "replay", "trace": "traces/again.csv", "speed": 4},
    "load": {"arrivals": "trace", "users": 10, "duration_s": 10},
}


def written(folder: Path, lines: list[str]) -> Path:
    (folder / "traces").mkdir()
    header = "time,operation,key,sort_key,size_bytes\n"
    (folder / "traces" / "again.csv").write_text(header + "".join(f"{line}\n" for line in lines))
    return a_scenario_file(folder, AGAIN)


LINES = [
    f"{number / 50:.3f},{operation},key-{number % 7},item-{number % 3},{size}"
    for number in range(80)
    for operation, size in (("put", 2_500), ("get", ""), ("update", 5_000), ("delete", ""), ("query", ""))
]


def test_every_row_is_sent_once_with_its_size_by_two_processes(
    load_run: Loaded, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    port = str(free_port())
    several = ("--processes", "2", "--master-bind-port", port, "--master-port", port)
    load_run("replay.py", written(tmp_path, LINES), "--show-keys", "--host", endpoint.url, *several)
    run = run_of(tmp_path / "run")
    dropped = run["counted"]["arrivals.dropped"]
    assert run["totals"]["attempts"] + dropped == len(LINES)
    rows = json.loads(get(f"{endpoint.url}/_keyheat/decisions?table=again-table"))
    assert run["totals"]["accepted"] == sum(row["accepted"] for row in rows) > 0
    assert dropped < 0.05 * len(LINES) or run["generator"]["bound"]  # it stood still, and says so
    seconds = parquet.read_table(tmp_path / "run" / "seconds.parquet", runfiles.SECONDS).to_pylist()
    sent = {"PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query"}
    assert {row["operation"] for row in seconds} == sent
    puts = [row for row in seconds if row["operation"] == "PutItem"]
    accepted = sum(row["accepted"] for row in puts)
    units = sum(row["consumed_units"] for row in puts)
    assert 3 * accepted < units < 5 * accepted, "of 2,500 bytes, or in the place of 5,000"
    writes = sum(row["consumed"] for row in rows if row["direction"] == "write")
    assert run["totals"]["consumed_units"]["write"] == writes
    keys = runfiles.read_json(tmp_path / "run" / "keys.json", runfiles.KEYS)["overall"]["write"]
    assert {key["shown"] for key in keys} == {f"key-{number}" for number in range(7)}
    assert "trace" in run["scenario"]["keys"]
    assert str(tmp_path) not in json.dumps(run["scenario"])
