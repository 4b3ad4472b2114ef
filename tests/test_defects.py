"""`python -m tools.defects` can put each of its defects into this tree."""

from pathlib import Path

import pytest

from tools.defects import Defect, load_defects

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("defect", load_defects(), ids=lambda defect: defect.name)
def test_a_defect_has_its_place_and_its_tests(defect: Defect) -> None:
    assert (ROOT / defect.file).read_text(encoding="utf-8").count(defect.old) == 1
    assert [path for path in defect.tests if not (ROOT / path).exists()] == []
