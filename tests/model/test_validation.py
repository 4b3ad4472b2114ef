"""Mistakes in content from outside: each with its place, all of them at once, none longer than a line."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from keyheat.runfiles import FileProblem
from keyheat.validation import checked


class Row(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int = Field(ge=0)


class Content(BaseModel):
    rows: tuple[Row, ...]


@pytest.mark.parametrize(
    ("row", "mistake"),
    [
        ({"count": -3}, "Input should be greater than or equal to 0, got -3 @ $.rows[1].count"),
        ({"count": 1, "more": 2}, "unknown field @ $.rows[1].more"),
        ({}, "missing @ $.rows[1].count"),
        ({"count": "x" * 200}, "unable to parse string as an integer @ $.rows[1].count"),
    ],
)
def test_a_mistake_says_what_was_got_and_where(row: dict[str, object], mistake: str) -> None:
    with pytest.raises(FileProblem) as problem:
        checked(Path("f.json"), Content, {"rows": [{"count": 1}, row]})
    said = str(problem.value)
    assert said.startswith("f.json: 1 error\n  ")
    assert said.endswith(mistake)


def test_of_many_mistakes_twenty_are_shown() -> None:
    with pytest.raises(FileProblem, match="100 errors") as problem:
        checked(Path("f.json"), Content, {"rows": [{}] * 100})
    assert len(str(problem.value).splitlines()) == 22
    assert str(problem.value).endswith("and 80 more")
