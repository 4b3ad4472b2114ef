"""The wheel: one name in site-packages, and every part of it works beside a project with names of its own.

It is installed, without a checkout, into an environment that sees all of this one's libraries. What a
registry gives, and the base alone, is tried by `make wheel`.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from keyheat.cli.main import MENU
from tests.outside import a_readers_environment
from tests.test_wheel_contents import sdist, wheel

__all__ = ["sdist", "wheel"]
pytestmark = [pytest.mark.xdist_group("wheel"), pytest.mark.opens, pytest.mark.nightly]

ROOT = Path(__file__).parents[1]
ONCE_OURS = (
    "accuracy", "analyzers", "assertions", "commands", "configs", "generator", "loadtests", "pytest_keyheat",
    "regression", "reports", "sharding", "tablemodel", "endpoint", "model",
)  # fmt: skip
"""Names that a stranger's project has modules of; most were top-level packages of Keyheat's before 1.0."""
A_TEST = """
import keyheat, reports.daily

def test_keys(dynamodb_local):
    keyheat.assert_no_hot_partition(
        table={"partition_key": "pk", "provisioned": {"read": 100, "write": 2000}},
        keys={"kind": "uniform", "keys": 1000},
        load={"requests_per_s": 500, "item_bytes": 1000, "duration_s": 20},
    )
    assert reports.daily.MINE
"""

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scripts are of an environment with the wheel and all libraries of this one."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    zipfile.ZipFile(wheel).extractall(site)
    # A path that a .pth file adds is not searched for .pth files: an editable Keyheat in it stays unseen.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name in ("keyheat", "locust", "pytest"):
        script = home / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{home}/bin/python" -m {name} "$@"\n')
        script.chmod(0o755)
    return home / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A stranger's project: a package of each name that was ours, and a test of its own."""
    for name in ONCE_OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'WHOSE = "a stranger\'s {name}"\n')
    (tmp_path / "reports" / "daily.py").write_text("MINE = True\n")
    (tmp_path / "test_keys.py").write_text(A_TEST)
    return tmp_path


@pytest.fixture
def program(programs: Path, project: Path) -> Program:
    """Runs a program of the environment in the stranger's project."""

    def run(*words: object, **more: str) -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        return subprocess.run(
            [programs / str(words[0]), *map(str, words[1:])],
            cwd=project, env=a_readers_environment() | {"PATH": path, "PYTHONPATH": str(project)} | more,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip

    return run


HELPS = """
import sys
from keyheat.cli.main import main
sys.exit(max(main([verb, "--help"]) for verb in sys.argv[1:]))
"""


def test_every_verb_has_its_help(program: Program) -> None:
    assert program("keyheat", "--help").returncode == 0
    verbs = [name for section in MENU.values() for name in section]
    done = program("python", "-c", HELPS, *verbs)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.casefold().count("usage: keyheat") == len(verbs)


def test_a_project_tests_its_keys_and_keeps_its_own_modules(program: Program) -> None:
    done = program("pytest", "-q", "-p", "no:cacheprovider", "test_keys.py")
    assert done.returncode == 0, done.stdout + done.stderr
    whose = "; ".join(f"import {name}; print({name}.WHOSE)" for name in ONCE_OURS)
    done = program("python", "-c", f"import keyheat; {whose}")
    assert done.stdout.splitlines() == [f"a stranger's {name}" for name in ONCE_OURS], done.stderr


def test_a_suite_of_ones_own_is_written_and_run_by_what_its_workflow_runs(
    program: Program, project: Path
) -> None:
    """In a repository that knows nothing of a checkout of Keyheat's."""
    shutil.copy(ROOT / "configs" / "scenarios" / "user-id.toml", project)
    words = ("--suite", "capacity", "--schedule", "github", "--schedule", "eventbridge")
    done = program("keyheat", "init", *words)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (project / "schedules").iterdir()} == {
        "Dockerfile", "eventbridge-ecs.yaml", "kept.py",
    }  # fmt: skip
    workflow = (project / ".github" / "workflows" / "keyheat-regress.yml").read_text()
    (suite,) = re.findall(r'KEYHEAT_SUITE: "(.*)"', workflow)
    (asked,) = re.findall(r"run: >-\n\s+(keyheat regress .*?) --label", workflow)
    done = program(*asked.split(), KEYHEAT_SUITE=suite)
    assert done.returncode == 0, done.stderr
    assert (project / "history.sqlite").exists()
