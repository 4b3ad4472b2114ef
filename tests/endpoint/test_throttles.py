"""Which exception, which message and which resource a refusal makes."""

from dataclasses import dataclass

import pytest

from keyheat.endpoint.errors import cancellation_code, throttled
from keyheat.model.resources import Refusal, parse_reason

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
EXCEEDED = "ProvisionedThroughputExceededException"
TABLE = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
INDEXES = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table "
    "was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary "
    "indexes with the UpdateTable API"
)
SCALING = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your "
    "table or index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
INDEXES_SCALING = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. "
    "DynamoDB is automatically scaling your index so please try again shortly."
)
MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
INDEX = "The level of configured provisioned throughput for the index was exceeded"


@dataclass(frozen=True)
class Asked:
    provisioned: bool

    def resource_arn(self, index):
        return ARN if index is None else f"{ARN}/index/{index}"


def refusal(reason):
    of_index, direction, cause = parse_reason(reason)
    return Refusal("by_city" if of_index else None, direction, cause)


ROWS = [
    # provisioned mode, reason, exception, message
    (True, "TableReadProvisionedThroughputExceeded", EXCEEDED, TABLE),
    (True, "TableWriteProvisionedThroughputExceeded", EXCEEDED, TABLE),
    (True, "IndexReadProvisionedThroughputExceeded", EXCEEDED, INDEX),
    (True, "IndexWriteProvisionedThroughputExceeded", EXCEEDED, INDEXES),
    (True, "TableReadKeyRangeThroughputExceeded", EXCEEDED, TABLE),
    (True, "TableWriteKeyRangeThroughputExceeded", EXCEEDED, TABLE),
    (True, "IndexReadKeyRangeThroughputExceeded", EXCEEDED, INDEX),
    (True, "IndexWriteKeyRangeThroughputExceeded", EXCEEDED, INDEXES),
    (False, "TableReadKeyRangeThroughputExceeded", "ThrottlingException", SCALING),
    (False, "TableWriteKeyRangeThroughputExceeded", "ThrottlingException", SCALING),
    (False, "IndexReadKeyRangeThroughputExceeded", "ThrottlingException", SCALING),
    (False, "IndexWriteKeyRangeThroughputExceeded", "ThrottlingException", INDEXES_SCALING),
    (False, "TableReadMaxOnDemandThroughputExceeded", "ThrottlingException", MAXIMUM),
    (False, "TableWriteMaxOnDemandThroughputExceeded", "ThrottlingException", MAXIMUM),
    (False, "IndexReadMaxOnDemandThroughputExceeded", "ThrottlingException", MAXIMUM),
    (False, "IndexWriteMaxOnDemandThroughputExceeded", "ThrottlingException", MAXIMUM),
    (False, "TableReadAccountLimitExceeded", "RequestLimitExceeded", "for your account"),
    (False, "TableWriteAccountLimitExceeded", "RequestLimitExceeded", "for your account"),
    (False, "IndexReadAccountLimitExceeded", "RequestLimitExceeded", "for your account"),
    (False, "IndexWriteAccountLimitExceeded", "RequestLimitExceeded", "for your account"),
]


@pytest.mark.parametrize(("provisioned", "reason", "code", "message"), ROWS)
def test_the_exception_follows_mode_and_cause_and_spells_the_reasons(provisioned, reason, code, message):
    error = throttled(Asked(provisioned), refusal(reason))
    assert (error.code, error.status) == (code, 400)
    assert error.message == message or (code == "RequestLimitExceeded" and message in error.message)
    body = error.body()
    lower, upper = "throttlingReasons", "ThrottlingReasons"
    mine, other = (lower, upper) if code == "ThrottlingException" else (upper, lower)
    resource = f"{ARN}/index/by_city" if reason.startswith("Index") else ARN
    assert body[mine] == [{"reason": reason, "resource": resource}]
    assert other not in body
    prefix = "com.amazon.coral.availability#" if mine == lower else "com.amazonaws.dynamodb.v20120810#"
    assert body["__type"] == prefix + code


CANCELLATIONS = [
    (True, "TableWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", TABLE),
    (True, "TableWriteKeyRangeThroughputExceeded", "ProvisionedThroughputExceeded", TABLE),
    (True, "IndexWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", INDEXES),
    (False, "TableWriteKeyRangeThroughputExceeded", "ThrottlingError", SCALING),
    (False, "TableReadMaxOnDemandThroughputExceeded", "ThrottlingError", SCALING),
    (False, "TableWriteAccountLimitExceeded", "ThrottlingError", SCALING),
    (False, "IndexWriteKeyRangeThroughputExceeded", "ThrottlingError", INDEXES_SCALING),
]


@pytest.mark.parametrize(("provisioned", "reason", "code", "message"), CANCELLATIONS)
def test_a_cancelled_transaction_has_a_code_and_a_message(provisioned, reason, code, message):
    assert cancellation_code(Asked(provisioned), refusal(reason)) == (code, message)


@pytest.mark.parametrize(
    ("provisioned", "reason", "code"),
    [
        (True, "TableWriteKeyRangeThroughputExceeded", "ThrottlingException"),
        (False, "TableWriteKeyRangeThroughputExceeded", "ThrottlingException"),
        (True, "TableWriteProvisionedThroughputExceeded", EXCEEDED),
    ],
)
def test_a_batch_names_the_provisioned_throughput_alone(provisioned, reason, code):
    assert throttled(Asked(provisioned), refusal(reason), batch=True).code == code
