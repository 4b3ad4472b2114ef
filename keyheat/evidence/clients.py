"""Plain boto3 clients for the services that evidence comes from, and why a call of theirs failed."""

import os
from collections.abc import Callable
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    HTTPClientError,
    ProfileNotFound,
    SSLError,
)

from keyheat.addresses import OPEN_MINUTE, in_aws, on_this_machine
from keyheat.masking import mask_errors, mask_logs
from keyheat.words import HURRIED

ClientFactory = Callable[[str], Any]
"""Makes a boto3 client of the named service: `dynamodb` or `cloudwatch`."""


def boto3_clients(
    *,
    region: str | None = None,
    profile: str | None = None,
    endpoint_url: str | None = None,
    local: bool = False,
    open_minute: bool = False,
) -> ClientFactory:
    """Clients with the SDK's own identity, region and retries (of throttled calls, too).

    A local endpoint takes any credentials, so it gets some that are nobody's, and past any proxy.
    `endpoint_url` is where DynamoDB is; the other services are there too, unless that is AWS. What errors say
    is masked. With `open_minute` an endpoint of ours is asked for the minute that goes on, too. Raises
    `ValueError` where the profile is not there.
    """
    import boto3  # whoever only names a metric, or reads evidence, does not wait for it
    from botocore.config import Config

    from keyheat.answer_shape import shaped
    from keyheat.answer_size import bounded

    mask_logs()
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"} if local else {}
    attempts, answer_s = (1, 3) if hurried() else (4, 30)
    config = Config(
        connect_timeout=min(5, answer_s),
        read_timeout=answer_s,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        proxies={} if local else None,
    )
    try:
        if local and not region:  # one that is not configured is no mistake there
            region = os.environ.get("AWS_REGION") or boto3.Session().region_name or "us-east-1"
        session = boto3.Session(profile_name=None if local else profile, region_name=region)
    except ProfileNotFound as error:
        raise ValueError(
            f"--profile: {error}; `aws configure list-profiles` lists those there are"
        ) from error

    def client(service: str) -> Any:
        url = None if service != "dynamodb" and is_aws(endpoint_url) else endpoint_url
        made = session.client(service, endpoint_url=url, config=config, **keys)
        if local and open_minute and service == "cloudwatch":
            made.meta.events.register("before-sign.cloudwatch", _ask_for_the_open_minute)
        return bounded(mask_errors(shaped(made)), local=local)

    return client


def hurried() -> bool:
    """Whether an interrupted run waits for this process, which then retries nothing."""
    return HURRIED in os.environ


def region_names(profile: str | None) -> list[str]:
    """Every Region of DynamoDB in the partition of AWS that a profile is of, as botocore knows them."""
    import boto3

    session = boto3.Session(profile_name=profile)
    partition = session.get_partition_for_region(session.region_name) if session.region_name else "aws"
    return list(session.get_available_regions("dynamodb", partition))


def _ask_for_the_open_minute(request: Any, **_of: Any) -> None:
    request.headers[OPEN_MINUTE] = "yes"


def is_aws(endpoint_url: str | None) -> bool:
    """Whether an endpoint is one of AWS, where each service has an address of its own."""
    return in_aws(_host(endpoint_url))


def is_local(endpoint_url: str | None) -> bool:
    """Whether an endpoint is on this machine, where no credentials are needed."""
    return on_this_machine(_host(endpoint_url))


def _host(endpoint_url: str | None) -> str:
    return urlsplit(endpoint_url or "").hostname or ""


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
