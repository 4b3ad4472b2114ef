"""Answers about tables that DynamoDB would not give: an error names the call, whatever is wrong with them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from keyheat.answers import DamagedAnswer, guarded
from keyheat.load.tables.removal import OrphanSearch
from keyheat.plan.prices import load_prices
from tests.endpoint.clients import Body, unasked_client

TABLE = {
    "TableName": "orders",
    "TableStatus": "ACTIVE",
    "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "TableSizeBytes": 0,
}


def described(**fields: Any) -> bytes:
    """What DescribeTable answers of the table, with other fields; a null is as good as none."""
    return json.dumps({"Table": TABLE | fields}).encode()


DAMAGED: dict[str, bytes] = {
    "no table": b"{}",
    "another type": described(KeySchema=5),
    "without its keys": described(KeySchema=None),
    "units that are words": described(ProvisionedThroughput={"WriteCapacityUnits": "many"}),
    "no UTF-8": b'{"Table": {"TableName": "\xff"}}',
    "deep": b"[" * 100_000,
}


def answering(answers: Mapping[str, bytes]) -> Any:
    """A client whose calls are answered with these bodies, by operation or by table."""
    client = guarded(unasked_client("dynamodb"), tells=False)

    def answer(request: Any, **_more: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        body = answers.get(operation) or answers[json.loads(request.body)["TableName"]]
        return AWSResponse(request.url, 200, {}, Body(body))

    client.meta.events.register("before-send.dynamodb", answer)
    return client


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_description_is_an_error_of_its_call(how: str) -> None:
    with pytest.raises(DamagedAnswer, match="DescribeTable was answered with something"):
        answering({"orders": DAMAGED[how]}).describe_table(TableName="orders")


def test_one_table_that_cannot_be_judged_does_not_end_the_search() -> None:
    tags = {"keyheat": "0123456789ab", "keyheat-owner": "ann", "keyheat-expires": "2020-01-01T00:00:00Z"}
    bad = DAMAGED | {"without an ARN": described(TableArn=None)}
    answers = bad | {
        "good": described(BillingModeSummary=None),
        "ListTagsOfResource": json.dumps(
            {"Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}
        ).encode(),
        "DescribeContinuousBackups": b'{"ContinuousBackupsDescription": '
        b'{"ContinuousBackupsStatus": "DISABLED"}}',
    }
    search = OrphanSearch(
        client=answering(answers), now=datetime.now(UTC), prices=load_prices(), sleep=lambda _s: None
    )
    orphans = search.find(["good", *bad])
    assert [(table.name, table.kept) for table in orphans] == [("good", None)]
    assert {name for names in search.problems.values() for name in names} == {*bad}
