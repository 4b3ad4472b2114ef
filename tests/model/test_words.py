"""The shared words: sixteen reasons, and limits that state their unit and source."""

import re
from pathlib import Path

import pytest

from keyheat.model import limits
from keyheat.model.resources import Cause, Refusal, parse_reason
from keyheat.words import Direction


@pytest.mark.parametrize("index", [None, "by_tag"])
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("cause", Cause)
def test_a_reason_says_what_it_was_made_of(index: str | None, direction: Direction, cause: Cause) -> None:
    refusal = Refusal(index, direction, cause)
    assert parse_reason(refusal.reason) == (index is not None, direction, cause)


def test_every_limit_states_its_unit_and_a_page_listed_above() -> None:
    source = Path(limits.__file__).read_text()
    pages = set(re.findall(r"^    (\w+) +\S+", source, re.MULTILINE))
    lines = re.findall(r"^([A-Z][A-Z_]+): Final = ([^#\n]+)(#.*)?$", source, re.MULTILINE)
    assert len(lines) > 40
    for name, _, comment in lines:
        if name not in ("KIB", "MIB", "GIB"):
            assert comment, name
            assert any(re.search(rf"\b{page}\b", comment) for page in pages), name
