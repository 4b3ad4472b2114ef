"""Tables are created, described, listed and deleted as the service does it."""

import pytest

from keyheat.endpoint.errors import ServiceError
from tests.endpoint.account import BOTH, NOON_S, Account, attributes, index, local, on_demand, table, units

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"


@pytest.fixture
def account():
    """An account with a provisioned table `orders`."""
    account = Account()
    account.create()
    return account


def test_an_on_demand_table_starts_with_the_published_warm_throughput():
    account = Account()
    account.call("CreateTable", **on_demand(OnDemandThroughput={"MaxWriteRequestUnits": 50}))
    described = account.describe()
    assert described["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": NOON_S,
    }
    assert described["ProvisionedThroughput"] == units(0, 0) | {"NumberOfDecreasesToday": 0}
    assert described["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 50}
    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}
    assert described["WarmThroughput"] == warm


def test_items_of_a_table_being_created_or_deleted_are_not_found():
    account = Account(create_s=5.0, delete_s=5.0)
    catalog = account.service.catalog

    def check_hidden(*names):
        for name in names:
            with pytest.raises(ServiceError, match="not found"):
                catalog.get(name)

    check_hidden("orders")
    account.create()
    check_hidden("orders")
    account.clock.advance(5.0)
    assert catalog.get("orders") is catalog.get(ARN)
    account.call("DeleteTable", TableName="orders")
    check_hidden("orders", ARN)
    account.clock.advance(5.0)
    assert catalog.names() == []


def test_a_protected_table_stays_until_the_protection_is_taken_away():
    account = Account()
    account.create(DeletionProtectionEnabled=True)
    refusal = account.refusal("DeleteTable", TableName="orders")
    assert refusal.code == "ValidationException"
    assert "protected against deletion" in refusal.message
    account.update(DeletionProtectionEnabled=False)
    account.call("DeleteTable", TableName="orders")
    assert account.call("ListTables")["TableNames"] == []


def test_tables_are_listed_in_pages():
    account = Account()
    for name in ("cc-c", "aa-a", "bb-b"):
        account.create(name)
    first = account.call("ListTables", Limit=2)
    assert first == {"TableNames": ["aa-a", "bb-b"], "LastEvaluatedTableName": "bb-b"}
    rest = account.call("ListTables", Limit=2, ExclusiveStartTableName="bb-b")
    assert rest == {"TableNames": ["cc-c"]}


def test_recovery_to_a_point_in_time_is_kept_and_shown(account):
    def shown(operation, **request):
        answer = account.call(operation, TableName="orders", **request)["ContinuousBackupsDescription"]
        assert answer["ContinuousBackupsStatus"] == "ENABLED"  # on every table
        return answer["PointInTimeRecoveryDescription"]

    def turn(on, **more):
        wanted = {"PointInTimeRecoveryEnabled": on, **more}
        return shown("UpdateContinuousBackups", PointInTimeRecoverySpecification=wanted)

    off = {"PointInTimeRecoveryStatus": "DISABLED"}
    assert shown("DescribeContinuousBackups") == off
    assert turn(True)["RecoveryPeriodInDays"] == 35
    assert turn(True, RecoveryPeriodInDays=7)["RecoveryPeriodInDays"] == 7
    assert shown("DescribeContinuousBackups")["PointInTimeRecoveryStatus"] == "ENABLED"
    assert turn(False) == off
    missing = account.refusal("DescribeContinuousBackups", TableName="nobody")
    assert missing.code == "TableNotFoundException"


