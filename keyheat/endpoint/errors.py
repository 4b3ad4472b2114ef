"""Errors as the services send them; and how a throttled request is answered.

ServiceError
├── the DynamoDB errors made by the functions below
└── the CloudWatch errors made in `cloudwatch/`

The exception follows the capacity mode and the cause; it does not name the cause, its reasons do.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html
The member that holds the reasons is spelt `ThrottlingReasons` in two of the exceptions and
`throttlingReasons` in ThrottlingException, and clients drop the one they do not expect.
"""

from typing import Any, Protocol

from keyheat.model.resources import Cause, Refusal
from keyheat.words import Direction

DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
CORAL = "com.amazon.coral.service#"
VALIDATION = "com.amazon.coral.validate#"
CORAL_AVAILABILITY = "com.amazon.coral.availability#"


class ServiceError(Exception):
    """An error answer: its type, message, HTTP status and further members of the body.

    `path`: where in a request a value of another type is, which the answer does not say.
    """

    path = ""

    def __init__(
        self, code: str, message: str, *, prefix: str = DYNAMODB, status: int = 400, **members: Any
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.prefix = prefix
        self.status = status
        self.members = members

    def body(self) -> dict[str, Any]:
        return {"__type": self.prefix + self.code, "message": self.message, **self.members}


def validation_error(message: str) -> ServiceError:
    """The request is well-formed JSON but asks for something that the API does not take."""
    return ServiceError("ValidationException", message, prefix=VALIDATION)


def serialization_error(message: str) -> ServiceError:
    return ServiceError("SerializationException", message, prefix=CORAL)


def nested_too_deep() -> ServiceError:
    """A value holds values that hold values, and so on for more than 32 levels."""
    return validation_error(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
        "beyond supported limit"
    )


def resource_not_found(message: str = "Requested resource not found") -> ServiceError:
    return ServiceError("ResourceNotFoundException", message)


def internal_error() -> ServiceError:
    """Something in the endpoint failed; what, is on its stderr."""
    return ServiceError(
        "InternalServerError", "The request processing has failed because of an unknown error.", status=500
    )


CONFLICT = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
"""The entry of an item in the CancellationReasons of a transaction that meets another one."""


def transaction_conflict() -> ServiceError:
    """A transaction is under way on the item of a plain write."""
    return ServiceError("TransactionConflictException", CONFLICT["Message"])


TABLE_EXCEEDED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
INDEX_EXCEEDED = "The level of configured provisioned throughput for the index was exceeded"
BACK_PRESSURE = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table "
    "was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary "
    "indexes with the UpdateTable API"
)
SCALING = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your "
    "table or index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
BACK_PRESSURE_SCALING = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. "
    "DynamoDB is automatically scaling your index so please try again shortly."
)
MAX_EXCEEDED = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
ACCOUNT_EXCEEDED = (
    "Throughput exceeds the current throughput limit for your account. "
    "To request a limit increase, contact AWS Support at https://aws.amazon.com/support."
)


class ThrottledTable(Protocol):
    """The properties of a table that an error needs."""

    @property
    def provisioned(self) -> bool: ...

    def resource_arn(self, index: str | None) -> str: ...


def throttled(table: ThrottledTable, refusal: Refusal, *, batch: bool = False) -> ServiceError:
    """The exception for a refused request.

    `batch`: a batch of which nothing was processed. Such a batch answers ProvisionedThroughputExceeded only
    for the provisioned throughput itself and ThrottlingException for a partition's limit, in both modes.
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
    """
    reasons = [{"reason": refusal.reason, "resource": table.resource_arn(refusal.index)}]
    if refusal.cause is Cause.ACCOUNT:
        return ServiceError("RequestLimitExceeded", ACCOUNT_EXCEEDED, ThrottlingReasons=reasons)
    if _exceeds_provisioned(table, refusal, batch=batch):
        message = _provisioned_message(refusal)
        return ServiceError("ProvisionedThroughputExceededException", message, ThrottlingReasons=reasons)
    message = MAX_EXCEEDED if refusal.cause is Cause.MAX_ON_DEMAND else _scaling_message(refusal)
    return ServiceError("ThrottlingException", message, prefix=CORAL_AVAILABILITY, throttlingReasons=reasons)


def cancellation(table: ThrottledTable, refusal: Refusal) -> dict[str, str]:
    """The entry of a refused item in the CancellationReasons of a transaction; it has no throttling reason.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    if _exceeds_provisioned(table, refusal, batch=False):
        return {"Code": "ProvisionedThroughputExceeded", "Message": _provisioned_message(refusal)}
    return {"Code": "ThrottlingError", "Message": _scaling_message(refusal)}


def _exceeds_provisioned(table: ThrottledTable, refusal: Refusal, *, batch: bool) -> bool:
    if refusal.cause is Cause.PROVISIONED:
        return True
    return refusal.cause is Cause.KEY_RANGE and table.provisioned and not batch


def _provisioned_message(refusal: Refusal) -> str:
    if refusal.index is None:
        return TABLE_EXCEEDED
    return BACK_PRESSURE if refusal.direction is Direction.WRITE else INDEX_EXCEEDED


def _scaling_message(refusal: Refusal) -> str:
    back_pressure = refusal.index is not None and refusal.direction is Direction.WRITE
    return BACK_PRESSURE_SCALING if back_pressure else SCALING
