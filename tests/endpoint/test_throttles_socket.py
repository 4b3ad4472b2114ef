"""Throttles over a real connection. An item of 390 KB leaves a bucket in debt longer than a test takes."""

from collections.abc import Iterator

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.endpoint.account import on_demand, table, units
from tests.endpoint.clients import client

pytestmark = pytest.mark.opens

LARGE = {"B": bytes(390 * 1024)}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with EndpointProcess.start(scale=0.02) as process:
        yield process.url


ROWS = [
    (
        table("provisioned", ProvisionedThroughput=units(5, 5)),
        "ProvisionedThroughputExceededException",
        "ThrottlingReasons",
        "TableWriteProvisionedThroughputExceeded",
    ),
    (
        table("roomy", ProvisionedThroughput=units(5, 4_000)),
        "ProvisionedThroughputExceededException",
        "ThrottlingReasons",
        "TableWriteKeyRangeThroughputExceeded",
    ),
    (on_demand("paid"), "ThrottlingException", "throttlingReasons", "TableWriteKeyRangeThroughputExceeded"),
    (
        on_demand("capped", OnDemandThroughput={"MaxWriteRequestUnits": 1_000}),
        "ThrottlingException",
        "throttlingReasons",
        "TableWriteMaxOnDemandThroughputExceeded",
    ),
]


@pytest.mark.parametrize(("create", "code", "member", "reason"), ROWS)
def test_boto3_raises_what_the_service_raises(url, create, code, member, reason):
    ddb = client("dynamodb", url)
    ddb.create_table(**create)
    name = create["TableName"]
    ddb.put_item(TableName=name, Item={"pk": {"S": "hot"}, "fill": LARGE})
    with pytest.raises(getattr(ddb.exceptions, code)) as caught:
        ddb.put_item(TableName=name, Item={"pk": {"S": "hot"}, "fill": LARGE})
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{name}"
    assert caught.value.response[member] == [{"reason": reason, "resource": arn}]
