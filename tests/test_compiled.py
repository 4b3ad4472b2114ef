"""What a put or a get passes through, compiled to C: it passes the tests that it passes in Python."""

import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = [pytest.mark.opens, pytest.mark.long, pytest.mark.nightly, pytest.mark.timeout(3_600)]

ROOT = Path(__file__).parents[1]
BUILT_FROM = runpy.run_path(str(ROOT / ".ci" / "wheel.py"))["SOURCES"]
COMPILERS = ("cc", "gcc", "clang")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "out", "node_modules")
NEEDED = "from setuptools.build_meta import get_requires_for_build_wheel as needed; print(needed())"
QUICK = "not opens and not slow and not nightly"


def run(words: Sequence[str], checkout: Path, **more: str) -> str:
    """What Python prints in a checkout, from which everything is imported."""
    said = subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(checkout), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout[-4_000:]
    return said.stdout


@pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="there is no C compiler on this machine")
def test_compiled_modules_pass_the_tests_of_the_modules(tmp_path: Path) -> None:
    for name in (*BUILT_FROM, "docs", "tests", "tools"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, tmp_path)
    building = {"KEYHEAT_COMPILED": "0"}  # the C compiler takes half as long as where it is to try hard
    assert "mypy" not in run(["-c", NEEDED], tmp_path)
    assert "mypy" in run(["-c", NEEDED], tmp_path, **building), "pip builds where nothing else is yet"
    run(["setup.py", "-q", "build_ext", "--inplace"], tmp_path, **building)

    assert "200" in run([str(ROOT / ".ci" / "compiled.py")], tmp_path)

    told = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", QUICK, "tests/endpoint", "tests/model"],
        tmp_path,
    )
    assert " passed" in told
