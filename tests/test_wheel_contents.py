"""The wheel has what the checkout has, under one name."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.xdist_group("wheel"), pytest.mark.opens]

ROOT = Path(__file__).parents[1]
BUILT_FROM = (
    "keyheat", "loadtests", "analyzers", "configs", "reports", "deploy", "pyproject.toml", "setup.py",
    "README.md", "LICENSE",
)  # fmt: skip


def built(what: str, sources: Path, folder: Path) -> Path:
    """The `wheel` or the `sdist` of a folder, made there as pip makes it."""
    folder.mkdir()
    making = f"import sys; from setuptools.build_meta import build_{what} as make; make(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", making, folder], cwd=sources, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources, so that nothing is left behind in the checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    sources = folder / "sources"
    sources.mkdir()
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__", "out"))
        else:
            shutil.copy(ROOT / name, sources / name)
    return built("sdist", sources, folder / "built")


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, as an installer without a wheel for it would."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (sources,) = folder.iterdir()
    return built("wheel", sources, folder / "built")


def test_the_wheel_that_the_sdist_makes_has_what_the_checkout_has(sdist: Path, wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "keyheat").rglob("*.py")}
    data = [f"configs/**/*.{kind}" for kind in ("toml", "json", "csv")]
    files = (
        path for pattern in ("loadtests/*.py", "deploy/schedules/[!_]*", *data) for path in ROOT.glob(pattern)
    )
    shipped = {f"keyheat/{path.relative_to(ROOT).as_posix()}" for path in files}
    assert len(modules) > 200
    assert modules | shipped <= inside, sorted((modules | shipped) - inside)
    version = re.search(r'^version = "([\d.]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert sdist.name == f"keyheat-{version[1]}.tar.gz"
    assert wheel.name == f"keyheat-{version[1]}-py3-none-any.whl"


def test_the_wheel_has_one_name_and_what_is_read_at_run_time(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"keyheat"}
    assert {"keyheat/py.typed", "keyheat/configs/prices.toml", "keyheat/loadtests/hotkey.py"} <= set(names)
    assert {"keyheat/reports/templates/show.html.j2", "keyheat/load/live/static/live.js"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "/out/" in name]
