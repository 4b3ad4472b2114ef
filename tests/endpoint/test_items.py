"""Writes that fail: what they tell, cost and leave behind. `test_dynoxide` has those that do not."""

from typing import Any

import pytest

from tests.endpoint.ordering import counted, first_refused, key, refused, small

KEY = key("a", 1)


@pytest.mark.parametrize(
    ("wish", "attributes"),
    [
        ("ALL_OLD", {**KEY, "n": {"N": "1"}, "x": {"S": "x"}}),
        ("UPDATED_OLD", {"n": {"N": "1"}}),
        ("ALL_NEW", {**KEY, "n": {"N": "2"}, "x": {"S": "x"}}),
        ("UPDATED_NEW", {"n": {"N": "2"}}),
        ("NONE", None),
    ],
)
def test_an_update_returns_what_is_wished_for(orders: Any, wish: str, attributes: Any) -> None:
    orders.put_item(TableName="orders", Item={**KEY, "n": {"N": "1"}, "x": {"S": "x"}})
    add = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    answer = orders.update_item(TableName="orders", Key=KEY, **add, ReturnValues=wish)
    assert answer.get("Attributes") == attributes


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
    assert counted(service_app, "ConditionalCheckFailedRequests") == 1.0


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
