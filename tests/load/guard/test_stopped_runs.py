"""Real runs that are ended before their time: by a cap over all workers, and by a stop rule."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.runs.manifest import Stop, read_manifest
from tests.load.conftest import SHORT, Loaded
from tests.make import ON_DEMAND, a_scenario_file
from tests.outside import OR_TOO_SLOW, free_port, run_of

pytestmark = pytest.mark.opens

CAP = 9_000.0
Verb = Callable[..., Any]


def stopped(run: Path) -> Stop:
    """What ended a run of ours before its time."""
    manifest = read_manifest(run)
    assert manifest.status == "stopped"
    assert manifest.stopped_by is not None
    return manifest.stopped_by


def test_a_cap_holds_over_all_workers(load_run: Loaded, tmp_path: Path) -> None:
    """At most a second of the load more. How near it comes is held in `test_watch`, by a clock."""
    port = str(free_port())
    even = {"keys": {"share": 0.1}, "load": {"item_bytes": 9_000}}
    path = a_scenario_file(tmp_path, SHORT, table=dict(ON_DEMAND), **even)
    run = tmp_path / "run"
    workers = ("--processes", "2", "--master-bind-port", port, "--master-port", port)
    options = ("--run-time", "300s", "--max-units", f"{CAP:g}")
    err = load_run("hotkey.py", path, *options, *workers, code=1)
    found, consumed = stopped(run), run_of(run)["totals"]["consumed_units"]
    assert (found.rule, found.limit) == ("max_units", CAP)
    assert 0 < found.seen == consumed["read"] + consumed["write"] <= CAP + 9_000
    assert "keyheat: stopped by its budget after" in err


def test_a_stop_rule_ends_a_run_and_the_report_says_so_first(
    load_run: Loaded, verb: Verb, tmp_path: Path
) -> None:
    rule = {"throttle_share": 0.5, "over_s": 1}
    path = a_scenario_file(tmp_path, SHORT, load={"duration_s": 60}, abort_on=rule)
    err = load_run("hotkey.py", path, code=1)
    assert "stopped by its rule throttle_share after" in err
    assert stopped(tmp_path / "run").rule == "throttle_share"
    said = verb("analyze", "--report", tmp_path / "run")
    assert said.code in OR_TOO_SLOW
    assert "Stopped by its rule throttle_share" in said.out
    assert "Stopped by its rule throttle_share" in (tmp_path / "run" / "report.html").read_text()
