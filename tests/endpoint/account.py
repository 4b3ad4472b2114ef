"""An account for tests: a service under a clock that tests move, and requests that are mostly filled in."""

from typing import Any

import pytest

from keyheat.endpoint.dynamodb import CONTROL
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.options import Durations
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Context, Service
from tests.endpoint.clients import FakeClock

NOON_S = 1_795_176_000.0  # 2026-11-20T12:00:00Z


def S(text: str) -> dict[str, str]:
    return {"S": text}


def N(number: float | str) -> dict[str, str]:
    return {"N": str(number)}


def schema(partition: str, sort: str | None = None) -> list[dict[str, str]]:
    """The keys of a table or of an index."""
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    return keys if sort is None else [*keys, {"AttributeName": sort, "KeyType": "RANGE"}]


HASH, BOTH = schema("pk"), schema("pk", "sk")


class Account:
    """Calls control operations as the server does, with parsed JSON."""

    def __init__(self, **durations_s: float) -> None:
        self.clock = FakeClock(NOON_S)
        self.service = Service(clock=self.clock, durations=Durations(**durations_s))

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        check_shape(operation, request)
        answer = CONTROL[operation](Context(self.service, self.clock()), request)
        return answer if isinstance(answer, dict) else {}

    def refusal(self, operation: str, **request: Any) -> ServiceError:
        with pytest.raises(ServiceError) as caught:
            self.call(operation, **request)
        return caught.value

    def create(self, name: str = "orders", **changes: Any) -> dict[str, Any]:
        return self.call("CreateTable", **table(name, **changes))["TableDescription"]

    def describe(self, name: str = "orders") -> dict[str, Any]:
        return self.call("DescribeTable", TableName=name)["Table"]

    def update(self, **request: Any) -> dict[str, Any]:
        return self.call("UpdateTable", **{"TableName": "orders", **request})["TableDescription"]


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def attributes(*names: str, kind: str = "S") -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name in names]


def table(name: str = "orders", **changes: Any) -> dict[str, Any]:
    """A CreateTable request of a provisioned table with key `pk`; None takes a member away."""
    request = {
        "TableName": name,
        "AttributeDefinitions": attributes("pk"),
        "KeySchema": HASH,
        "ProvisionedThroughput": units(5, 5),
        **changes,
    }
    return {member: value for member, value in request.items() if value is not None}


def on_demand(name: str = "orders", **changes: Any) -> dict[str, Any]:
    """A CreateTable request of an on-demand table with key `pk`."""
    return table(name, ProvisionedThroughput=None, BillingMode="PAY_PER_REQUEST", **changes)


def index(name: str = "by_city", key: str = "city", **changes: Any) -> dict[str, Any]:
    """A global index of a provisioned table; None takes a member away."""
    request = {
        "IndexName": name,
        "KeySchema": schema(key),
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": units(5, 5),
        **changes,
    }
    return {member: value for member, value in request.items() if value is not None}


def local(name: str = "by_day", key: str = "day", **changes: Any) -> dict[str, Any]:
    """A local index."""
    projection = {"ProjectionType": "ALL"}
    return {"IndexName": name, "KeySchema": schema("pk", key), "Projection": projection, **changes}


def indexed(*indexes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What makes a table request one with global indexes, by default one by city."""
    wanted = list(indexes) or [index()]
    keys = dict.fromkeys(element["AttributeName"] for one in wanted for element in one["KeySchema"])
    return {
        "AttributeDefinitions": attributes(*dict.fromkeys(["pk", *keys])),
        "GlobalSecondaryIndexes": wanted,
        **changes,
    }
