"""Why a call to AWS failed, and whether it is any use to ask again."""

from typing import Final, Literal

from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError, SSLError

Failure = Literal["throttled", "failed", "refused"]
"""`throttled`: ask less often. `failed`: ask again, a few times. `refused`: it will be refused again."""

THROTTLED: Final = frozenset(
    {
        "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled",
        "RequestThrottledException", "RequestLimitExceeded", "LimitExceededException",
        "TooManyRequestsException", "SlowDown",
    }
)  # fmt: skip
"""Codes of a call that came too often, as https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
has them; LimitExceededException is what DynamoDB's control plane says."""

PASSING: Final = frozenset(
    {
        "InternalServiceFault", "InternalServiceError", "InternalFailure", "InternalServerError",
        "ServiceUnavailable", "RequestTimeout", "RequestTimeoutException",
        "InvalidNextToken",  # a page's token that has expired: the first page makes a new one
    }
)  # fmt: skip
SERVER_FAULT: Final = 500
TOO_MANY: Final = 429


def failure_of(error: BotoCoreError | ClientError) -> Failure:
    """What kind of failure an exception of botocore is."""
    if isinstance(error, ConnectionError | HTTPClientError) and not isinstance(error, SSLError):
        return "failed"  # nobody answered, or nothing whole
    if not isinstance(error, ClientError):
        return "refused"
    code = str(error.response.get("Error", {}).get("Code", "")).rpartition("#")[2]
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in THROTTLED or status == TOO_MANY:
        return "throttled"
    return "failed" if code in PASSING or status >= SERVER_FAULT else "refused"
