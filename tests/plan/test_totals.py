"""What a load test sends if nothing is refused: units, operations, and the partition where they meet."""

import pytest

from keyheat.plan import totals as module
from keyheat.plan.totals import total_load
from tests.make import a_shipped


def test_a_load_of_days_goes_on_as_its_first_hour_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_S", 49)
    monkeypatch.setattr(module, "FIRST_S", 20)
    scenario = a_shipped("hotkey")  # 50 s
    found = total_load(scenario)
    (asked,) = found.sides.values()
    assert (found.duration_s, len(asked.per_s), asked.total()) == (50.0, 50, pytest.approx(100_000))
    assert sum(one.requests for one in found.operations) == pytest.approx(12_500)
    changing = a_shipped("auto-scaling-late")
    assert changing.load.shape is not None
    assert total_load(changing) is None
