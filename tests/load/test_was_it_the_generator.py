"""Who was the limit? A generator that is throttled makes its run invalid; an endpoint that is slow does not.

Real processes throughout: a generator that gets a small share of one core while it sends, and an endpoint
behind a proxy that holds every answer back.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.formats import read_diagnosis
from keyheat.runs.latencies import read_latencies
from tests.outside import PATIENCE_S, eventually

Start = Callable[..., "subprocess.Popen[str]"]
HELD_BACK_S = 0.2
DURATION_S = 4
SCENARIO = """
format = "keyheat.scenario/1"
name = "confess"
question = "Who is the limit?"
loadtest = "hotkey"
[table]
name = "confess-table"
sort_key = "sk"
provisioned = { read = 500, write = 4_000 }
[keys]
kind = "uniform"
[load]
item_bytes = 300
"""


def scenario(tmp_path: Path, load: str) -> Path:
    path = tmp_path / "confess.toml"
    path.write_text(f"{SCENARIO}{load}\n")
    return path


def run_of(folder: Path) -> dict[str, Any]:
    return runfiles.read_json(folder / "run.json", runfiles.RUN)


def decided(url: str) -> int:
    """How many requests the endpoint has admitted."""
    with urllib.request.urlopen(f"{url}/_keyheat/decisions?table=confess-table") as answer:
        return sum(row["accepted"] for row in json.load(answer))


def lacked_cpu(generator: dict[str, Any]) -> bool:
    """Whether this machine gave the generator no CPU in time: then nobody else can be found to be slow."""
    return bool((generator["cpu_starved_share"] or 0.0) > 0.1 or generator["loop_lag_ms_max"] > 100.0)


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


@pytest.mark.parametrize(
    "loop", ["users = 10\nrequests_per_s = 800", 'arrivals = "poisson"\nusers = 20\nrequests_per_s = 800']
)
def test_a_generator_that_is_throttled_makes_the_run_invalid(
    start_locust: Start, endpoint: EndpointProcess, tmp_path: Path, loop: str
) -> None:
    path, folder = scenario(tmp_path, f"{loop}\nduration_s = {DURATION_S}"), tmp_path / "run"
    child = start_locust(
        "hotkey.py", "--headless", "--only-summary", "--scenario", str(path), "--out", str(folder),
        "--target", endpoint.url, "--no-report",
    )  # fmt: skip
    eventually(lambda: child.poll() is not None or decided(endpoint.url) > 400)
    if child.poll() is None:  # else this machine has a small share of a core itself
        with small_share_of_a_core(child.pid):
            time.sleep(DURATION_S)  # until the load's time is over; files may be made at full speed
    _, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0, err
    assert run_of(folder)["generator"]["bound"] is True
    check_diagnosis(folder)


def check_diagnosis(folder: Path) -> None:
    """The analyzer's exit code, its diagnosis and its terminal page say that the run says nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "keyheat", "analyze", str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 3, done.stderr
    diagnosis = read_diagnosis(folder / "diagnosis.json")
    assert diagnosis.generator.bound
    assert not diagnosis.verdict.valid
    assert "generator" in done.stdout.splitlines()[0].casefold(), done.stdout


@contextmanager
def held_back(url: str) -> Iterator[str]:
    """An endpoint as it is seen from far away: each answer comes a moment later. Gives its URL.

    Its event loop has a thread of its own: in that of the tests a browser's may be running.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
    thread = Thread(target=lambda: asyncio.run(_hold_back(int(url.rpartition(":")[2]), started)))
    thread.start()
    loop, ended, port = started.result(timeout=PATIENCE_S)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


async def _hold_back(behind: int, started: Future[Any]) -> None:
    """Pass on what comes to a port of our own to another one, until that is ended."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wait_s: float) -> None:
        while data := await reader.read(65_536):
            await asyncio.sleep(wait_s)
            writer.write(data)
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", behind)
        try:
            await asyncio.gather(
                pass_on(reader, behind_writer, 0.0),
                pass_on(behind_reader, writer, HELD_BACK_S),
                return_exceptions=True,
            )
        finally:  # also where the loop ends and this is cancelled
            for one in (writer, behind_writer):
                one.transport.abort()

    server, ended = await asyncio.start_server(accept, "127.0.0.1", 0), asyncio.Event()
    started.set_result((asyncio.get_running_loop(), ended, server.sockets[0].getsockname()[1]))
    await ended.wait()
    server.close()


@pytest.mark.parametrize(
    ("load", "bound", "said"),
    [
        ('arrivals = "constant"\nusers = 60\nrequests_per_s = 100', False, "sent 100 of 100"),
        ('arrivals = "constant"\nusers = 5\nrequests_per_s = 100', True, "all 5 users were under way"),
        ("users = 10\nrequests_per_s = 200", False, "users waited for answers"),
    ],
)
def test_a_slow_endpoint_leaves_the_run_valid_where_there_are_users_enough(
    start_locust: Start, endpoint: EndpointProcess, tmp_path: Path, load: str, bound: bool, said: str
) -> None:
    path, folder = scenario(tmp_path, f"{load}\nduration_s = {DURATION_S}"), tmp_path / "run"
    with held_back(endpoint.url) as url:
        child = start_locust(
            "hotkey.py", "--headless", "--only-summary", "--scenario", str(path), "--out", str(folder),
            "--target", url, "--no-report",
        )  # fmt: skip
        _, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0, err
    run = run_of(folder)
    latencies = read_latencies(folder / "latency.hdr")
    assert latencies["PutItem.accepted"].get_value_at_percentile(50) >= HELD_BACK_S * 1e6
    generator = run["generator"]
    assert generator["bound"] or not bound, generator
    if lacked_cpu(generator):
        return
    assert generator["bound"] is bound, generator
    assert any(said in check for check in generator["checks"]), generator
    if bound:
        assert run["counted"]["arrivals.dropped"] > 50
    slower = latencies["PutItem.response"].get_value_at_percentile(50) - HELD_BACK_S * 1e6
    assert (slower > 500_000) == bound  # arrivals waited for a user, which the service time does not show
