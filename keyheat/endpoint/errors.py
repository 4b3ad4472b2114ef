"""Errors as the services send them.

ServiceError
├── the DynamoDB errors made by the functions below
└── the CloudWatch errors made in `cloudwatch/`
"""

from typing import Any

DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
CORAL = "com.amazon.coral.service#"
VALIDATION = "com.amazon.coral.validate#"
AVAILABILITY = "com.amazon.coral.availability#"


class ServiceError(Exception):
    """An error answer: its type, message, HTTP status and further members of the body."""

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
        """The JSON body, as DynamoDB spells it."""
        return {"__type": self.prefix + self.code, "message": self.message, **self.members}


def validation_error(message: str) -> ServiceError:
    """The request is well-formed JSON but asks for something that the API does not take."""
    return ServiceError("ValidationException", message, prefix=VALIDATION)


def nested_too_deep() -> ServiceError:
    """A value holds values that hold values, and so on for more than 32 levels."""
    return validation_error(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
        "beyond supported limit"
    )


def resource_not_found(message: str = "Requested resource not found") -> ServiceError:
    """The table or index does not exist."""
    return ServiceError("ResourceNotFoundException", message)
