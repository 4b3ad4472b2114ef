"""False alarms and losses found: on recorded runs, on the simulator, and in a few nights of a month."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import month
from benchmarks._nights import MONTH, changes_on
from benchmarks.regression import RECORDED, drawn

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def measured() -> dict[str, float]:
    """60 comparisons with itself and 30 with a loss, in turns and with an earlier baseline."""
    return {row.what: row.measured for row in drawn(ROOT / RECORDED, alarms=60, losses=30)}


@pytest.mark.parametrize("how", ["in turns", "earlier baseline"])
def test_on_a_busy_machine_no_alarm_is_false_and_a_tenth_less_is_found(
    measured: dict[str, float], how: str
) -> None:
    assert measured[f"{how}: false alarms"] == 0
    assert measured[f"{how}: hotkey lost 10 %"] == 30


@pytest.mark.nightly
def test_a_change_is_found_on_its_night_and_named_and_the_others_are_quiet(tmp_path: Path) -> None:
    orders = {**MONTH.scenarios[0], "load": {**MONTH.scenarios[0]["load"], "duration_s": 8}}
    plan = replace(
        MONTH, nights=7, repetitions=3, scenarios=(orders,), changes=changes_on((2, 4, 6), 2_600, 20, 0.9)
    )
    said = month.played(plan, tmp_path / "month", 1)
    assert [night.verdict for night in said] == [
        "baseline", "regressed", "good", "regressed", "good", "regressed", "baseline",
    ]  # fmt: skip
    found = [night.change for night in said if night.found]
    assert found == ["capacity lowered", "a hot key", "an index added"]
    assert not any(night.false_alarm for night in said)
    assert all(row.kept is not False for row in month.counted(said))
    assert "regressed" in month.write_page(tmp_path / "month").read_text()
