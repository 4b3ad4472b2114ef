"""A few nights of the month that benchmarks/month.py plays: every change on its night, by its name."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks._nights import MONTH, changes_on
from benchmarks.month import counted, played, write_page


@pytest.mark.slow
@pytest.mark.nightly
def test_a_change_is_found_on_its_night_and_named_and_the_others_are_quiet(tmp_path: Path) -> None:
    orders = {**MONTH.scenarios[0], "load": {**MONTH.scenarios[0]["load"], "duration_s": 8}}
    plan = replace(
        MONTH, nights=7, repetitions=3, scenarios=(orders,), changes=changes_on((2, 4, 6), 2_600, 20, 0.9)
    )
    said = played(plan, tmp_path / "month", 1)
    assert [night.verdict for night in said] == [
        "baseline", "regressed", "good", "regressed", "good", "regressed", "baseline",
    ]  # fmt: skip
    assert [night.change for night in said if night.found] == [
        "capacity lowered",
        "a hot key",
        "an index added",
    ]
    assert not any(night.false_alarm for night in said)
    assert all(row.kept is not False for row in counted(said))
    assert "regressed" in write_page(tmp_path / "month").read_text()
