"""The wheel has what the checkout has, under one name; `make wheel` tries it as somebody gets it."""

import re
import runpy
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.xdist_group("wheel"), pytest.mark.opens]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, which is built from a copy of the sources, as for a release."""
    folder = tmp_path_factory.mktemp("dist") / "dist"
    return Path(runpy.run_path(str(ROOT / ".ci" / "wheel.py"))["built"](folder))


def test_the_wheel_that_the_sdist_makes_has_what_the_checkout_has(wheel: Path) -> None:
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
    assert (wheel.parent / f"keyheat-{version[1]}.tar.gz").exists()
    assert wheel.name == f"keyheat-{version[1]}-py3-none-any.whl"


def test_the_wheel_has_one_name_and_what_is_read_at_run_time(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"keyheat"}
    assert {"keyheat/py.typed", "keyheat/configs/prices.toml", "keyheat/loadtests/hotkey.py"} <= set(names)
    assert {"keyheat/reports/templates/show.html.j2", "keyheat/load/run/static/live.js"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "/out/" in name]