def test_time_to_live_is_kept_and_shown(account):
    def specified(enabled, attribute="expires"):
        wanted = {"Enabled": enabled, "AttributeName": attribute}
        return {"TableName": "orders", "TimeToLiveSpecification": wanted}

    def shown():
        return account.call("DescribeTimeToLive", TableName="orders")["TimeToLiveDescription"]

    assert shown() == {"TimeToLiveStatus": "DISABLED"}
    account.call("UpdateTimeToLive", **specified(True))
    assert shown() == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    active = "TimeToLive is active on a different AttributeName: current AttributeName is expires"
    for request, message in (
        (specified(True), "TimeToLive is already enabled"), (specified(False, "other"), active),
    ):  # fmt: skip
        assert account.refusal("UpdateTimeToLive", **request).message == message
    account.call("UpdateTimeToLive", **specified(False))
    assert account.refusal("UpdateTimeToLive", **specified(False)).message.endswith("already disabled")


def test_tags_are_added_replaced_taken_away_and_listed_in_pages(account):
    tags = [{"Key": f"k{number:02}", "Value": "a"} for number in range(12)]
    account.call("TagResource", ResourceArn=ARN, Tags=tags)
    account.call("TagResource", ResourceArn=ARN, Tags=[{"Key": "k00", "Value": "b"}])
    account.call("UntagResource", ResourceArn=ARN, TagKeys=["k11", "never there"])
    first = account.call("ListTagsOfResource", ResourceArn=ARN)
    assert first["Tags"][0] == {"Key": "k00", "Value": "b"}
    rest = account.call("ListTagsOfResource", ResourceArn=ARN, NextToken=first["NextToken"])
    assert [tag["Key"] for tag in first["Tags"] + rest["Tags"]] == [f"k{number:02}" for number in range(11)]
    assert "NextToken" not in rest


def test_all_provisioned_tables_together_have_a_quota():
    account = Account()
    for name in ("aaa", "bbb"):
        account.create(name, ProvisionedThroughput=units(40_000, 1))
    refusal = account.refusal("CreateTable", **table("ccc", ProvisionedThroughput=units(1, 1)))
    assert refusal.code == "LimitExceededException"
    assert "ReadCapacityUnits of 80001 for the account" in refusal.message


def test_a_provisioned_table_is_described_in_full():
    account = Account()
    keys = {"AttributeDefinitions": attributes("pk", "sk"), "KeySchema": BOTH}
    kept = {"Enabled": True, "SSEType": "KMS"}
    account.create(**keys, ProvisionedThroughput=units(7, 8), SSESpecification=kept)
    described = account.describe()
    assert described.pop("SSEDescription")["Status"] == "ENABLED"
    assert len(described.pop("TableId")) == 36
    assert described == {
        "TableName": "orders",
        "TableArn": ARN,
        "TableStatus": "ACTIVE",
        "CreationDateTime": NOON_S,
        **keys,
        "ItemCount": 0,
        "TableSizeBytes": 0,
        "ProvisionedThroughput": units(7, 8) | {"NumberOfDecreasesToday": 0},
        "WarmThroughput": {"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 8, "Status": "ACTIVE"},
        "DeletionProtectionEnabled": False,
    }


def test_indexes_are_described_with_their_own_capacity():
    account = Account()
    by_day = local(Projection={"ProjectionType": "KEYS_ONLY"})
    include = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}
    account.create(
        AttributeDefinitions=attributes("pk", "sk", "day", "city"),
        KeySchema=BOTH,
        LocalSecondaryIndexes=[by_day],
        GlobalSecondaryIndexes=[index(Projection=include, ProvisionedThroughput=units(3, 4))],
    )
    described, empty = account.describe(), {"ItemCount": 0, "IndexSizeBytes": 0}
    assert described["LocalSecondaryIndexes"] == [by_day | {"IndexArn": f"{ARN}/index/by_day"} | empty]
    capacity = {
        "IndexStatus": "ACTIVE",
        "ProvisionedThroughput": units(3, 4) | {"NumberOfDecreasesToday": 0},
        "WarmThroughput": {"ReadUnitsPerSecond": 3, "WriteUnitsPerSecond": 4, "Status": "ACTIVE"},
    }
    assert described["GlobalSecondaryIndexes"] == [
        index(Projection=include) | {"IndexArn": f"{ARN}/index/by_city"} | empty | capacity
    ]
