"""Mistakes in content from outside: of many, as many as a screen has room for."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from keyheat.runfiles import FileProblem
from keyheat.validation import checked


class Row(BaseModel):
    count: int


class Content(BaseModel):
    rows: tuple[Row, ...]


def test_of_many_mistakes_twenty_are_shown() -> None:
    with pytest.raises(FileProblem, match="100 errors") as problem:
        checked(Path("f.json"), Content, {"rows": [{}] * 100})
    assert len(str(problem.value).splitlines()) == 22
    assert str(problem.value).endswith("and 80 more")
