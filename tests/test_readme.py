"""Every command in README.md and docs/ does what the page says, or the test of the page fails.

The commands run in a folder that looks like the repository, so that `reports/out` is not the reader's own.
What is loaded at its whole size needs the machine for itself; most are loaded at a twentieth, which any
machine can send beside something else.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.runs.formats import read_diagnosis
from keyheat.runs.plausibility import read_evidence
from keyheat.scenario.scenario import load_scenario
from tests.outside import (
    OR_TOO_SLOW,
    PATIENCE_S,
    a_readers_environment,
    check_verdict,
    end_all,
    eventually,
    free_port,
    get,
    started,
)
from tests.rehearsal import SCENARIOS, a_twentieth

pytestmark = pytest.mark.opens

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent

LOCUST = "locust -f loadtests/hotkey.py"
STEPS = (
    "keyheat local --port 8000",
    f"{LOCUST} --headless -u 50 -t 20s --host http://127.0.0.1:8000 --no-report --out reports/out/mine",
    "keyheat collect --run reports/out/mine",
    "keyheat analyze reports/out/mine",
    "keyheat report reports/out/mine",
    "keyheat queries --table keyheat-hotkey",
)
WITHOUT_A_PAGE = f"{LOCUST} --headless -u 50 -t 60s"
OWN_SCENARIO = "keyheat run configs/scenarios/too-small.toml --out reports/out/too-small"
# `make` would run these very tests again: what it is going to run is read instead.
MAKE = {
    "make demo": [".venv/bin/keyheat demo"],
    "make quick": [".venv/bin/python -m pytest", "not opens and not slow"],
    "make test": [".venv/bin/python -m pytest", "not nightly"],
    "make check": [".venv/bin/ruff check .", ".venv/bin/mypy", ".venv/bin/python -m pytest"],
    "make nightly": [".venv/bin/python -m pytest", "-m nightly"],
    "make bench": [".venv/bin/python -m benchmarks"],
}
SIMULATED = "keyheat simulate hotkey --set load.duration_s=600"
WHAT_IF = "keyheat whatif hotkey shards"
KNEE = "keyheat whatif hotkey load"
REGRESS = "keyheat regress configs/suites/smoke.toml"
FIRST = "keyheat simulate hotkey"
DIAGNOSE = "keyheat diagnose"  # run in test_diagnose.py
TESTED = {
    FIRST,
    DIAGNOSE,
    *MAKE,
    LOCUST,
    WITHOUT_A_PAGE,
    *STEPS,
    OWN_SCENARIO,
    SIMULATED,
    WHAT_IF,
    KNEE,
    REGRESS,
}
# Pages whose commands have a test of their own, beside what the page is about.
TESTED_ELSEWHERE = {
    "loadtests.md": "test_own_loadtest.py",
    "live-metrics.md": "test_live_metrics.py",
    "accuracy.md": "test_accuracy_page.py",
    "analyzers.md": "test_analyzers_page.py",
    "clients.md": "test_clients.py",
    "contributor-insights.md": "test_insights_page.py",
    "dynamic-sharding.md": "test_dynamic_page.py",
    "diagnose.md": "test_diagnose_page.py",
    "guards.md": "test_guards.py",
    "existing-tables.md": "test_existing_page.py",
    "endpoint-state.md": "test_state_page.py",
    "fault-injection.md": "test_faults_page.py",
    "fix.md": "test_fix_docs.py",
    "history.md": "test_history_page.py",
    "local-table.md": "test_control_docs.py",
    "logs-and-metrics.md": "test_logs_page.py",
    "plan.md": "test_plan_page.py",
    "pytest.md": "test_pytest_page.py",
    "regress.md": "test_regress_page.py",
    "report-in-detail.md": "test_report_page.py",
    "regression-statistics.md": "test_statistics_page.py",
    "rules.md": "test_rules_page.py",
    "runs.md": "test_runs_page.py",
    "schedules.md": "test_own_suite.py",
    "simulate.md": "test_simulate.py",
    "suites.md": "test_suites_page.py",
    "tables.md": "test_tables_page.py",
    "terminal.md": "test_menu.py",
    "timeline.md": "test_timeline_page.py",
    "trial.md": "test_trial_page.py",
    "whatif.md": "test_whatif.py",
    "your-table.md": "test_your_table.py",
    "compare.md": "test_series.py",
    "several-machines.md": "test_deploy.py",
}


def commands_in(page: Path) -> set[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return {line for block in blocks for line in block.splitlines() if line}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the reader stands."""
    for name in ("loadtests", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a command of the page; what still runs at the end of the test is killed."""
    children: list[subprocess.Popen[str]] = []

    def popen(command: str, *more: str) -> "subprocess.Popen[str]":
        program, *arguments = shlex.split(command)
        words = (PROGRAMS / program, *arguments, *more)
        children.append(started(words, home, a_readers_environment()))
        return children[-1]

    yield popen
    end_all(children)


@pytest.fixture
def run(start: Start) -> Callable[..., str]:
    """Runs a command of the page to its end, which must be a good one; gives what it printed."""

    def to_its_end(command: str, *more: str, codes: tuple[int, ...] = (0,)) -> str:
        child = start(command, *more)
        out, err = child.communicate(timeout=PATIENCE_S)
        assert child.returncode in codes, err
        assert "Traceback" not in err
        return out

    return to_its_end


def check_run(folder: Path, constraint: str) -> bool:
    """All files and the report are there, and say what they should; tells whether the run is valid."""
    assert {path.name for path in folder.iterdir()} == {*runfiles.FILES.values(), "report.html"}
    return check_verdict(folder, constraint)


def test_every_command_of_the_readme_is_tested() -> None:
    assert commands_in(ROOT / "README.md") == TESTED


def test_every_page_with_commands_is_tested() -> None:
    with_commands = {page.name for page in (ROOT / "docs").glob("*.md") if commands_in(page)}
    assert with_commands == set(TESTED_ELSEWHERE)
    for page, test in TESTED_ELSEWHERE.items():
        assert any(page in path.read_text() for path in (ROOT / "tests").rglob(test)), test


@pytest.mark.parametrize("command", MAKE)
def test_make_runs(command: str) -> None:
    said = subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    positions = [said.stdout.find(part) for part in MAKE[command]]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_links_of_every_page_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


def test_step_by_step(start: Start, run: Callable[..., str], home: Path) -> None:
    """The port is replaced by a free one; everything else is as the page says."""
    local, load, collect, analyze, report, queries = STEPS
    port = str(free_port())
    endpoint = start(local.replace("8000", port))
    assert endpoint.stdout is not None
    assert endpoint.stdout.readline() == f"ready http://127.0.0.1:{port}\n"
    run(load.replace("8000", port))
    mine = home / "reports" / "out" / "mine"
    assert {path.name for path in mine.iterdir()} == {
        "run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json", "partitions.parquet",
    }  # fmt: skip
    run(collect)
    assert read_evidence(mine / "evidence.json").missing == ()
    assert "partition" in run(analyze, codes=OR_TOO_SLOW)
    assert run(report) == "Report: reports/out/mine/report.html\n"
    check_run(mine, "partition")
    names = {query["MetricStat"]["Metric"]["MetricName"] for query in json.loads(run(queries))}
    assert names >= {series.metric for series in read_evidence(mine / "evidence.json").series}
    endpoint.send_signal(signal.SIGINT)  # Ctrl-C in its terminal
    assert endpoint.wait(PATIENCE_S) == 0


def test_without_any_load(run: Callable[..., str], home: Path) -> None:
    first = run(FIRST)
    assert "cure: shard the hot key" in first
    (folder,) = (home / "reports" / "out").iterdir()
    shutil.rmtree(folder)
    said = run(SIMULATED)
    (folder,) = (home / "reports" / "out").iterdir()
    check_run(folder, "partition")
    assert f"{folder.name}/report.html" in said
    assert "shards are enough" in run(WHAT_IF)
    assert "The key's knee" in run(KNEE)


def test_and_next_week(run: Callable[..., str]) -> None:
    """The first time; what the second says of it is in test_own_suite.py, as a timer runs both."""
    assert "baseline" in run(REGRESS)


def test_locust_without_a_page(run: Callable[..., str], home: Path) -> None:
    """Ten seconds instead of sixty."""
    command = WITHOUT_A_PAGE.replace("-t 60s", "-t 10s")
    said = run(command, "--scenario", str(a_twentieth("hotkey", home)), codes=OR_TOO_SLOW)
    (folder,) = (home / "reports" / "out").iterdir()
    assert re.fullmatch(r"hotkey-\d{8}T\d{6}Z", folder.name)
    assert f"{folder.name}/report.html" in said
    check_run(folder, "partition")


def test_locust_with_its_page(start: Start, home: Path) -> None:
    """The page is on a free port; somebody opens it, starts the test, stops it, and ends Locust."""
    port = free_port()
    options = ("--web-host", "127.0.0.1", "--web-port", str(port))
    child = start(LOCUST, *options, "--scenario", str(a_twentieth("hotkey", home)))
    page = f"http://127.0.0.1:{port}"
    assert "Locust" in eventually(lambda: get(page))
    get(f"{page}/swarm", b"user_count=50&spawn_rate=50")
    eventually(lambda: sent(json.loads(get(f"{page}/stats/requests"))) > 500)
    get(f"{page}/stop", b"")
    (folder,) = (home / "reports" / "out").iterdir()
    eventually(lambda: (folder / "report.html").exists())
    child.terminate()
    out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode in OR_TOO_SLOW, err
    assert f"{folder.name}/report.html" in out + err
    assert runfiles.read_json(folder / "run.json", runfiles.RUN)["status"] == "finished"
    stopped = read_diagnosis(folder / "diagnosis.json").verdict  # perhaps before the burst was spent
    check_run(folder, stopped.constraint)


def sent(stats: dict[str, Any]) -> int:
    """How many requests Locust has counted so far."""
    return sum(row["num_requests"] for row in stats["stats"] if row["name"] == "Aggregated")


def test_a_scenario_of_ones_own(run: Callable[..., str], home: Path) -> None:
    mine = a_twentieth("too-small", home)
    said = run(OWN_SCENARIO.replace("configs/scenarios/too-small.toml", mine.name), codes=OR_TOO_SLOW)
    assert "reports/out/too-small/report.html" in said
    check_run(home / "reports" / "out" / "too-small", "table")


@pytest.mark.long
def test_the_demo(verb: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What `make demo` runs, all of it, with smaller scenarios and another folder to write to."""
    wanted = {"hotkey": "partition", "datekey": "partition", "sharded": "none", "too-small": "table"}
    (tmp_path / "scenarios").mkdir()
    for name in wanted:
        a_twentieth(name, tmp_path / "scenarios")
        assert load_scenario(SCENARIOS / f"{name}.toml").load.duration_s < 60, "two minutes for all of them"
    monkeypatch.setattr("keyheat.scenario.scenario.SCENARIOS", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    said = verb("demo", "--out", "demo")
    assert said.code in OR_TOO_SLOW, said.err
    assert "All four side by side: demo/index.html" in said.out
    page = (tmp_path / "demo" / "index.html").read_text()
    valid = [check_run(tmp_path / "demo" / name, constraint) for name, constraint in wanted.items()]
    assert said.code == (0 if all(valid) else 3)
    assert all(f"{name}/report.html" in page for name in wanted)
