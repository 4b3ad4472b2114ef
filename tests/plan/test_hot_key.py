"""The hottest key by a scenario's numbers, the formula's shards, and the demand that a plan states."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.plan.plan import plan_run
from keyheat.plan.prices import load_prices
from keyheat.plan.quotas import hot_key_of, shards_needed
from keyheat.words import READ, WRITE
from tests.make import a_scenario, a_shipped


def test_the_demand_of_a_trace_is_that_of_its_rows(tmp_path: Path) -> None:
    rows = ["time,operation,key,size_bytes", "0.0,put,hot,2000", "0.5,put,hot,100", "1.0,delete,cold,"]
    rows += ["2.0,get,hot,5000", "9.0,put,late,100"]
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "mine.csv").write_text("\n".join(rows))
    keys = {"trace": "traces/mine.csv", "speed": 2.0}
    made = a_shipped("replay", keys=keys, load={"duration_s": 4.0})
    plan = plan_run(made, load_prices(), margin=1.5, folder=tmp_path)
    assert (plan.target.total, plan.target.peak_per_s) == (4, 3)  # twice as fast; the last is too late
    assert plan.hot_key is None
    # The second put replaces 2,000 bytes, and the get finds the 100 that it leaves.
    assert {key.direction: side.total() for key, side in plan.sent.sides.items()} == {WRITE: 5, READ: 0.5}


@pytest.mark.parametrize(
    ("keys", "share"),
    [
        ({"kind": "uniform", "keys": 8}, 1 / 8),
        ({"kind": "uniform", "keys": 1_000_000}, 1e-6),
        ({"kind": "hot_key", "share": 0.0, "keys": 10}, 0.1),
        ({"kind": "hot_set", "share": 0.8, "hot_keys": 4}, 0.2),
        ({"kind": "hot_set", "share": 0.1, "hot_keys": 100, "keys": 10}, 0.09),
        ({"kind": "zipf", "exponent": 1.0, "keys": 3}, 6 / 11),
        ({"kind": "date", "day_s": 5}, 1.0),
        ({"kind": "sequential"}, 0.0),
    ],
)
def test_the_share_of_the_hottest_key_is_known(keys: dict[str, Any], share: float) -> None:
    key = hot_key_of(a_scenario(keys=keys))
    assert key is not None
    assert key.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("units", "margin", "shards"),
    [(0, 1.0, 1), (1_000, 1.0, 1), (1_001, 1.0, 2), (1_800, 1.5, 3), (4_000, 1.0, 4), (1e12, 1.0, 100_000)],
)
def test_the_formula(units: float, margin: float, shards: int) -> None:
    assert shards_needed(units, 1_000, margin) == shards
