"""Values that go deeper than DynamoDB takes: its words, never a failure of the endpoint."""

import pytest

from tests.endpoint.clients import ServiceApp, refusal

NESTED = "Nesting Levels have exceeded supported limits"


@pytest.mark.parametrize("levels", [33, 10_000])
def test_a_value_has_32_levels_at_most(refusing: ServiceApp, levels: int) -> None:
    value = b'{"M":{"a":' * levels + b'{"S":"x"}' + b"}}" * levels
    item = b'{"TableName":"orders","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"x":' + value + b"}}"
    update = b'{"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET x=:x",'
    for operation, request in {
        "PutItem": item,
        "TransactWriteItems": b'{"TransactItems":[{"Put":' + item + b"}]}",
        "BatchWriteItem": b'{"RequestItems":{"orders":[{"PutRequest":' + item + b"}]}}",
        "UpdateItem": update + b'"ExpressionAttributeValues":{":x":' + value + b"}}",
    }.items():
        code, message = refusal(refusing, operation, request)
        assert (code, NESTED in message) == ("ValidationException", True), (operation, message)
