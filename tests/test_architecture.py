"""The pages for whoever works on it name what is there."""

import re
from pathlib import Path

import pytest

from tests.test_imports import ARCHITECTURE, GROUND

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_ground_is_named() -> None:
    assert {name for name in GROUND if f"`{name}.py`" not in ARCHITECTURE} == set()


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = re.findall(
        r"(?<![\w/])((?:keyheat|analyzers|loadtests|tests|configs|docs|benchmarks)/[\w./-]+\w)", page
    )
    assert named
    assert [
        path for path in named if not (ROOT / path).exists() and "NAME" not in path and "RULE" not in path
    ] == []


def test_every_module_that_is_named_without_its_folder_is_there() -> None:
    named = set(re.findall(r"`(?:\w+/)*(\w+\.py)`", ARCHITECTURE))
    rooms = (ROOT / name for name in ("keyheat", "analyzers", "loadtests", "tests"))
    assert named - {path.name for room in rooms for path in room.rglob("*.py")} == set()
