"""The endpoint admits and refuses as the admission cases say.

Each refusal is the exception that DynamoDB has for it, and is counted where CloudWatch counts it.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from keyheat.endpoint.errors import cancellation, throttled
from keyheat.endpoint.tables.create import define, make_table
from keyheat.model.resources import Cause, IndexCapacity, Refusal, TableCapacity, parse_reason
from keyheat.words import Capacity, Direction
from tests.endpoint.account import attributes, index, indexed, table
from tests.endpoint.admission import CASES, INDEX, SCALE, Case, play
from tests.endpoint.clients import posted, service_app_at

NAME = "orders"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
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
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.shapes: set[tuple[str, ...]] = set()
        definition = define(request_of(capacity))
        self.app.service.catalog.add(make_table(self.app.service, definition, self.start_s))

    def write(self, key: str, units: float, at_s: float, tag: str | None) -> str | None:
        item = {"pk": {"S": key}, "fill": {"S": "x" * (int(units * 1024) - OVERHEAD_BYTES)}}
        if tag is not None:
            item["tag"] = {"S": tag}
        return self._send(at_s, "PutItem", Item=item)

    def read(self, key: str, units: float, at_s: float, *, eventual: bool, index: bool) -> str | None:
        if not index:
            return self._send(at_s, "GetItem", Key={"pk": {"S": key}}, ConsistentRead=not eventual)
        return self._send(
            at_s,
            "Query",
            IndexName=INDEX,
            KeyConditionExpression="tag = :tag",
            ExpressionAttributeValues={":tag": {"S": key}},
        )

    def _send(self, at_s: float, operation: str, **request: Any) -> str | None:
        self.app.clock.now_s = self.start_s + at_s
        status, _, answer = posted(self.app.router, operation, {"TableName": NAME, **request})
        if status == 200:
            return None
        member = "throttlingReasons" if "throttlingReasons" in answer else "ThrottlingReasons"
        [reason] = answer[member]
        self.refusals[reason["reason"], operation] += 1
        code = answer["__type"].rpartition("#")[2]
        self.shapes.add(
            (reason["reason"], code, member, reason["resource"], answer["message"].split(". ")[0])
        )
        return str(reason["reason"])

    def counted(self, metric: str, **dimensions: str) -> float:
        """The sum of a metric since ever; 0 where it has no datapoint."""
        named = [{"Name": name, "Value": value} for name, value in {"TableName": NAME, **dimensions}.items()]
        answer = self.app.cloudwatch.get_metric_statistics(
            Namespace="AWS/DynamoDB", MetricName=metric, Dimensions=named, StartTime=self.start_s,
            EndTime=self.app.clock.now_s, Period=60, Statistics=["Sum"],
        )  # fmt: skip
        return float(sum(point["Sum"] for point in answer["Datapoints"]))


LEVEL, EXCEEDED = (
    "The level of configured provisioned throughput for ",
    "ProvisionedThroughputExceededException",
)
TABLE, INDEX_READ = LEVEL + "the table was exceeded", LEVEL + "the index was exceeded"
INDEXES = LEVEL + "one or more global secondary indexes of the table was exceeded"
SCALING = "Throughput exceeds the current capacity of your table or index"
INDEXES_SCALING = "Throughput exceeds the current capacity for one or more global secondary indexes"
MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
ACCOUNT = "Throughput exceeds the current throughput limit for your account"


def shape_of(reason: str, capacity: TableCapacity) -> tuple[str, ...]:
    """The reason, with the code, the member, the resource and the first sentence that the exception has."""
    code, member, side = "ThrottlingException", "ThrottlingReasons", reason[:10]
    if "AccountLimit" in reason:
        code, message = "RequestLimitExceeded", ACCOUNT
    elif capacity.billing_mode == "PROVISIONED":
        code = EXCEEDED
        message = {"IndexReadP": INDEX_READ, "IndexReadK": INDEX_READ}.get(side, TABLE)
        message = INDEXES if side.startswith("IndexWrite") else message
    else:
        member = "throttlingReasons"
        message = INDEXES_SCALING if side.startswith("IndexWrite") else SCALING
        message = MAXIMUM if "MaxOnDemand" in reason else message
    return reason, code, member, f"{ARN}/index/{INDEX}" if reason.startswith("Index") else ARN, message


def metric_of(reason: str) -> tuple[str, dict[str, str]]:
    """The metric that AWS names for a reason, and its dimensions beside the table.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html
    """
    name = reason.removeprefix("Table").removeprefix("Index").removesuffix("Exceeded") + "ThrottleEvents"
    of_index = reason.startswith("Index") and name != "WriteAccountLimitThrottleEvents"
    return name, {"GlobalSecondaryIndexName": INDEX} if of_index else {}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_endpoint_conforms_and_counts(case: Case) -> None:
    target = Endpoint(case.capacity)
    play(case, target)
    target.app.clock.advance(120.0)
    by_reason: Counter[str] = Counter()
    for (reason, operation), number in target.refusals.items():
        by_reason[reason] += number
        assert target.counted("ThrottledRequests", Operation=operation) >= number
    assert target.shapes == {shape_of(reason, case.capacity) for reason in by_reason}
    for reason, number in by_reason.items():
        metric, dimensions = metric_of(reason)
        assert target.counted(metric, **dimensions) == number
    for direction, of_index in product(("Read", "Write"), (True, False)):
        prefix = f"{'Index' if of_index else 'Table'}{direction}"
        events = sum(number for reason, number in by_reason.items() if reason.startswith(prefix))
        name = {"GlobalSecondaryIndexName": INDEX} if of_index else {}
        assert target.counted(f"{direction}ThrottleEvents", **name) == events


def test_cases_reach_all_sixteen_reasons() -> None:
    every = {
        Refusal(index, direction, cause).reason
        for index, direction, cause in product((None, "any"), Direction, Cause)
    }
    assert {step.reason for case in CASES for step in case.steps} - {None} == every


@dataclass(frozen=True)
class Asked:
    provisioned: bool

    def resource_arn(self, index: str | None) -> str:
        return ARN if index is None else f"{ARN}/index/{index}"


def refusal(reason: str) -> Refusal:
    parsed = parse_reason(reason)
    assert parsed is not None
    return Refusal("by_city" if parsed[0] else None, *parsed[1:])


@pytest.mark.parametrize(
    ("provisioned", "reason", "code", "message"),
    [
        (True, "TableWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", TABLE),
        (True, "IndexWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", INDEXES),
        (False, "TableWriteKeyRangeThroughputExceeded", "ThrottlingError", SCALING),
        (False, "TableWriteAccountLimitExceeded", "ThrottlingError", SCALING),
        (False, "IndexWriteKeyRangeThroughputExceeded", "ThrottlingError", INDEXES_SCALING),
    ],
)
def test_a_cancelled_transaction_has_a_code_and_a_message(
    provisioned: bool, reason: str, code: str, message: str
) -> None:
    answer = cancellation(Asked(provisioned), refusal(reason))
    assert (answer["Code"], answer["Message"].startswith(message)) == (code, True)


def test_a_batch_names_the_provisioned_throughput_alone() -> None:
    for cause, code in (("KeyRange", "ThrottlingException"), ("Provisioned", EXCEEDED)):
        reason = refusal(f"TableWrite{cause}ThroughputExceeded")
        assert throttled(Asked(provisioned=True), reason, batch=True).code == code
