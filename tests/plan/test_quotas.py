"""What AWS would refuse of a scenario, by the quotas of an account."""

from pathlib import Path
from typing import Any

from keyheat.plan.quotas import DEFAULT_QUOTAS, over_quota, quotas_of
from keyheat.scenario.scenario import Scenario, load_scenario, scenario_from_dict
from keyheat.words import Capacity

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
ANSWER = {
    "AccountMaxReadCapacityUnits": 80_000,
    "AccountMaxWriteCapacityUnits": 5_000,
    "TableMaxReadCapacityUnits": 40_000,
    "TableMaxWriteCapacityUnits": 3_000,
}


def scenario(name: str, **table: Any) -> Scenario:
    raw = load_scenario(SCENARIOS / f"{name}.toml").model_dump(mode="json")
    raw["table"] |= table
    raw["timeline"] = []
    return scenario_from_dict(raw, name)


def test_an_answer_of_aws_is_read() -> None:
    found = quotas_of(ANSWER)
    assert (found.table, found.account) == (Capacity(40_000, 3_000), Capacity(80_000, 5_000))
    assert (found.source, found.problem) == ("account", None)


def test_a_table_counts_together_with_its_indexes() -> None:
    (table, account) = over_quota(load_scenario(SCENARIOS / "country-index.toml"), quotas_of(ANSWER))
    assert table.startswith("table keyheat-country-index with its indexes needs 8,000 WCU/s")
    assert "the quota of a table is 3,000" in table
    assert "tables need 8,000 WCU/s, and the quota of the account is 5,000" in account


def test_the_account_counts_all_tables_of_the_scenario() -> None:
    (account,) = over_quota(
        load_scenario(SCENARIOS / "table-per-period.toml"),
        quotas_of(ANSWER | {"TableMaxWriteCapacityUnits": 4_000}),
    )
    assert "8,000 WCU/s" in account


def test_what_the_timeline_asks_for_counts() -> None:
    raw = load_scenario(SCENARIOS / "hotkey.toml").model_dump(mode="json")
    raw["timeline"] = [{"at_s": 10, "provisioned": {"write": 50_000}}]
    (table,) = over_quota(scenario_from_dict(raw, "raised"), DEFAULT_QUOTAS)
    assert "50,000 WCU/s, and the quota of a table is 40,000" in table


def test_maxima_and_warm_throughput_are_bound_by_the_quota_of_a_table() -> None:
    asked = scenario("pre-warmed", warm={"write": 60_000}, max_on_demand={"read": 50_000})
    maximum, warm = sorted(over_quota(asked, DEFAULT_QUOTAS))
    assert "a maximum of 50,000 RCU/s" in maximum
    assert "warm throughput of 60,000 WCU/s" in warm
