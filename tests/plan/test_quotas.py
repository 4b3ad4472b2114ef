"""What a scenario asks for by its numbers: quotas, the hottest key, a trace's rows, a load of days."""

from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.evidence.table import account_quotas
from keyheat.plan import totals
from keyheat.plan.plan import plan_run
from keyheat.plan.prices import load_prices
from keyheat.plan.quotas import DEFAULT_QUOTAS, hottest_shard, over_quota, quotas_of, shards_needed
from keyheat.words import READ, WRITE
from tests.endpoint.clients import unasked_client
from tests.make import a_scenario, a_shipped

ANSWER = {
    "AccountMaxReadCapacityUnits": 80_000,
    "AccountMaxWriteCapacityUnits": 5_000,
    "TableMaxReadCapacityUnits": 40_000,
    "TableMaxWriteCapacityUnits": 3_000,
}


def test_a_table_counts_together_with_its_indexes() -> None:
    (table, account) = over_quota(a_shipped("country-index"), quotas_of(ANSWER))
    assert table.startswith("table keyheat-country-index with its indexes needs 8,000 WCU/s")
    assert "the quota of a table is 3,000" in table
    assert "tables need 8,000 WCU/s, and the quota of the account is 5,000" in account


def test_the_account_counts_all_tables_of_the_scenario() -> None:
    more = quotas_of(ANSWER | {"TableMaxWriteCapacityUnits": 4_000})
    (account,) = over_quota(a_shipped("table-per-period"), more)
    assert "8,000 WCU/s" in account


def test_what_the_timeline_asks_for_counts() -> None:
    raised = a_shipped("hotkey", timeline=[{"at_s": 10, "provisioned": {"write": 50_000}}])
    (table,) = over_quota(raised, DEFAULT_QUOTAS)
    assert "50,000 WCU/s, and the quota of a table is 40,000" in table


def test_maxima_and_warm_throughput_are_bound_by_the_quota_of_a_table() -> None:
    table = {"warm": {"write": 60_000}, "max_on_demand": {"read": 50_000}}
    asked = a_shipped("pre-warmed", table=table, timeline=[])
    maximum, warm = sorted(over_quota(asked, DEFAULT_QUOTAS))
    assert "a maximum of 50,000 RCU/s" in maximum
    assert "warm throughput of 60,000 WCU/s" in warm


def test_quotas_that_are_not_told_are_unknown() -> None:
    client = unasked_client("dynamodb")
    with Stubber(client) as stub:
        stub.add_client_error("describe_limits", "AccessDeniedException", "no")
        found = account_quotas(lambda _service: client)
    assert found.source == "unknown"
    assert "(AccessDeniedException) when calling the DescribeLimits operation" in str(found.problem)


def test_the_demand_of_a_trace_is_that_of_its_rows(tmp_path: Path) -> None:
    rows = ["time,operation,key,size_bytes", "0.0,put,hot,2000", "0.5,put,hot,100", "1.0,delete,cold,"]
    rows += ["2.0,get,hot,5000", "9.0,put,late,100"]
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "mine.csv").write_text("\n".join(rows))
    keys = {"trace": "traces/mine.csv", "speed": 2.0}
    made = a_shipped("replay", keys=keys, load={"duration_s": 4.0})
    plan = plan_run(made, load_prices(), margin=1.5, folder=tmp_path)
    assert (plan.target.total, plan.target.peak_per_s) == (4, 3)  # twice as fast; the last is too late
    assert hottest_shard(made) is None
    # The second put replaces 2,000 bytes, and the get finds the 100 that it leaves.
    assert {key.direction: side.total() for key, side in plan.sent.sides.items()} == {WRITE: 5, READ: 0.5}


@pytest.mark.parametrize(
    ("keys", "share"),
    [
        ({"kind": "uniform", "keys": 8}, 1 / 8),
        ({"kind": "uniform", "keys": 1_000_000}, 1e-6),
        ({"kind": "hot_key", "share": 0.0, "keys": 10}, 0.1),
        ({"kind": "hot_set", "share": 0.8, "hot_keys": 4}, 0.2),
        ({"kind": "hot_key", "share": 0.8, "keys": 10, "shards": 4}, 0.2),
        ({"kind": "hot_set", "share": 0.1, "hot_keys": 100, "keys": 10}, 0.09),
        ({"kind": "zipf", "exponent": 1.0, "keys": 3}, 6 / 11),
        ({"kind": "date", "day_s": 5}, 1.0),
        ({"kind": "sequential"}, 0.0),
    ],
)
def test_the_share_of_a_shard_of_the_hottest_key_is_known(keys: dict[str, Any], share: float) -> None:
    scenario = a_scenario(keys=keys)
    peak_per_s = scenario.load.rate_shape().highest_per_s * scenario.load.mean_write_units
    assert hottest_shard(scenario) == (WRITE, pytest.approx(peak_per_s * share))


@pytest.mark.parametrize(
    ("units", "margin", "shards"),
    [(0, 1.0, 1), (1_000, 1.0, 1), (1_001, 1.0, 2), (1_800, 1.5, 3), (4_000, 1.0, 4), (1e12, 1.0, 100_000)],
)
def test_the_formula(units: float, margin: float, shards: int) -> None:
    assert shards_needed(units, 1_000, margin) == shards


def test_a_load_of_days_goes_on_as_its_first_hour_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "LONGEST_S", 49)
    monkeypatch.setattr(totals, "FIRST_S", 20)
    scenario = a_shipped("hotkey")  # 50 s
    found = totals.total_load(scenario)
    (asked,) = found.sides.values()
    assert (found.duration_s, len(asked.per_s), asked.total()) == (50.0, 50, pytest.approx(100_000))
    assert sum(one.requests for one in found.operations) == pytest.approx(12_500)
    changing = a_shipped("auto-scaling-late")
    assert changing.load.shape is not None
    assert totals.total_load(changing) is None
