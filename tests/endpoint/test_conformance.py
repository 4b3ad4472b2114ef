"""The admission cases of the bare model, asked of the endpoint by unmodified boto3: the same answers."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.tables.catalog import define
from keyheat.endpoint.tables.create import make_table
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.words import Capacity
from tests.endpoint.account import attributes, index, indexed, table
from tests.endpoint.clients import service_app_at
from tests.model.conformance import CASES, INDEX, SCALE, play

NAME = "orders"
OVERHEAD_BYTES = 200  # more than all names and keys of an item, less than a unit


def request_of(capacity: TableCapacity) -> dict[str, Any]:
    """The CreateTable request that asks for a capacity."""
    request = table(NAME, BillingMode=capacity.billing_mode, **members_of(capacity))
    if not capacity.indexes:
        return request
    indexes = [index(INDEX, "tag", **members_of(of_index)) for of_index in capacity.indexes]
    return request | indexed(*indexes, AttributeDefinitions=attributes("pk", "tag"))


def members_of(capacity: TableCapacity | IndexCapacity) -> dict[str, Any]:
    return {
        "ProvisionedThroughput": pair(capacity.provisioned, "ReadCapacityUnits", "WriteCapacityUnits"),
        "OnDemandThroughput": pair(capacity.max_on_demand, "MaxReadRequestUnits", "MaxWriteRequestUnits"),
        "WarmThroughput": pair(capacity.warm, "ReadUnitsPerSecond", "WriteUnitsPerSecond"),
    }


def pair(throughput: Capacity | None, read: str, write: str) -> dict[str, float] | None:
    return None if throughput is None else {read: throughput.read, write: throughput.write}


class Endpoint:
    """An endpoint as a target of the cases. Its account has whatever quota the table needs."""

    def __init__(self, capacity: TableCapacity) -> None:
        self.app = service_app_at(scale=SCALE)
        self.start_s = self.app.clock.now_s
        definition = define(request_of(capacity))
        self.app.service.catalog.add(make_table(self.app.service, definition, self.start_s))

    def write(self, key: str, units: float, at_s: float, tag: str | None) -> str | None:
        item = {"pk": {"S": key}, "fill": {"B": bytes(int(units * 1024) - OVERHEAD_BYTES)}}
        if tag is not None:
            item["tag"] = {"S": tag}
        return self._send(at_s, self.app.ddb.put_item, Item=item)

    def read(self, key: str, units: float, at_s: float, *, eventual: bool, index: bool) -> str | None:
        if not index:
            return self._send(
                at_s, self.app.ddb.get_item, Key={"pk": {"S": key}}, ConsistentRead=not eventual
            )
        return self._send(
            at_s,
            self.app.ddb.query,
            IndexName=INDEX,
            KeyConditionExpression="tag = :tag",
            ExpressionAttributeValues={":tag": {"S": key}},
        )

    def _send(self, at_s: float, call: Any, **request: Any) -> str | None:
        self.app.clock.now_s = self.start_s + at_s
        try:
            call(TableName=NAME, **request)
        except ClientError as error:
            answer = error.response
            [said] = answer.get("ThrottlingReasons") or answer["throttlingReasons"]
            return said["reason"]
        return None


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_endpoint_conforms(case):
    play(case, Endpoint(case.capacity))
