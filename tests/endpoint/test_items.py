"""PutItem, GetItem, UpdateItem and DeleteItem, as boto3 sees them."""

from typing import Any

import pytest

from tests.endpoint.ordering import first_refused, key, refused, small

KEY = key("a", 1)


def test_returned_values(orders: Any) -> None:
    def update(wish: str) -> Any:
        add = {
            "UpdateExpression": "SET n = if_not_exists(n, :zero) + :one",
            "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
        }
        return orders.update_item(TableName="orders", Key=KEY, **add, ReturnValues=wish).get("Attributes")

    assert update("ALL_OLD") is None
    assert update("UPDATED_OLD") == {"n": {"N": "1"}}
    assert update("ALL_NEW") == {**KEY, "n": {"N": "3"}}
    assert update("UPDATED_NEW") == {"n": {"N": "4"}}
    assert update("NONE") is None
    put = orders.put_item(TableName="orders", Item=KEY, ReturnValues="ALL_OLD")
    assert put["Attributes"] == {**KEY, "n": {"N": "5"}}
    deleted = orders.delete_item(TableName="orders", Key=KEY, ReturnValues="ALL_OLD")
    assert deleted["Attributes"] == KEY
    assert "Attributes" not in orders.delete_item(TableName="orders", Key=KEY, ReturnValues="ALL_OLD")


def test_a_failed_condition_shows_the_item_and_is_billed(service_app: Any) -> None:
    ddb = small(service_app)
    ddb.put_item(TableName="small", Item={"pk": {"S": "a"}, "x": {"S": "x" * 2000}})
    model = service_app.service.catalog.get("small").model
    before = model.decisions()
    absent = {"ConditionExpression": "attribute_not_exists(pk)"}
    more = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    error = refused(ddb.put_item, TableName="small", Item={"pk": {"S": "a"}}, **absent, **more)
    assert error["Error"]["Code"] == "ConditionalCheckFailedException"
    assert error["Item"]["pk"] == {"S": "a"}
    spent = sum(row["consumed"] for row in model.decisions()) - sum(row["consumed"] for row in before)
    assert spent == 2.0


@pytest.mark.parametrize("level", ["TOTAL", "INDEXES"])
def test_consumed_capacity_has_table_and_index_parts(orders: Any, level: str) -> None:
    item = {**KEY, "g": {"S": "g"}, "l": {"S": "l"}, "x": {"S": "x" * 1500}}
    told = orders.put_item(TableName="orders", Item=item, ReturnConsumedCapacity=level)["ConsumedCapacity"]
    assert told["CapacityUnits"] == 5.0
    if level == "TOTAL":
        assert told.keys() == {"TableName", "CapacityUnits"}
    else:
        assert told["Table"] == {"CapacityUnits": 2.0}
        assert told["GlobalSecondaryIndexes"] == {"by_group": {"CapacityUnits": 2.0}}
        assert told["LocalSecondaryIndexes"] == {"local": {"CapacityUnits": 1.0}}


def test_a_moved_index_entry_costs_two_writes(orders: Any) -> None:
    orders.put_item(TableName="orders", Item={**KEY, "g": {"S": "one"}})
    move = {"UpdateExpression": "SET g = :g", "ExpressionAttributeValues": {":g": {"S": "two"}}}
    answer = orders.update_item(TableName="orders", Key=KEY, **move, ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"by_group": {"CapacityUnits": 2.0}}


def test_a_refused_write_leaves_no_trace(service_app: Any) -> None:
    ddb = small(service_app)
    number, error = first_refused(
        lambda number: ddb.put_item(
            TableName="small", Item={"pk": {"S": str(number)}, "x": {"S": "x" * 200_000}}
        )
    )
    assert error["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert error["ThrottlingReasons"][0]["reason"].startswith("TableWrite")
    assert "Item" not in ddb.get_item(TableName="small", Key={"pk": {"S": str(number)}})
