"""A recording endpoint: what was asked of its tables, through boto3, and the checks that stand on it."""

from collections.abc import Iterator
from math import nan
from typing import Any

import pytest

import keyheat
from keyheat.endpoint.process import EndpointProcess
from keyheat.testing.local import LocalDynamoDB
from tests.endpoint.account import attributes, index, schema, table, units
from tests.endpoint.clients import client

pytestmark = pytest.mark.opens

Put = dict[str, Any]
LARGE = "x" * 390_000  # 381 units


@pytest.fixture(scope="module")
def process() -> Iterator[LocalDynamoDB]:
    with EndpointProcess.start(more=("--record",)) as running:
        yield LocalDynamoDB(running.url)


@pytest.fixture
def local(process: LocalDynamoDB) -> Iterator[LocalDynamoDB]:
    process.begin()
    yield process
    process.clear()


@pytest.fixture
def ddb(local: LocalDynamoDB) -> Any:
    return client("dynamodb", local.url)


def create(ddb: Any, name: str = "orders", **more: Any) -> None:
    """A table with a day and an order in its key, and an index by customer."""
    capacity = {"ProvisionedThroughput": units(500, 4_000)}
    keys = {"KeySchema": schema("day", "no"), "AttributeDefinitions": attributes("day", "no", "customer")}
    indexes = [index("by-customer", "customer", **capacity)]
    ddb.create_table(**table(name, **keys, **capacity, GlobalSecondaryIndexes=indexes, **more))


def item(no: int, **more: str) -> Put:
    return {name: {"S": text} for name, text in {"day": "monday", "no": f"{no}", **more}.items()}


def test_every_kind_of_request_is_recorded_with_its_key_and_units(ddb: Any, local: LocalDynamoDB) -> None:
    create(ddb)
    ddb.put_item(TableName="orders", Item=item(1, customer="ann"))
    ddb.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": item(2)}}]})
    ddb.transact_write_items(TransactItems=[{"Put": {"TableName": "orders", "Item": item(3)}}])
    ddb.get_item(TableName="orders", Key=item(1), ConsistentRead=True)
    ddb.query(
        TableName="orders",
        IndexName="by-customer",
        KeyConditionExpression="customer = :c",
        ExpressionAttributeValues={":c": {"S": "ann"}},
    )
    found = {
        (row["direction"], row["index"], row["eventual"], row["entry"]): (
            row["name"],
            row["requests"],
            row["units"],
        )
        for row in local.recorded("orders")
    }
    assert found == {
        ("write", None, False, False): ("monday", 3, 4.0),  # a transaction writes twice
        ("write", "by-customer", False, True): ("ann", 1, 1.0),
        ("read", None, False, False): ("monday", 1, 1.0),
        ("read", "by-customer", True, False): ("ann", 1, 0.5),
    }
    asked = local.requests()
    assert asked["PutItem"] == 1
    assert sum(row["accepted"] for row in local.decisions("orders")) == 6, "an entry is one of its own"


def test_another_region_is_told_apart_and_cleared_too(ddb: Any, local: LocalDynamoDB) -> None:
    there = client("dynamodb", local.url, region="eu-west-1")
    arn = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
    create(ddb)
    create(there, DeletionProtectionEnabled=True)
    assert local.tables() == (arn, "orders")
    there.put_item(TableName="orders", Item=item(1))
    assert (len(local.recorded("orders")), len(local.recorded(arn))) == (0, 1)
    local.assert_no_throttles(table=arn)
    local.assert_no_hot_partition(requests_per_s=900)  # of the only table that was asked for anything
    with pytest.raises(keyheat.CheckFailed, match=rf"requests of this test to {arn}"):
        local.assert_no_hot_partition(requests_per_s=2_000)
    puts = [{"PutRequest": {"Item": item(no, lines=LARGE)}} for no in range(10, 22)]
    there.batch_write_item(RequestItems={"orders": puts})
    with pytest.raises(keyheat.CheckFailed, match=f"requests to {arn} met"):
        local.assert_no_throttles()
    assert sum(row["accepted"] for row in local.decisions("orders")) == 0
    assert sum(row["accepted"] for row in local.decisions(arn)) > 0
    kept = local.snapshot()
    local.clear()
    assert local.tables() == ()
    local.restore(kept)
    assert there.get_item(TableName="orders", Key=item(1))["Item"] == item(1)


def test_one_key_is_too_hot_in_earnest_and_one_partition_takes_less(ddb: Any, local: LocalDynamoDB) -> None:
    create(ddb)
    for no in range(10):
        ddb.put_item(TableName="orders", Item=item(no))
    local.assert_no_throttles()
    local.assert_no_hot_partition(requests_per_s=900)
    with pytest.raises(keyheat.CheckFailed, match="one key, “monday”, asked for 2,000 WCU/s") as caught:
        local.assert_no_hot_partition(requests_per_s=2_000, show_keys=True)
    assert "hottest key monday, 100 %" in str(caught.value)
    assert "the 10 requests of this test to orders, 2,000 a second" in str(caught.value)
    keyheat.assert_units_per_operation(local.sent(100), at_most=1)
    with pytest.raises(ValueError, match="not nan/s for 60 s"):
        local.assert_no_hot_partition(requests_per_s=nan)
    with pytest.raises(ValueError, match="a share from 0 to 1, not nan"):
        local.assert_no_throttles(at_most=nan)
    with pytest.raises(ValueError, match="recorded requests"):
        keyheat.assert_shards_suffice(local.sent(100), shards=2)
    with pytest.raises(TypeError, match="keys cannot be given"):
        keyheat.assert_no_throttles(local.sent(100), keys={"kind": "uniform"})


def test_a_test_begins_with_no_tables_and_no_requests(ddb: Any, local: LocalDynamoDB) -> None:
    assert local.tables() == ()
    local.assert_no_throttles()
    create(ddb, DeletionProtectionEnabled=True)
    create(ddb, "others")
    ddb.put_item(TableName="orders", Item=item(1))
    ddb.put_item(TableName="others", Item=item(1))
    with pytest.raises(ValueError, match=r"which table\? .* orders, others"):
        local.sent(100)
    assert local.sent(100, table="others").scenario.table.name == "others"
    with pytest.raises(ValueError, match="table nothing was asked for nothing"):
        local.assert_no_throttles(table="nothing")
    with pytest.raises(ValueError, match="not 0/s for 60 s"):
        local.sent(0)
    local.clear()
    local.begin()
    assert local.tables() == ()
    assert local.recorded("orders") == ()
    assert local.requests() == {}
