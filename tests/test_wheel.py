"""The wheel: one name in site-packages, and every part of it works beside a project with names of its own.

It is installed into an environment that sees this one's libraries, and no checkout.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from keyheat.cli.main import MENU
from keyheat.runs.formats import read_diagnosis
from tests.outside import OR_TOO_SLOW, a_readers_environment

ROOT = Path(__file__).parents[1]
BUILT_FROM = (
    "keyheat",
    "loadtests",
    "analyzers",
    "configs",
    "reports",
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
)
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

HELPS = """
import sys
from contextlib import suppress
from keyheat.cli.main import main
for verb in sys.argv[1:]:
    with suppress(SystemExit):
        main([verb, "--help"])
"""
"""One process for all of them: each would load the same libraries."""

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources, so that nothing is left behind in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    for name in BUILT_FROM:
        place = sources / name
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__", "out"))
        else:
            sources.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, place)
    command = [
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", folder, sources,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scripts are of an environment with the wheel in it."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    # A path that a .pth file adds is not searched for .pth files: an editable Keyheat in it stays unseen.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    zipfile.ZipFile(wheel).extractall(site)
    for name, module in (("keyheat", "keyheat"), ("locust", "locust"), ("pytest", "pytest")):
        script = home / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{home}/bin/python" -m {module} "$@"\n')
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

    def run(*words: object) -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        return subprocess.run(
            [programs / str(words[0]), *map(str, words[1:])],
            cwd=project, env=a_readers_environment() | {"PATH": path, "PYTHONPATH": str(project)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250,
        )  # fmt: skip

    return run


def test_the_wheel_has_one_name_and_what_is_read_at_run_time(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"keyheat"}
    assert {"keyheat/py.typed", "keyheat/configs/prices.toml", "keyheat/loadtests/hotkey.py"} <= set(names)
    assert {"keyheat/reports/templates/page.html.j2", "keyheat/load/web/static/live.js"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "/out/" in name]


def test_every_verb_has_its_help(program: Program) -> None:
    assert program("keyheat", "--help").returncode == 0
    verbs = [name for section in MENU.values() for name in section]
    done = program("python", "-c", HELPS, *verbs)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.casefold().count("usage: keyheat") == len(verbs)


def test_a_run_is_simulated_analysed_and_shown(program: Program, project: Path) -> None:
    done = program("keyheat", "simulate", "hotkey", "--set", "load.duration_s=20", "--out", "out/mine")
    assert done.returncode == 0, done.stderr
    assert read_diagnosis(project / "out" / "mine" / "diagnosis.json").verdict.constraint == "partition"
    for verb in ("analyze", "report"):
        assert program("keyheat", verb, "out/mine").returncode == 0
    assert program("keyheat", "plan", "too-small").returncode == 0


def test_a_shipped_load_test_and_one_of_the_users_load_a_local_table(program: Program, project: Path) -> None:
    (project / "mine.py").write_text("from keyheat.loadtests.hotkey import HotKeyUser  # noqa: F401\n")
    where = "from keyheat.shipped import shipped; print(shipped('loadtests').parent)"
    package = Path(program("python", "-c", where).stdout.strip())
    scenario = package / "configs" / "scenarios" / "hotkey.toml"
    for number, file in enumerate((package / "loadtests" / "hotkey.py", "mine.py")):
        words = (
            "--headless",
            "-u",
            5,
            "-t",
            "3s",
            "--no-report",
            "--scenario",
            scenario,
            "--out",
            f"out/{number}",
        )
        done = program("locust", "-f", file, *words)
        assert done.returncode in OR_TOO_SLOW, done.stderr
        assert (project / "out" / str(number) / "seconds.parquet").exists()


def test_a_project_tests_its_keys_and_keeps_its_own_modules(program: Program) -> None:
    done = program("pytest", "-q", "-p", "no:cacheprovider", "test_keys.py")
    assert done.returncode == 0, done.stdout + done.stderr
    whose = "; ".join(f"import {name}; print({name}.WHOSE)" for name in ONCE_OURS)
    done = program("python", "-c", f"import keyheat; {whose}")
    assert done.stdout.splitlines() == [f"a stranger's {name}" for name in ONCE_OURS], done.stderr
