"""UpdateTable: what changes, when, and how often it may."""

import pytest

from tests.endpoint.account import NOON_S, Account, attributes, index, indexed, on_demand, units

HOUR_S = 3_600.0
DAY_S = 86_400.0
MIDNIGHT_S = NOON_S - 12 * HOUR_S


def make_index(**changes):
    return {
        "AttributeDefinitions": attributes("pk", "city"),
        "GlobalSecondaryIndexUpdates": [{"Create": index(**changes)}],
    }


def index_units(read, write, name="by_city"):
    """What changes the capacity of an index."""
    update = {"IndexName": name, "ProvisionedThroughput": units(read, write)}
    return {"GlobalSecondaryIndexUpdates": [{"Update": update}]}


DROP_INDEX = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by_city"}}]}


def throughput(description):
    shown = description["ProvisionedThroughput"]
    return shown["ReadCapacityUnits"], shown["WriteCapacityUnits"]


def decreases(description):
    return description["ProvisionedThroughput"]["NumberOfDecreasesToday"]


def test_capacity_changes_when_the_update_ends():
    account = Account(update_s=30.0)
    account.create()
    updating = account.update(ProvisionedThroughput=units(10, 20))
    assert updating["TableStatus"] == "UPDATING"
    assert throughput(updating) == (5, 5)
    account.clock.advance(29.9)
    assert throughput(account.describe()) == (5, 5)
    account.clock.advance(0.1)
    described = account.describe()
    assert described["TableStatus"] == "ACTIVE"
    assert (throughput(described), decreases(described)) == ((10, 20), 0)
    assert described["ProvisionedThroughput"]["LastIncreaseDateTime"] == NOON_S
    assert account.service.catalog.get("orders").model.capacity.provisioned.write == 20


@pytest.mark.parametrize(
    ("operation", "more"), [("UpdateTable", {"TableClass": "STANDARD"}), ("DeleteTable", {})]
)
def test_a_table_that_is_changing_is_in_use(operation, more):
    account = Account(create_s=5.0, update_s=5.0)
    account.create()
    creating = account.refusal(operation, TableName="orders", **more)
    account.clock.advance(5.0)
    account.update(ProvisionedThroughput=units(6, 6))
    updating = account.refusal(operation, TableName="orders", **more)
    for refusal, doing in ((creating, "created"), (updating, "updated")):
        assert refusal.code == "ResourceInUseException"
        assert refusal.message.endswith(f"Table is being {doing}: orders")


def test_four_decreases_come_free_and_then_one_an_hour():
    account = Account()
    account.clock.now_s = MIDNIGHT_S
    account.create(ProvisionedThroughput=units(100, 100))
    for write in (99, 98, 97, 96):
        account.update(ProvisionedThroughput=units(100, write))
    account.clock.advance(HOUR_S - 1)
    refusal = account.refusal("UpdateTable", TableName="orders", ProvisionedThroughput=units(100, 95))
    assert refusal.code == "LimitExceededException"
    assert "Number of decreases today: 4." in refusal.message
    assert refusal.message.endswith("Next decrease can be made at Friday, November 20, 2026 1:00:00 AM UTC")
    account.clock.advance(1)
    for write in range(95, 72, -1):
        account.update(ProvisionedThroughput=units(100, write))
        account.clock.advance(HOUR_S)
    assert decreases(account.describe()) == 0, "another day"
    account.update(ProvisionedThroughput=units(100, 1))


@pytest.mark.parametrize(
    ("on_demand_at_first", "switches"), [(False, 4), (True, 3)], ids=["provisioned", "on demand"]
)
def test_a_table_goes_to_on_demand_four_times_in_24_hours_and_its_creation_counts(
    on_demand_at_first, switches
):
    account = Account()
    account.call("CreateTable", **on_demand()) if on_demand_at_first else account.create()
    for switch in range(switches):
        if switch or on_demand_at_first:
            account.clock.advance(60.0)
            account.update(BillingMode="PROVISIONED", ProvisionedThroughput=units(5, 5))
        account.update(BillingMode="PAY_PER_REQUEST")
    account.update(BillingMode="PROVISIONED", ProvisionedThroughput=units(5, 5))
    refusal = account.refusal("UpdateTable", TableName="orders", BillingMode="PAY_PER_REQUEST")
    assert refusal.code == "LimitExceededException"
    assert "Update to PayPerRequest mode are limited to 4 times in 1 day(s)" in refusal.message
    account.clock.advance(DAY_S - 180.0)
    account.update(BillingMode="PAY_PER_REQUEST")


def test_a_switch_of_mode_shows_in_the_description_and_in_the_model():
    account = Account()
    account.create(**indexed())
    account.update(BillingMode="PAY_PER_REQUEST")
    described = account.describe()
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert throughput(described) == (0, 0)
    assert described["WarmThroughput"]["WriteUnitsPerSecond"] == 4_000
    assert not account.service.catalog.get("orders").provisioned
    back = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(7, 7)}
    without_index = account.refusal("UpdateTable", TableName="orders", **back)
    assert "ProvisionedThroughput is not specified for index: by_city" in without_index.message
    account.update(**back, **index_units(6, 6))
    described = account.describe()
    assert throughput(described) == (7, 7)
    assert throughput(described["GlobalSecondaryIndexes"][0]) == (6, 6)
    assert described["WarmThroughput"]["WriteUnitsPerSecond"] == 4_000


def test_warm_throughput_is_raised_and_never_lowered():
    account = Account()
    account.call("CreateTable", **on_demand())
    account.update(WarmThroughput={"WriteUnitsPerSecond": 8_000})
    warm = account.describe()["WarmThroughput"]
    assert (warm["ReadUnitsPerSecond"], warm["WriteUnitsPerSecond"]) == (12_000, 8_000)
    less = {"WarmThroughput": {"WriteUnitsPerSecond": 7_999}}
    refusal = account.refusal("UpdateTable", TableName="orders", **less)
    assert refusal.message.endswith("current WarmThroughput, decreasing WarmThroughput is not supported")


def test_a_new_index_is_creating_backfilling_and_then_active_and_a_dropped_one_deleting_and_then_gone():
    account = Account(update_s=30.0)
    account.create()
    [creating] = account.update(**make_index(ProvisionedThroughput=units(2, 3)))["GlobalSecondaryIndexes"]
    assert (creating["IndexStatus"], creating["Backfilling"]) == ("CREATING", True)
    account.clock.advance(30.0)
    [made] = account.describe()["GlobalSecondaryIndexes"]
    assert (made["IndexStatus"], throughput(made)) == ("ACTIVE", (2, 3))
    assert account.describe()["AttributeDefinitions"] == attributes("pk", "city")
    assert account.service.catalog.get("orders").model.partition_count("by_city") == 1
    assert account.update(**DROP_INDEX)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    account.clock.advance(30.0)
    described = account.describe()
    assert "GlobalSecondaryIndexes" not in described
    assert described["AttributeDefinitions"] == attributes("pk")


def test_an_on_demand_maximum_is_set_side_by_side_and_taken_away_with_minus_one():
    account = Account()
    account.call("CreateTable", **on_demand())
    account.update(OnDemandThroughput={"MaxReadRequestUnits": 10})
    account.update(OnDemandThroughput={"MaxWriteRequestUnits": 20})
    both = {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 20}
    assert account.describe()["OnDemandThroughput"] == both
    account.update(OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1})
    assert "OnDemandThroughput" not in account.describe()
