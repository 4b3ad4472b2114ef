"""Builds the sdist and the wheel, and tries the wheel as somebody gets it, in an empty environment.

    python .ci/wheel.py dist

First the base is installed (`pip install WHEEL`) and tried, then all extras beside it, as its messages tell
people to; what each takes is printed, and held against its bound. Runs on every system that has Python,
wherever it is started. Exit code 1: something did not work.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "keyheat", "analyzers", "loadtests", "configs", "reports", "deploy", "pyproject.toml", "setup.py",
    "README.md", "LICENSE",
)  # fmt: skip
PYTHON = "python.exe" if sys.platform == "win32" else "python"
MOST_MB = {"": 120, "all": 600}
"""What an install may take: without extras, and with all of them."""
THEIRS = ("analyzers", "configs", "endpoint", "loadtests", "model", "regression", "reports", "sharding")
"""Names of ours, or once of ours, that somebody's project has packages of, too."""
A_TEST = """
import importlib, keyheat, pytest

@pytest.mark.parametrize("name", THEIRS)
def test_their_modules_are_theirs(name):
    assert importlib.import_module(name).WHOSE == "theirs"

def test_host(request):
    assert request.config.getoption("--host") == "mine"

def test_even_keys():
    keyheat.assert_no_hot_partition(
        table={"partition_key": "pk", "provisioned": {"read": 100, "write": 2000}},
        keys={"kind": "uniform", "keys": 1000},
        load={"requests_per_s": 500, "item_bytes": 1000, "duration_s": 20},
    )

def test_local(dynamodb_local):
    assert dynamodb_local.tables() == ()
"""
A_CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--host")
"""


def main() -> int:
    """Build, then try the base and everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the sdist and the wheel go")
    wheel = built(parser.parse_args().folder.resolve())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        venv.create(home / "venv")
        base(home, wheel)
        everything(home, wheel)
    return 0


def built(folder: Path) -> Path:
    """The wheel, made of the sdist, made of a copy of the sources; both are left in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        for name in filter(lambda name: (ROOT / name).exists(), SOURCES):
            if (ROOT / name).is_dir():
                left_out = shutil.ignore_patterns("__pycache__", "out")
                shutil.copytree(ROOT / name, Path(place) / name, ignore=left_out)
            else:
                shutil.copy(ROOT / name, Path(place) / name)
        making = "import sys; from setuptools.build_meta import build_sdist as make; make(sys.argv[1])"
        folder.mkdir(parents=True)
        subprocess.run(
            [sys.executable, "-c", making, folder], cwd=place, check=True, stdout=subprocess.DEVNULL
        )
    (sdist,) = folder.glob("*.tar.gz")
    pip(None, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sdist)
    (wheel,) = folder.glob("*.whl")
    return wheel


def base(home: Path, wheel: Path) -> None:
    """Checks in somebody's tests, with an option of theirs that Locust has too."""
    programs = installed(home, wheel, "")
    pip(programs, "install", "pytest")
    place = home / "of-base"
    place.mkdir()
    for name in THEIRS:
        (place / name).mkdir()
        (place / name / "__init__.py").write_text('WHOSE = "theirs"\n')
    (place / "conftest.py").write_text(A_CONFTEST)
    (place / "test_keys.py").write_text(A_TEST.replace("THEIRS", repr(THEIRS)))
    run([programs / "python", "-m", "pytest", "-q", "--host", "mine"], place)
    for verb in ("plan hotkey", "--help", "diagnose --help"):
        run([programs / "keyheat", *verb.split()], place)
    run([programs / "keyheat", "run", "hotkey"], place, code=2)  # which needs the extra `load`


def everything(home: Path, wheel: Path) -> None:
    """A simulated run, its page and a suite; on other systems than Windows also a real load."""
    programs = installed(home, wheel, "all")
    place = home / "of-all"
    place.mkdir()
    run(
        [programs / "keyheat", "simulate", "hotkey", "--set", "load.duration_s=20", "--out", "out/one"], place
    )
    run([programs / "keyheat", "report", "out/one"], place)
    run([programs / "keyheat", "loadtests", "copy", "hotkey", "mine"], place)
    schedules = ("--schedule", "github", "--schedule", "eventbridge")
    run([programs / "keyheat", "init", "--suite", "capacity", "mine/hotkey.toml", *schedules], place)
    run([programs / "keyheat", "regress", "mine/capacity.toml"], place)
    if sys.platform != "win32":
        load = ("--headless", "-u", "5", "-t", "5s", "--scenario", "mine/hotkey.toml", "--out", "out/two")
        run([programs / "locust", "-f", "mine/hotkey.py", *load], place, code=(0, 3))  # 3: too slow a machine


def installed(home: Path, wheel: Path, extras: str) -> Path:
    """The wheel and what it brings, in the environment; gives the folder of its programs."""
    programs = home / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    pip(programs, "install", "--no-compile", f"{wheel}[{extras}]" if extras else wheel)
    took_mb = megabytes(home / "venv")
    print(f"keyheat{f'[{extras}]' if extras else ''}: {took_mb:.0f} MB", flush=True)
    if took_mb > MOST_MB[extras]:
        raise SystemExit(f"more than {MOST_MB[extras]} MB are installed")
    return programs


def megabytes(home: Path) -> float:
    """What the files of a folder take."""
    files = (Path(folder) / name for folder, _, names in os.walk(home) for name in names)
    return sum(file.lstat().st_size for file in files) / 1e6


def pip(programs: "Path | None", *words: object) -> None:
    """Run our pip, for an environment's programs or for our own: the registry is the one of this machine."""
    there = [] if programs is None else ["--python", programs / PYTHON]
    run([sys.executable, "-m", "pip", *there, "--quiet", *words], ROOT)


def run(words: list[object], folder: "str | Path", code: "int | tuple[int, ...]" = 0) -> None:
    """Run a program to its end, which must be this one."""
    ended = subprocess.run([str(word) for word in words], cwd=folder, check=False, timeout=1_800).returncode
    if ended not in (code if isinstance(code, tuple) else (code,)):
        raise SystemExit(f"exit code {ended}, and not {code}: {' '.join(map(str, words))}")


if __name__ == "__main__":
    sys.exit(main())
