"""docs/scenario.md: every field has its line and its meaning, and the page is what the schema makes of it."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from keyheat.scenario.scenario import json_schema

ROOT = Path(__file__).parents[2]
MAKER = runpy.run_path(str(ROOT / "docs" / "scenario.py"))
SCHEMA = json_schema()
PARTS: dict[str, Any] = {"Scenario": SCHEMA, **SCHEMA["$defs"]}
FIELDS = [(part, field) for part, spec in PARTS.items() for field in spec["properties"]]


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8") == MAKER["page"](), "make schema"


@pytest.mark.parametrize(("part", "field"), FIELDS)
def test_a_field_has_its_line_and_its_meaning(part: str, field: str) -> None:
    if part in MAKER["INLINE"]:
        return
    assert MAKER["meaning"](part, field, PARTS[part]["properties"][field]), "say it in its Field, or in MEANT"
    assert f"| `{field}` |" in MAKER["page"]()


def test_what_is_said_of_verbs_is_said_of_fields_that_there_are() -> None:
    for path in MAKER["VERBS"]:
        properties = SCHEMA["properties"]
        for name in path.split("."):
            assert name in properties, path
            part, _kind = MAKER["_part"](properties[name])
            properties = SCHEMA["$defs"][part]["properties"] if part else {}
