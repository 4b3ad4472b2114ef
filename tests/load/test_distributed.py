"""Master and workers as processes of their own, as on several machines: nothing is lost unsaid."""

from collections.abc import Callable
from pathlib import Path

from keyheat.endpoint.process import EndpointProcess
from tests.load.forked import Load
from tests.outside import (
    PATIENCE_S,
    check_whole,
    decided,
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


def test_the_master_has_all_that_the_workers_sent(
    start_locust: Callable[..., Load], scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path
) -> None:
    """Also where a worker hears the order to start before its Locust is set up, as on a busy machine."""
    folder, late, port = tmp_path / "run", tmp_path / "late.py", str(free_port())
    late.write_text(LATE + (ROOT / "loadtests" / "hotkey.py").read_text(encoding="utf-8"))
    master = start_locust(
        "hotkey.py", "--headless", "--only-summary", "--progress", "--run-time", "4s",
        "--master", "--master-bind-host", "127.0.0.1", "--master-bind-port", port, "--expect-workers", "2",
        "--scenario", str(scenario_file), "--out", str(folder), "--no-report", "--host", endpoint.url,
    )  # fmt: skip
    to_master = ("--worker", "--master-host", "127.0.0.1", "--master-port", port)
    workers = [start_locust(str(late), *to_master) for _ in range(2)]
    _out, err = master.communicate(timeout=PATIENCE_S)
    assert master.returncode == 0, err
    assert [worker.wait(PATIENCE_S) for worker in workers] == [0, 0]

    run, totals = run_of(folder), check_whole(folder)
    assert {name: totals[name] for name in ("accepted", "throttled")} == decided(endpoint.url)
    assert totals["throttled"] > 0 or run["generator"]["bound"]  # a machine too slow to get that far
    assert totals["errors"] == 0
    assert (run["status"], run["processes"], run["users"]) == ("finished", 2, 10)
    assert run["generator"]["missing"] == []
    assert not [check for check in run["generator"]["checks"] if "worker" in check]
    assert totals["attempts"] > 0, "the time counts from a worker's begin"
