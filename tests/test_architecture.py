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


def test_files_in_the_order_of_a_walk_are_of_the_folder_named_before_them() -> None:
    """`signer.py` alone is beside the last file that was named whole."""
    for line in ARCHITECTURE.split("## One request")[1].split("## What was tried")[0].split("\n1. ")[1:]:
        folder = None
        for path in re.findall(r"`([\w/]+\.py)`", line):
            if path.startswith(("keyheat/", "analyzers/", "loadtests/")):
                folder = (ROOT / path).parent
            else:
                assert any(
                    (near / path).exists() for near in (folder, ROOT / "analyzers/partition_or_table")
                ), path
