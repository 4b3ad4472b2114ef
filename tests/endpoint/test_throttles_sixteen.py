"""All sixteen reasons, each as unmodified boto3 raises it, and the metric that must show it.

Every rate is a hundredth of the published one: a partition serves 10 writes/s and 30 reads/s, an account 400.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.account import index, indexed, on_demand, table, units
from tests.endpoint.clients import ServiceApp, read_by_prometheus, service_app_at

SCALE = 0.01
MOST_REQUESTS = 1_500
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
EXCEEDED = "ProvisionedThroughputExceededException"
THROTTLING = "ThrottlingException"
ACCOUNT = "RequestLimitExceeded"
Request = Callable[[Any, int], Any]


def put(kilobytes: int = 1, *, key: str = "k{}", city: str | None = None) -> Request:
    """Writes of so many units; `{}` in a key is the number of the request, without it the key is one."""

    def send(ddb: Any, number: int) -> Any:
        item = {"pk": {"S": key.format(number)}, "fill": {"B": bytes(kilobytes * 1024 - 60)}}
        if city is not None and number > 0:
            item["city"] = {"S": city.format(number)}
        return ddb.put_item(TableName="orders", Item=item)

    return send


def get(key: str = "k{}") -> Request:
    """Consistent reads of items that are not there: a unit each."""

    def send(ddb: Any, number: int) -> Any:
        return ddb.get_item(TableName="orders", Key={"pk": {"S": key.format(number)}}, ConsistentRead=True)

    return send


def query(city: str = "c{}") -> Request:
    """Reads of the index: half a unit each."""

    def send(ddb: Any, number: int) -> Any:
        return ddb.query(
            TableName="orders",
            IndexName="by_city",
            KeyConditionExpression="city = :city",
            ExpressionAttributeValues={":city": {"S": city.format(number)}},
        )

    return send


def provisioned(read: int, write: int, **of_index: int) -> dict[str, Any]:
    """A provisioned table; `index_read` and `index_write`: with an index of that capacity."""
    request = table(ProvisionedThroughput=units(read, write))
    if not of_index:
        return request
    capacity = units(of_index["index_read"], of_index["index_write"])
    return request | indexed(index(ProvisionedThroughput=capacity))


def paid(*, warm: int | None = None, **members: Any) -> dict[str, Any]:
    """An on-demand table, warmed for so many reads and writes a second."""
    if warm is not None:
        members["WarmThroughput"] = {"ReadUnitsPerSecond": warm, "WriteUnitsPerSecond": warm}
    return on_demand(**members)


def paid_indexed(*, warm: int | None = None, **of_index: Any) -> dict[str, Any]:
    """An on-demand table with an index; `of_index` are further members of the index."""
    if warm is not None:
        of_index["WarmThroughput"] = {"ReadUnitsPerSecond": warm, "WriteUnitsPerSecond": warm}
    return paid(warm=warm) | indexed(index(ProvisionedThroughput=None, **of_index))


WARM = 300_000
MAXIMUM = {"OnDemandThroughput": {"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 100}}


@dataclass(frozen=True)
class Case:
    """A table, what is sent to it every `every_s` seconds, and how the refusal must look."""

    reason: str
    code: str
    create: dict[str, Any]
    send: Request
    every_s: float = 0.0
    id: str = field(default="")


CASES = [
    Case("TableWriteProvisionedThroughputExceeded", EXCEEDED, provisioned(5, 5), put(), 1.0),
    Case("TableReadProvisionedThroughputExceeded", EXCEEDED, provisioned(5, 5), get(), 1.0),
    Case(
        "IndexReadProvisionedThroughputExceeded",
        EXCEEDED,
        provisioned(5, 5, index_read=5, index_write=5),
        query(),
        1.0,
    ),
    Case(
        "IndexWriteProvisionedThroughputExceeded",
        EXCEEDED,
        provisioned(1_000, 4_000, index_read=5, index_write=5),
        put(10, city="c{}"),
        1.0,
    ),
    Case("TableWriteKeyRangeThroughputExceeded", EXCEEDED, provisioned(4_000, 4_000), put(key="hot")),
    Case("TableReadKeyRangeThroughputExceeded", EXCEEDED, provisioned(9_000, 4_000), get("hot")),
    Case(
        "IndexReadKeyRangeThroughputExceeded",
        EXCEEDED,
        provisioned(100, 100, index_read=9_000, index_write=100),
        query("hot"),
    ),
    Case(
        "IndexWriteKeyRangeThroughputExceeded",
        EXCEEDED,
        provisioned(100, 20_000, index_read=100, index_write=20_000),
        put(4, city="hot"),
        0.2,
    ),
    Case("TableWriteKeyRangeThroughputExceeded", THROTTLING, paid(), put(key="hot")),
    Case("TableReadKeyRangeThroughputExceeded", THROTTLING, paid(), get("hot")),
    Case("IndexReadKeyRangeThroughputExceeded", THROTTLING, paid_indexed(), query("hot")),
    Case(
        "IndexWriteKeyRangeThroughputExceeded", THROTTLING, paid_indexed(warm=20_000), put(4, city="hot"), 0.2
    ),
    Case("TableWriteMaxOnDemandThroughputExceeded", THROTTLING, paid(**MAXIMUM), put()),
    Case("TableReadMaxOnDemandThroughputExceeded", THROTTLING, paid(**MAXIMUM), get()),
    Case("IndexReadMaxOnDemandThroughputExceeded", THROTTLING, paid_indexed(**MAXIMUM), query()),
    Case(
        "IndexWriteMaxOnDemandThroughputExceeded",
        THROTTLING,
        paid_indexed(**MAXIMUM),
        put(4, city="c{}"),
        0.5,
    ),
    Case("TableWriteAccountLimitExceeded", ACCOUNT, paid(warm=WARM), put()),
    Case("TableReadAccountLimitExceeded", ACCOUNT, paid(warm=WARM), get()),
    Case("IndexReadAccountLimitExceeded", ACCOUNT, paid_indexed(warm=WARM), query()),
    # One write outside the index leaves the quota odd, so that at its end it has room for the table alone.
    Case("IndexWriteAccountLimitExceeded", ACCOUNT, paid_indexed(warm=WARM), put(city="c{}")),
]


def provoked(app: ServiceApp, case: Case) -> ClientError:
    """Send until the table refuses."""
    app.ddb.create_table(**case.create)
    for number in range(MOST_REQUESTS):
        try:
            case.send(app.ddb, number)
        except ClientError as error:
            return error
        app.clock.advance(case.every_s)
    raise AssertionError(f"{case.reason}: nothing refused in {MOST_REQUESTS} requests")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.reason}-{case.code}")
def test_a_reason_reaches_boto3_and_cloudwatch(case):
    app = service_app_at(scale=SCALE)
    error = provoked(app, case)
    of_index = case.reason.startswith("Index")
    assert error.response["Error"]["Code"] == case.code
    member, other = "ThrottlingReasons", "throttlingReasons"
    if case.code == THROTTLING:
        member, other = other, member
    resource = f"{ARN}/index/by_city" if of_index else ARN
    assert error.response[member] == [{"reason": case.reason, "resource": resource}]
    assert other not in error.response
    assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    app.clock.advance(120.0)
    metric, dimensions = cause_metric(case.reason)
    assert total(app, metric, **dimensions) == 1.0
    resource_dimensions = {"TableName": "orders"} | (
        {"GlobalSecondaryIndexName": "by_city"} if of_index else {}
    )
    direction = "Read" if "Read" in case.reason else "Write"
    assert total(app, f"{direction}ThrottleEvents", **resource_dimensions) == 1.0
    if of_index:
        assert total(app, f"{direction}ThrottleEvents", TableName="orders") == 0.0
    assert total(app, "ThrottledRequests", TableName="orders", Operation=error.operation_name) == 1.0
    (throttle,) = read_by_prometheus(app, "keyheat_local_throttles")
    assert throttle.value == 1.0
    assert (throttle.labels["table"], throttle.labels["reason"]) == ("orders", case.reason)
    assert throttle.labels["resource"] == ("by_city" if case.reason.startswith("Index") else "table")


def cause_metric(reason: str) -> tuple[str, dict[str, str]]:
    """The metric that AWS names for a reason, and where it is found.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html
    """
    name = reason.removeprefix("Table").removeprefix("Index").removesuffix("Exceeded") + "ThrottleEvents"
    dimensions = {"TableName": "orders"}
    if reason.startswith("Index") and name != "WriteAccountLimitThrottleEvents":
        dimensions["GlobalSecondaryIndexName"] = "by_city"
    return name, dimensions


def total(app: ServiceApp, metric: str, **dimensions: str) -> float:
    """Sum of a metric over everything that is published, 0 where it has no datapoint."""
    now = datetime.fromtimestamp(app.clock.now_s, UTC)
    answer = app.cloudwatch.get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        StartTime=now - timedelta(hours=1),
        EndTime=now,
        Period=60,
        Statistics=["Sum"],
    )
    return sum(point["Sum"] for point in answer["Datapoints"])


def test_all_sixteen_reasons_are_here():
    assert len({case.reason for case in CASES}) == 16
