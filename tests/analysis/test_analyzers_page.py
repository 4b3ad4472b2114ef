"""docs/analyzers.md: its example is short, runs, and finds what the page shows."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.runs.formats import Finding
from keyheat.runs.run import Run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "analyzers.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == kind]


def test_the_example_finds_what_the_page_shows(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,), (command,) = blocks("python"), blocks("sh")
    shown, failure = blocks("")
    assert len([line for line in example.splitlines() if line]) <= 22
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    Path("retry_cost.py").write_text(example)
    said = verb(*command.split()[1:])
    assert said.code == 0, said.err
    assert shown in said.out
    line = example.splitlines().index("    if not throttled or throttled == attempts:") + 1
    Path("retry_cost.py").write_text(
        example.replace("    if not throttled or throttled == attempts:", "    if 1 / 0:")
    )
    said = verb(*command.split()[1:])
    assert said.code == 2
    assert failure.strip().replace("line 9", f"line {line}") in said.err


def test_the_tables_have_every_field() -> None:
    fields = set(re.findall(r"`([a-z_]+)`", PAGE.partition("## What it gives")[2].partition("## When")[0]))
    assert Finding.model_fields.keys() - {"analyzer"} <= fields
    assert {f"run.{name}" for name in Run.__dataclass_fields__} <= set(re.findall(r"`(run\.[a-z]+)`", PAGE))
