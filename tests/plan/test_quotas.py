"""What AWS would refuse of a scenario, by the quotas of an account."""

from keyheat.plan.quotas import DEFAULT_QUOTAS, over_quota, quotas_of
from tests.make import a_shipped

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
