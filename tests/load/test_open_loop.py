"""An open loop against a real endpoint: units steered by what comes back, and every retry on record."""

from math import sqrt
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import pytest

from keyheat.runs.latencies import read_latencies
from tests.load.conftest import Loaded
from tests.make import a_scenario_file
from tests.outside import run_of

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
    late = health["asked_per_s"] * health["loop_lag_ms_max"] / 1000  # due while the process waited for a CPU
    assert begun + dropped == pytest.approx(health["asked_per_s"] * duration_s, abs=3 + late)
    sent = f"sent {health['achieved_per_s']:.0f} of {health['asked_per_s']:.0f} requests/s of demand"
    (said,) = [check for check in health["checks"] if check.startswith(sent)]
    assert f", {health['held_back_per_s']:.0f} held back by the client's own rate" in said
