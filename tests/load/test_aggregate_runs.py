"""Sales per product and day, kept in three ways by load tests as they are: the totals are the orders."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from keyheat import runfiles
from tests.outside import PATIENCE_S, eventually, free_port

ROOT = Path(__file__).parents[2]
WAYS = ("scan", "transaction", "stream")
SMALL = {"requests_per_s = 1_000": "requests_per_s = 120", "duration_s = 50": "duration_s = 3.5"}
Locust = Callable[..., "tuple[int, str, str]"]


def small(way: str, folder: Path) -> Path:
    """The way's own scenario, with fewer orders and for a moment."""
    text = (ROOT / "configs" / "scenarios" / f"aggregate-{way}.toml").read_text()
    for old, new in SMALL.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{way}.toml"
    path.write_text(text)
    return path


def run_of(folder: Path) -> dict[str, Any]:
    return runfiles.read_json(folder / "run.json", runfiles.RUN)


@pytest.mark.parametrize("way", WAYS)
def test_the_totals_are_what_the_orders_come_to(run_locust: Locust, tmp_path: Path, way: str) -> None:
    folder = tmp_path / "run"
    scenario = small(way, tmp_path)
    code, _out, err = run_locust(
        f"aggregate_{way}.py", "--scenario", str(scenario), "--out", str(folder), "--no-report"
    )
    assert code == 0, err
    run = run_of(folder)
    counted, consumed = run["counted"], run["totals"]["consumed_units"]
    placed = counted["orders.placed"]
    assert placed > 0
    assert counted["orders.counted"] == placed
    assert (counted["orders.missing"], counted["totals.wrong"]) == (0, 0)
    assert f"orders: {placed:,} acknowledged, {placed:,} in the totals: equal" in err
    beside = {name: number for name, number in counted.items() if name.endswith(".write_units")}
    assert counted["orders.units"] == consumed["write"] + consumed["read"] + sum(beside.values())
    per_order = counted["orders.units"] / placed
    if way == "transaction":
        assert per_order == 4.0
    elif way == "scan":
        assert counted["totals.reports"] >= 1
        assert per_order == 1 + consumed["read"] / placed
    else:
        assert beside == {"tables.keyheat-aggregate-stream-totals.write_units": counted["totals.updates"]}
        assert 1 < per_order < 2
        assert 0 < counted["totals.delay_mean_s"] <= counted["totals.delay_max_s"]
    problems = [line for line in run["generator"]["checks"] if "keyheat.load.aggregation" in line]
    assert problems == []


def test_two_workers_have_one_consumer(run_locust: Locust, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    scenario, port = small("stream", tmp_path), str(free_port())
    code, _out, err = run_locust(
        "aggregate_stream.py",
        "--processes", "2", "--master-bind-port", port, "--master-port", port,
        "--scenario", str(scenario), "--out", str(folder), "--no-report",
    )  # fmt: skip
    assert code == 0, err
    run = run_of(folder)
    assert run["processes"] == 2
    counted = run["counted"]
    assert counted["orders.counted"] == counted["orders.placed"] > 0
    assert counted["totals.wrong"] == 0


def beside(pid: int) -> list[psutil.Process]:
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if "keyheat.load.aggregation.consumer" in child.cmdline()]


def test_a_killed_run_leaves_no_consumer_behind(start_locust: Callable[..., Any], tmp_path: Path) -> None:
    path = small("stream", tmp_path)
    path.write_text(path.read_text().replace("duration_s = 3.5", "duration_s = 600"))
    child = start_locust(
        "aggregate_stream.py", "--headless", "--scenario", str(path), "--out", str(tmp_path / "run")
    )
    (consumer,) = eventually(lambda: beside(child.pid))
    os.kill(child.pid, signal.SIGKILL)
    _gone, alive = psutil.wait_procs([consumer], timeout=PATIENCE_S)
    assert alive == []


def test_an_interrupted_run_counts_what_it_placed(start_locust: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    path = small("stream", tmp_path)
    path.write_text(path.read_text().replace("duration_s = 3.5", "duration_s = 600"))
    child = start_locust(
        "aggregate_stream.py", "--headless", "--scenario", str(path), "--out", str(folder), "--no-report",
        "--progress",
    )  # fmt: skip
    for line in child.stdout:
        if json.loads(line).get("accepted_per_s"):
            break
    child.send_signal(signal.SIGINT)
    _out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 130, err
    counted = run_of(folder)["counted"]
    assert counted["orders.counted"] == counted["orders.placed"] > 0
    assert counted["totals.wrong"] == 0


def test_a_scenario_without_a_stream_is_refused(run_locust: Locust, tmp_path: Path) -> None:
    path = small("scan", tmp_path)
    code, _out, err = run_locust(
        "aggregate_stream.py", "--scenario", str(path), "--out", str(tmp_path / "run"), "--no-report"
    )
    assert code == 2
    for where in ("$.table.stream", "$.companions"):
        assert f"@ {where}" in err
    assert not (tmp_path / "run").exists()
