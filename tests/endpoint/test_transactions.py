"""TransactWriteItems and TransactGetItems: all or nothing, and why not."""

from typing import Any

import pytest

from tests.endpoint.ordering import counted, first_refused, key, refused, small

ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}


@pytest.fixture(autouse=True)
def one_order(orders: Any) -> None:
    orders.put_item(TableName="orders", Item={**key("a", 1), "n": {"N": "1"}, "s": {"S": "text"}})


def put(sort: int, **more: Any) -> dict[str, Any]:
    return {"Put": {"TableName": "orders", "Item": key("a", sort), **more}}


def update(sort: int, expression: str) -> dict[str, Any]:
    update = {"UpdateExpression": expression, "ExpressionAttributeValues": {":v": {"N": "1"}}}
    return {"Update": {"TableName": "orders", "Key": key("a", sort), **update}}


def check(sort: int) -> dict[str, Any]:
    present = {"ConditionExpression": "attribute_exists(pk)"}
    return {"ConditionCheck": {"TableName": "orders", "Key": key("a", sort), **present}}


def sorts(ddb: Any) -> list[str]:
    return [item["sk"]["N"] for item in ddb.scan(TableName="orders")["Items"]]


def test_one_failed_condition_cancels_everything(orders: Any) -> None:
    failing = put(1, **ABSENT, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    error = refused(orders.transact_write_items, TransactItems=[put(2), failing, check(9)])
    assert error["Error"]["Code"] == "TransactionCanceledException"
    assert "[None, ConditionalCheckFailed, ConditionalCheckFailed]" in error["Error"]["Message"]
    codes = [reason["Code"] for reason in error["CancellationReasons"]]
    assert codes == ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]
    assert error["CancellationReasons"][1]["Item"]["s"] == {"S": "text"}
    assert "Item" not in error["CancellationReasons"][2]
    assert sorts(orders) == ["1"]


def test_a_repeated_token_does_nothing_twice(service_app: Any, orders: Any) -> None:
    def add(token: str, amount: str = "1") -> Any:
        step = update(1, "ADD n :v")
        step["Update"]["ExpressionAttributeValues"] = {":v": {"N": amount}}
        request = {"TransactItems": [step], "ClientRequestToken": token}
        return orders.transact_write_items(**request, ReturnConsumedCapacity="TOTAL")

    def counter() -> str:
        return str(orders.get_item(TableName="orders", Key=key("a", 1))["Item"]["n"]["N"])

    assert add("one")["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2.0
    assert add("one")["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2.0
    assert counter() == "2"
    with pytest.raises(orders.exceptions.IdempotentParameterMismatchException):
        add("one", "5")
    add("two")
    assert counter() == "3"
    service_app.clock.advance(601)
    add("one", "5")
    assert counter() == "8"


def test_one_refused_write_cancels_everything(service_app: Any) -> None:
    ddb = small(service_app)
    steps = [
        {"Put": {"TableName": "small", "Item": {"pk": {"S": name}, "x": {"S": "x" * size}}}}
        for name, size in (("a", 1), ("b", 100_000))
    ]
    _, error = first_refused(lambda _: ddb.transact_write_items(TransactItems=steps))
    assert error["CancellationReasons"][1]["Code"] == "ProvisionedThroughputExceeded"
    assert counted(service_app, "ThrottledRequests", Operation="TransactWriteItems") == 1


def test_an_update_that_its_item_does_not_allow_is_a_reason(orders: Any) -> None:
    error = refused(orders.transact_write_items, TransactItems=[update(1, "SET s = s + :v"), put(2)])
    assert [reason["Code"] for reason in error["CancellationReasons"]] == ["ValidationError", "None"]
    assert "incorrect data type" in error["CancellationReasons"][0]["Message"]
