"""Tables as users of boto3 handle them: errors by class, indexes made later, limits."""

import pytest
from botocore.stub import ANY

from tests.endpoint.account import attributes, index, table, units
from tests.endpoint.clients import service_app_at


@pytest.fixture
def app():
    return service_app_at()


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
