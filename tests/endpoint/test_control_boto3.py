"""Tables as users of boto3 handle them: waiters, paginators, the resource API, errors by class."""

import boto3
import pytest
from botocore.stub import ANY

from tests.endpoint.account import attributes, index, indexed, on_demand, table, units
from tests.endpoint.clients import service_app_at

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"


@pytest.fixture
def app():
    return service_app_at()


@pytest.fixture
def resource(app):
    """boto3's resource API, over the client of the service in this process."""
    identity = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    made = boto3.resource("dynamodb", endpoint_url="http://in.process", region_name="us-east-1", **identity)
    made.meta.client._endpoint.http_session = app.ddb._endpoint.http_session
    return made


def test_waiters_see_a_table_come_and_go(app):
    at_once = {"TableName": "orders", "WaiterConfig": {"Delay": 0, "MaxAttempts": 2}}
    app.ddb.create_table(**table())
    app.ddb.get_waiter("table_exists").wait(**at_once)
    app.ddb.delete_table(TableName="orders")
    app.ddb.get_waiter("table_not_exists").wait(**at_once)


def test_the_paginator_lists_every_table_once(app):
    names = [f"t{number:03}" for number in range(105)]
    for name in reversed(names):
        app.ddb.create_table(**on_demand(name))
    pages = list(app.ddb.get_paginator("list_tables").paginate())
    assert [len(page["TableNames"]) for page in pages] == [100, 5]
    assert [name for page in pages for name in page["TableNames"]] == names


def test_the_paginator_lists_every_tag_once(app):
    app.ddb.create_table(**table(Tags=[{"Key": f"{number:02}", "Value": "x"} for number in range(25)]))
    pages = app.ddb.get_paginator("list_tags_of_resource").paginate(ResourceArn=ARN)
    assert [tag["Key"] for page in pages for tag in page["Tags"]] == [f"{number:02}" for number in range(25)]


def test_times_are_read_as_times_and_numbers_as_numbers(app):
    app.ddb.create_table(**on_demand(**indexed(index(ProvisionedThroughput=None))))
    described = app.ddb.describe_table(TableName="orders")["Table"]
    assert described["CreationDateTime"].timestamp() == app.clock.now_s
    assert described["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"].timestamp() == app.clock.now_s
    assert type(described["GlobalSecondaryIndexes"][0]["WarmThroughput"]["WriteUnitsPerSecond"]) is int


@pytest.mark.parametrize(
    ("name", "call", "request_"),
    [
        ("ResourceInUseException", "create_table", table()),
        ("ResourceNotFoundException", "describe_table", {"TableName": "nowhere"}),
        ("ResourceNotFoundException", "delete_table", {"TableName": "nowhere"}),
        ("LimitExceededException", "create_table", table("other", ProvisionedThroughput=units(1, 50_000))),
    ],
)
def test_errors_are_caught_by_their_class(app, name, call, request_):
    app.ddb.create_table(**table())
    with pytest.raises(getattr(app.ddb.exceptions, name)):
        getattr(app.ddb, call)(**request_)


def test_the_resource_api_creates_fills_and_reads_a_table(resource):
    orders = resource.create_table(**table(ProvisionedThroughput=units(100, 100)))
    orders.wait_until_exists()
    with orders.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": f"k{number}", "n": number})
    orders.reload()
    assert (orders.table_status, orders.item_count) == ("ACTIVE", 60)
    assert orders.table_size_bytes > 0
    assert orders.get_item(Key={"pk": "k7"})["Item"] == {"pk": "k7", "n": 7}
    assert orders.scan()["Count"] == 60
    assert [made.name for made in resource.tables.all()] == ["orders"]


def test_an_index_made_later_holds_the_items_that_were_there(app):
    app.ddb.create_table(**table(ProvisionedThroughput=units(100, 100)))
    for number in range(3):
        item = {"pk": {"S": f"k{number}"}} | ({"city": {"S": "Oslo"}} if number else {})
        app.ddb.put_item(TableName="orders", Item=item)
    create = {"GlobalSecondaryIndexUpdates": [{"Create": index()}]}
    app.ddb.update_table(TableName="orders", AttributeDefinitions=attributes("pk", "city"), **create)
    [made] = app.ddb.describe_table(TableName="orders")["Table"]["GlobalSecondaryIndexes"]
    assert (made["IndexStatus"], made["ItemCount"]) == ("ACTIVE", 2)
    of_oslo = {"KeyConditionExpression": "city = :c", "ExpressionAttributeValues": {":c": {"S": "Oslo"}}}
    found = app.ddb.query(TableName="orders", IndexName="by_city", **of_oslo)
    assert {item["pk"]["S"] for item in found["Items"]} == {"k1", "k2"}


def test_endpoints_can_be_discovered_and_limits_asked(app):
    assert app.ddb.describe_endpoints()["Endpoints"] == [{"Address": ANY, "CachePeriodInMinutes": 1_440}]
    assert app.ddb.describe_limits()["TableMaxWriteCapacityUnits"] == 40_000
