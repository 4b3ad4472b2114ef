"""Every command in README.md and docs/ does what the page says, or the test of the page fails.

The commands run in a folder that looks like the repository, so that `reports/out` is not the reader's own.
"""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzers.formats import read_diagnosis, read_evidence
from tablemodel import runfiles
from tests.outside import PATIENCE_S, a_readers_environment, end_all, eventually, free_port, get, started

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
    "make test": [".venv/bin/python -m pytest"],
    "make check": [".venv/bin/ruff check .", ".venv/bin/mypy", ".venv/bin/python -m pytest"],
    "make bench": [".venv/bin/python -m benchmarks"],
}
TESTED = {*MAKE, LOCUST, WITHOUT_A_PAGE, *STEPS, OWN_SCENARIO}
# Pages whose commands have a test of their own, beside what the page is about.
TESTED_ELSEWHERE = {
    "dynamic-sharding.md": "test_dynamic_page.py",
    "local-table.md": "test_control_docs.py",
    "plan.md": "test_series.py",
    "sweep.md": "test_series.py",
    "several-machines.md": "test_deploy.py",
}


def commands_in(page: Path) -> set[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return {line for block in blocks for line in block.splitlines() if line}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the reader stands."""
    for name in ("loadtests", "generator", "configs"):
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

    def to_its_end(command: str, *more: str, within_s: float = PATIENCE_S) -> str:
        child = start(command, *more)
        out, err = child.communicate(timeout=within_s)
        assert child.returncode == 0, err
        assert "Traceback" not in err
        return out

    return to_its_end


def verdict(folder: Path) -> tuple[str, bool]:
    found = read_diagnosis(folder / "diagnosis.json").verdict
    return found.constraint, found.valid


def check_run(folder: Path, constraint: str) -> None:
    """All files and the report are there, and say what they should."""
    assert {path.name for path in folder.iterdir()} == {*runfiles.FILES.values(), "report.html"}
    assert verdict(folder) == (constraint, True)


def test_every_command_of_the_readme_is_tested() -> None:
    assert commands_in(ROOT / "README.md") == TESTED


def test_every_page_with_commands_is_tested() -> None:
    with_commands = {page.name for page in (ROOT / "docs").glob("*.md") if commands_in(page)}
    assert with_commands == set(TESTED_ELSEWHERE)
    for page, test in TESTED_ELSEWHERE.items():
        (path,) = (ROOT / "tests").rglob(test)
        assert page in path.read_text()


@pytest.mark.parametrize("command", MAKE)
def test_make_runs(command: str) -> None:
    said = subprocess.run(
        [*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr
    positions = [said.stdout.find(part) for part in MAKE[command]]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_links_of_every_page_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


@pytest.mark.alone
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
        "run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json",
    }  # fmt: skip
    run(collect)
    assert read_evidence(mine / "evidence.json").missing == ()
    assert "partition" in run(analyze)
    assert run(report) == "Report: reports/out/mine/report.html\n"
    check_run(mine, "partition")
    names = {query["MetricStat"]["Metric"]["MetricName"] for query in json.loads(run(queries))}
    assert names >= {series.metric for series in read_evidence(mine / "evidence.json").series}
    endpoint.send_signal(signal.SIGINT)  # Ctrl-C in its terminal
    assert endpoint.wait(30) == 0


@pytest.mark.alone
def test_locust_without_a_page(run: Callable[..., str], home: Path) -> None:
    """Ten seconds instead of sixty."""
    said = run(WITHOUT_A_PAGE.replace("-t 60s", "-t 10s"))
    (folder,) = (home / "reports" / "out").iterdir()
    assert re.fullmatch(r"hotkey-\d{8}T\d{6}Z", folder.name)
    assert f"{folder.name}/report.html" in said
    check_run(folder, "partition")


@pytest.mark.alone
def test_locust_with_its_page(start: Start, home: Path) -> None:
    """The page is on a free port; somebody opens it, starts the test, stops it, and ends Locust."""
    port = free_port()
    child = start(LOCUST, "--web-host", "127.0.0.1", "--web-port", str(port))
    page = f"http://127.0.0.1:{port}"
    assert "Locust" in eventually(lambda: get(page))
    get(f"{page}/swarm", b"user_count=50&spawn_rate=50")
    eventually(lambda: json.loads(get(f"{page}/stats/requests"))["total_rps"] > 500)
    get(f"{page}/stop", b"")
    (folder,) = (home / "reports" / "out").iterdir()
    eventually(lambda: (folder / "report.html").exists())
    child.terminate()
    out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0, err
    assert f"{folder.name}/report.html" in out + err
    assert runfiles.read_json(folder / "run.json", runfiles.RUN)["status"] == "finished"
    check_run(folder, verdict(folder)[0])  # it may have been stopped before the burst was spent


@pytest.mark.alone
def test_a_scenario_of_ones_own(run: Callable[..., str], home: Path) -> None:
    assert "reports/out/too-small/report.html" in run(OWN_SCENARIO)
    check_run(home / "reports" / "out" / "too-small", "table")


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_the_demo(run: Callable[..., str], home: Path) -> None:
    """What `make demo` runs, all of it, with another folder to write to."""
    began_s = time.monotonic()
    said = run("keyheat demo", "--out", "demo", within_s=500)
    took_s = time.monotonic() - began_s
    assert "All four side by side: demo/index.html" in said
    page = (home / "demo" / "index.html").read_text()
    wanted = {"hotkey": "partition", "datekey": "partition", "sharded": "none", "too-small": "table"}
    for name, constraint in wanted.items():
        check_run(home / "demo" / name, constraint)
        assert f"{name}/report.html" in page
    assert took_s < 360, "about five minutes, the page says"
