"""The pytest plugin costs nothing where it is not used; what a test may use has types."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import keyheat

ROOT = Path(__file__).parents[2]


def test_a_type_checker_knows_what_a_test_may_use() -> None:
    """What is loaded when it is asked for is told to a type checker beforehand."""
    module = (ROOT / "keyheat" / "__init__.py").read_text(encoding="utf-8")
    told = re.findall(r"^ *from keyheat\.[\w.]+ import (\w+) as \1$", module, re.MULTILINE)
    assert {*told, "__version__"} == set(dir(keyheat)) == set(keyheat.__all__)
    assert all(getattr(keyheat, name) is not None for name in keyheat.__all__)
    assert (ROOT / "keyheat" / "py.typed").exists()


@pytest.mark.opens
def test_whoever_uses_none_of_it_waits_for_none_of_it() -> None:
    """The plugin is loaded by every pytest of an environment that Keyheat is installed in."""
    heavy = "'keyheat.testing.checks', 'click', 'numpy', 'pydantic'"
    asked = f"import sys, keyheat.testing.plugin; print([name for name in ({heavy}) if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
