"""False alarms and losses found, on runs that were recorded on a busy machine, and on the simulator."""

from pathlib import Path

import pytest

from benchmarks import _simulated
from benchmarks._compared import counted
from benchmarks.regression import RECORDED, drawn, simulated_sides

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
def test_a_tenth_less_is_found_on_the_simulator() -> None:
    hotkey = {"hotkey": _simulated.SAME["hotkey"]}
    less = {"hotkey": _simulated.LESS["hotkey"]}
    assert counted([simulated_sides(hotkey, hotkey, number) for number in range(2)]).worse == 0
    assert counted([simulated_sides(hotkey, less, number) for number in range(2)]).units_worse == {
        "hotkey": 2
    }
