"""What a scenario is going to ask for: units, the hottest key, the formula's shards, dollars."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.plan.forecast import Forecast, forecast, shards_needed
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import load_scenario, scenario_from_dict

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"


def planned(name: str = "hotkey", **changes: dict[str, Any]) -> Forecast:
    """The plan of a shipped scenario, with changed fields in some of its parts."""
    raw = load_scenario(SCENARIOS / f"{name}.toml").model_dump(mode="json")
    for part, fields in changes.items():
        raw[part] = {name: value for name, value in (raw[part] | fields).items() if value is not None}
    return forecast(scenario_from_dict(raw, name), load_prices(), margin=1.5)


def test_a_hot_key_is_asked_for_more_than_its_partition_sustains() -> None:
    plan = planned()
    assert plan.requests is not None
    assert plan.write_units is not None
    assert (plan.requests.mean_per_s, plan.requests.total) == (250, 12_500)
    assert plan.write_units.peak_per_s == 2_000
    key = plan.hot_key
    assert key is not None
    assert (key.share, key.units_per_s, key.ceiling_per_s) == (0.9, 1_800, 1_000)
    assert (key.needed, key.needed_with_margin, key.over_ceiling) == (2, 3, True)


def test_shards_divide_the_hot_key() -> None:
    key = planned("sharded").hot_key
    assert key is not None
    assert (key.shards, key.shard_units_per_s, key.over_ceiling) == (20, 90, False)


def test_larger_items_cost_more_units_by_the_kilobyte() -> None:
    plan = planned(load={"item_bytes": 2_500})
    assert (plan.units_per_write, plan.units_per_read) == (3, 0.5)
    assert plan.write_units is not None
    assert plan.write_units.total == 37_500
    assert plan.hot_key is not None
    assert plan.hot_key.needed == 1


def test_a_target_in_units_needs_no_guess_what_a_request_is() -> None:
    plan = planned(load={"arrivals": "constant", "read_units_per_s": 5_000.0, "requests_per_s": None})
    assert plan.requests is None
    assert plan.write_units is None
    assert plan.read_units is not None
    assert plan.read_units.mean_per_s == 5_000
    assert plan.hot_key is not None
    assert plan.hot_key.ceiling_per_s == 3_000
    assert plan.on_demand_dollars == pytest.approx(5_000 * 50 * 0.125 / 1e6)


def test_the_peak_of_a_shape_decides_the_shards_and_its_mean_the_dollars() -> None:
    ramp = {"kind": "ramp", "from_per_s": 0.0, "to_per_s": 500.0}
    plan = planned(load={"shape": ramp})
    assert (plan.target.mean_per_s, plan.target.peak_per_s, plan.target.total) == (250, 500, 12_500)
    assert plan.hot_key is not None
    assert plan.hot_key.units_per_s == 3_600
    assert plan.on_demand_dollars == pytest.approx(0.0625)


def test_a_scaled_local_table_has_scaled_limits() -> None:
    plan = planned(local={"scale": 0.1})
    assert plan.hot_key is not None
    assert plan.hot_key.ceiling_per_s == 100


def test_dollars_are_those_of_the_run() -> None:
    plan = planned()
    assert plan.on_demand_dollars == pytest.approx(0.0625)
    assert plan.provisioned_dollars == pytest.approx((4_000 * 0.00065 + 500 * 0.00013) * 50 / 3600)


def test_a_trace_is_added_up_row_by_row(tmp_path: Path) -> None:
    rows = ["time,operation,key,size_bytes"]
    rows += [
        "0.0,put,hot,2000",
        "0.5,put,hot,100",
        "1.0,delete,cold,",
        "2.0,get,hot,5000",
        "9.0,put,late,100",
    ]
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "mine.csv").write_text("\n".join(rows))
    raw = load_scenario(SCENARIOS / "replay.toml").model_dump(mode="json")
    raw["keys"] |= {"trace": "traces/mine.csv", "speed": 2.0}
    raw["load"]["duration_s"] = 4.0
    plan = forecast(scenario_from_dict(raw, "replay"), load_prices(), margin=1.5, folder=tmp_path)
    assert plan.requests is not None
    assert (plan.requests.total, plan.requests.peak_per_s) == (4, 3)  # twice as fast; the last is too late
    assert plan.write_units is not None
    assert plan.read_units is not None
    assert (plan.write_units.total, plan.read_units.total) == (4, 1)
    assert plan.hot_key is not None
    assert plan.hot_key.share == 0.75
    assert plan.on_demand_dollars == pytest.approx((4 * 0.625 + 1 * 0.125) / 1e6)


@pytest.mark.parametrize(
    ("units", "margin", "shards"),
    [(0, 1.0, 1), (1_000, 1.0, 1), (1_001, 1.0, 2), (1_800, 1.5, 3), (4_000, 1.0, 4), (1e12, 1.0, 100_000)],
)
def test_the_formula(units: float, margin: float, shards: int) -> None:
    assert shards_needed(units, 1_000, margin) == shards
