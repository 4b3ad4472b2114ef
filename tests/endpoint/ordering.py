"""A table of orders and refused requests, for the tests of the operations on items."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

ORDERS = {
    "TableName": "orders",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "g", "AttributeType": "S"},
        {"AttributeName": "l", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_group",
            "KeySchema": [
                {"AttributeName": "g", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        },
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "l", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
    ],
}


def key(partition: str, sort: int) -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {"N": str(sort)}}


def ordered(app: Any) -> Any:
    """The client of a service that has the table of orders."""
    app.ddb.create_table(**ORDERS)
    app.clock.advance(600)
    return app.ddb


def small(app: Any, name: str = "small", units: int = 1) -> Any:
    """The client of a service that has a table of one unit per second, key `pk`, burst included."""
    app.ddb.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        ProvisionedThroughput={"ReadCapacityUnits": units, "WriteCapacityUnits": units},
    )
    app.clock.advance(600)
    return app.ddb


def refused(call: Any, **request: Any) -> dict[str, Any]:
    """The error answer of a request that fails."""
    with pytest.raises(ClientError) as caught:
        call(**request)
    response: dict[str, Any] = caught.value.response
    return response


def first_refused(call: Callable[[int], Any], most: int = 10_000) -> tuple[int, dict[str, Any]]:
    """The number of the first call that fails, and the error answer."""
    for number in range(most):
        try:
            call(number)
        except ClientError as error:
            return number, error.response  # type: ignore[return-value]
    pytest.fail(f"{most} calls, and none was refused")


def code(call: Any, **request: Any) -> str:
    """The error's code."""
    return str(refused(call, **request)["Error"]["Code"])
