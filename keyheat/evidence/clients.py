"""boto3 clients for evidence, and a classification of their failures."""

import os
from collections.abc import Callable
from typing import Any, Final
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
from keyheat.evidence.series import Failure
from keyheat.masking import mask_errors, mask_logs
from keyheat.words import HURRIED

ClientFactory = Callable[[str], Any]
"""Create a boto3 client for the named service: `dynamodb` or `cloudwatch`."""


def boto3_clients(
    *,
    region: str | None = None,
    profile: str | None = None,
    endpoint_url: str | None = None,
    local: bool = False,
    open_minute: bool = False,
) -> ClientFactory:
    """Build clients with the SDK's own credentials, Region and retries (of throttled calls, too).

    A local endpoint accepts any credentials, so it gets dummies, and no proxy. `endpoint_url` is DynamoDB's
    endpoint; other services use it too, unless it is AWS. Error messages are masked. `open_minute` makes
    Keyheat's own endpoint include the current minute. Raises `ValueError` if the profile does not exist.
    """
    from botocore.config import Config

    from keyheat.answers import guarded

    mask_logs()
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"} if local else {}
    attempts, answer_s = (1, 3) if is_hurried() else (4, 30)
    config = Config(
        connect_timeout=min(5, answer_s),
        read_timeout=answer_s,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        proxies={} if local else None,
    )
    if local and not region:  # a local endpoint needs no configured Region
        region = os.environ.get("AWS_REGION") or _session(None).region_name or "us-east-1"
    session = _session(None if local else profile, region)

    def ask_for_the_open_minute(request: Any, **_of: Any) -> None:
        request.headers[OPEN_MINUTE] = "yes"

    def client(service: str) -> Any:
        is_aws = service != "dynamodb" and in_aws(_host(endpoint_url))  # each of AWS's has its own address
        url = None if is_aws else endpoint_url
        service_client = session.client(service, endpoint_url=url, config=config, **keys)
        if local and open_minute and service == "cloudwatch":
            service_client.meta.events.register("before-sign.cloudwatch", ask_for_the_open_minute)
        return guarded(mask_errors(service_client))

    return client


NO_REGION: Final = "no Region is configured: add --region, such as --region eu-west-1"


def _session(profile: str | None, region: str | None = None) -> Any:
    """A session of boto3. Raises `ValueError` for a profile that is not configured."""
    import boto3

    try:
        return boto3.Session(profile_name=profile, region_name=region)
    except ProfileNotFound as error:
        raise ValueError(f"--profile: {error}; `aws configure list-profiles` lists the profiles") from error


def is_hurried() -> bool:
    """Whether an interrupted run waits for this process, which then skips retries."""
    return HURRIED in os.environ


def region_names(profile: str | None) -> list[str]:
    """All Regions with DynamoDB in the AWS partition of a profile, as botocore lists them."""
    session = _session(profile)
    partition = session.get_partition_for_region(session.region_name) if session.region_name else "aws"
    return list(session.get_available_regions("dynamodb", partition))


def is_local(endpoint_url: str | None) -> bool:
    """Whether an endpoint is on this machine, where credentials are not needed."""
    return on_this_machine(_host(endpoint_url))


def _host(endpoint_url: str | None) -> str:
    return urlsplit(endpoint_url or "").hostname or ""


THROTTLED: Final = frozenset({
    "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "SlowDown",
    "RequestThrottledException", "RequestLimitExceeded", "LimitExceededException", "TooManyRequestsException",
})  # fmt: skip
"""Throttling codes: https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html ;
DynamoDB's control plane uses LimitExceededException."""
PASSING: Final = frozenset({
    "InternalServiceFault", "InternalServiceError", "InternalFailure", "InternalServerError",
    "ServiceUnavailable", "RequestTimeout", "RequestTimeoutException",
    "InvalidNextToken",  # an expired page token: start again at the first page
})  # fmt: skip
SERVER_FAULT: Final = 500
TOO_MANY: Final = 429


def failure_of(error: BotoCoreError | ClientError) -> Failure:
    """Classify a botocore exception."""
    if isinstance(error, ConnectionError | HTTPClientError) and not isinstance(error, SSLError):
        return "failed"  # no response, or an incomplete one
    if not isinstance(error, ClientError):
        return "refused"
    code = str(error.response.get("Error", {}).get("Code", "")).rpartition("#")[2]
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in THROTTLED or status == TOO_MANY:
        return "throttled"
    return "failed" if code in PASSING or status >= SERVER_FAULT else "refused"
