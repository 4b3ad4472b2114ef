"""Which exception, which message and which resource a refusal makes."""

from dataclasses import dataclass

import pytest

from keyheat.endpoint.errors import cancellation, throttled
from keyheat.model.resources import Refusal, parse_reason

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
EXCEEDED = "ProvisionedThroughputExceededException"
# How a message begins.
TABLE = "The level of configured provisioned throughput for the table was exceeded. "
INDEXES = "The level of configured provisioned throughput for one or more global secondary indexes "
SCALING = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling"
INDEXES_SCALING = "Throughput exceeds the current capacity for one or more global secondary indexes. "
MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
INDEX = "The level of configured provisioned throughput for the index was exceeded"
ACCOUNT = "Throughput exceeds the current throughput limit for your account. "


@dataclass(frozen=True)
class Asked:
    provisioned: bool

    def resource_arn(self, index):
        return ARN if index is None else f"{ARN}/index/{index}"


def refusal(reason):
    of_index, direction, cause = parse_reason(reason)
    return Refusal("by_city" if of_index else None, direction, cause)


PREFIXES = {"ThrottlingException": "com.amazon.coral.availability"}
SIDES = [("Table", "Read"), ("Table", "Write"), ("Index", "Read"), ("Index", "Write")]
ROWS = [
    # provisioned mode, cause, and the message on the table, and on reads and writes of an index
    (True, "ProvisionedThroughputExceeded", EXCEEDED, (TABLE, TABLE, INDEX, INDEXES)),
    (True, "KeyRangeThroughputExceeded", EXCEEDED, (TABLE, TABLE, INDEX, INDEXES)),
    (False, "KeyRangeThroughputExceeded", "ThrottlingException", (SCALING,) * 3 + (INDEXES_SCALING,)),
    (False, "MaxOnDemandThroughputExceeded", "ThrottlingException", (MAXIMUM,) * 4),
    (False, "AccountLimitExceeded", "RequestLimitExceeded", (ACCOUNT,) * 4),
]


@pytest.mark.parametrize(("provisioned", "cause", "code", "messages"), ROWS)
def test_the_message_follows_mode_cause_and_resource(provisioned, cause, code, messages):
    for (owner, direction), message in zip(SIDES, messages, strict=True):
        error = throttled(Asked(provisioned), refusal(f"{owner}{direction}{cause}"))
        assert (error.code, error.status) == (code, 400)
        assert error.message.startswith(message)
        prefix = PREFIXES.get(code, "com.amazonaws.dynamodb.v20120810")
        assert error.body()["__type"] == f"{prefix}#{code}"


CANCELLATIONS = [
    (True, "TableWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", TABLE),
    (True, "IndexWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", INDEXES),
    (False, "TableWriteKeyRangeThroughputExceeded", "ThrottlingError", SCALING),
    (False, "TableWriteAccountLimitExceeded", "ThrottlingError", SCALING),
    (False, "IndexWriteKeyRangeThroughputExceeded", "ThrottlingError", INDEXES_SCALING),
]


@pytest.mark.parametrize(("provisioned", "reason", "code", "message"), CANCELLATIONS)
def test_a_cancelled_transaction_has_a_code_and_a_message(provisioned, reason, code, message):
    answer = cancellation(Asked(provisioned), refusal(reason))
    assert answer["Code"] == code
    assert answer["Message"].startswith(message)


def test_a_batch_names_the_provisioned_throughput_alone():
    for cause, code in (("KeyRange", "ThrottlingException"), ("Provisioned", EXCEEDED)):
        reason = refusal(f"TableWrite{cause}ThroughputExceeded")
        assert throttled(Asked(provisioned=True), reason, batch=True).code == code
