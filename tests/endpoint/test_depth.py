"""Expressions and values that go deeper than DynamoDB takes: its words, never a failure of the endpoint."""

from typing import Any

import pytest

from tests.endpoint.account import on_demand
from tests.endpoint.clients import ServiceApp, posted, service_app_at

KEY = {"pk": {"S": "a"}}
TOO_MANY = "The expression contains too many operators; operator count: 301"
TOO_DEEP = "The document path has too many nesting levels; nesting levels: {levels}"
NESTED = "Nesting Levels have exceeded supported limits"
Answer = tuple[int, dict[str, Any]]


@pytest.fixture(scope="module")
def orders() -> ServiceApp:
    """A service with a table `orders`, which has at most the item of `KEY`."""
    app = service_app_at()
    app.ddb.create_table(**on_demand())
    return app


def asked(app: ServiceApp, operation: str, request: Any) -> Answer:
    """Status and body; botocore itself would not write what is sent here."""
    whole = request if isinstance(request, bytes) else {"TableName": "orders", **request}
    status, _, body = posted(app.router, operation, whole)
    return status, body


def invalid(answer: Answer, message: str) -> None:
    status, body = answer
    assert (status, body["__type"].rpartition("#")[2]) == (400, "ValidationException"), body
    assert message in body["message"]


@pytest.mark.parametrize(
    "text",
    [
        " AND ".join(["a=b"] * 501),
        " OR ".join(["a=b"] * 501),
        "NOT " * 501 + "a=b",
        "(a=b AND " * 200 + "a=b" + ")" * 200,
        " OR ".join(["attribute_exists(a)"] * 151),
        " AND ".join(["a BETWEEN b AND c"] * 151),
    ],
    ids=["and", "or", "not", "parentheses", "functions", "between"],
)
@pytest.mark.parametrize("kind", ["ConditionExpression", "FilterExpression"])
def test_more_than_300_operators_are_refused(orders: ServiceApp, kind: str, text: str) -> None:
    operation, key = ("PutItem", {"Item": KEY}) if kind == "ConditionExpression" else ("Scan", {})
    invalid(asked(orders, operation, {kind: text, **key}), f"Invalid {kind}: {TOO_MANY}")


@pytest.mark.parametrize(
    "text",
    [
        " AND ".join(["a=b"] * 150),
        "NOT (" * 299 + "a=b" + ")" * 299,
        "(a=b AND " * 149 + "a=b" + ")" * 149,
        " OR ".join(["a BETWEEN b AND c"] * 150),
    ],
    ids=["and", "not", "parentheses", "between"],
)
def test_300_operators_are_read_and_tried(orders: ServiceApp, text: str) -> None:
    orders.ddb.put_item(TableName="orders", Item=KEY)
    status, body = asked(orders, "Scan", {"FilterExpression": text})
    assert (status, body.get("ScannedCount")) == (200, 1), body


@pytest.mark.parametrize("step", [".a", "[0]", ".#a", " . a"])
def test_a_document_path_has_32_levels_at_most(orders: ServiceApp, step: str) -> None:
    names = {"ExpressionAttributeNames": {"#a": "a"}} if "#" in step else {}
    value = {"ExpressionAttributeValues": {":v": {"S": "x"}}}
    for levels in (33, 1000):
        path = "a" + step * (levels - 1)
        told = TOO_DEEP.format(levels=levels)
        put = {"Item": KEY, "ConditionExpression": f"attribute_exists({path})", **names}
        invalid(asked(orders, "PutItem", put), f"Invalid ConditionExpression: {told}")
        update = {"Key": KEY, "UpdateExpression": f"SET {path}=:v", **names, **value}
        invalid(asked(orders, "UpdateItem", update), f"Invalid UpdateExpression: {told}")
        if " " not in step:
            get = {"Key": KEY, "ProjectionExpression": path, **names}
            invalid(asked(orders, "GetItem", get), f"Invalid ProjectionExpression: {told}")
    whole = {"Key": KEY, "ProjectionExpression": ("a" + step * 31).replace(" ", ""), **names}
    assert asked(orders, "GetItem", whole)[0] == 200


@pytest.mark.parametrize("levels", [33, 480, 1000, 10_000])
@pytest.mark.parametrize(("opening", "closing"), [(b'{"L":[', b"]}"), (b'{"M":{"a":', b"}}")], ids=["L", "M"])
def test_a_value_has_32_levels_at_most(
    orders: ServiceApp, levels: int, opening: bytes, closing: bytes
) -> None:
    value = opening * levels + b'{"S":"x"}' + closing * levels
    item = b'{"TableName":"orders","Item":{"pk":{"S":"a"},"x":' + value + b"}}"
    invalid(asked(orders, "PutItem", item), NESTED)
    invalid(asked(orders, "TransactWriteItems", b'{"TransactItems":[{"Put":' + item + b"}]}"), NESTED)
    batch = b'{"RequestItems":{"orders":[{"PutRequest":' + item + b"}]}}"
    invalid(asked(orders, "BatchWriteItem", batch), NESTED)
    update = b'{"TableName":"orders","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET x=:x",'
    update += b'"ExpressionAttributeValues":{":x":' + value + b"}}"
    invalid(asked(orders, "UpdateItem", update), NESTED)


def test_an_update_s_sums_are_counted_and_its_assignments_are_not(orders: ServiceApp) -> None:
    many = {"Key": KEY, "ExpressionAttributeValues": {":v": {"N": "1"}}}
    update = {"UpdateExpression": "SET " + ",".join(f"a{n}=:v" for n in range(400))}
    assert asked(orders, "UpdateItem", many | update)[0] == 200
    update = {"UpdateExpression": "SET " + ",".join(f"a{n}=a{n}+:v" for n in range(301))}
    invalid(asked(orders, "UpdateItem", many | update), f"Invalid UpdateExpression: {TOO_MANY}")


def test_hyphens_hide_no_level(orders: ServiceApp) -> None:
    path = ".".join(["a-b"] * 33)
    told = TOO_DEEP.format(levels=33)
    invalid(asked(orders, "GetItem", {"Key": KEY, "ProjectionExpression": path}), told)
