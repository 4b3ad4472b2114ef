"""The account and Region of a diagnosis: check access, and read the service's time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from keyheat.addresses import CLOCK
from keyheat.evidence.clients import NO_REGION, ClientFactory, boto3_clients, is_local
from keyheat.evidence.cloudwatch import Clock
from keyheat.evidence.table import NOT_FOUND, tables_like
from keyheat.masking import masked

NOT_AUTHENTICATED: Final = frozenset(
    {
        "ExpiredToken", "ExpiredTokenException", "IncompleteSignature", "InvalidClientTokenId",
        "InvalidSignatureException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
        "OptInRequired", "RequestExpired", "SignatureDoesNotMatch", "UnrecognizedClientException",
    }
)  # fmt: skip
"""Codes that make every call with these credentials fail in this Region.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Clients for one account and Region, and the time there."""

    factory: ClientFactory
    region: str
    now: datetime
    local: bool = False
    endpoint_url: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)  # of DescribeTable, or its error

    @property
    def options(self) -> str:
        """AWS CLI options for the same endpoint and Region."""
        endpoint = f" --endpoint-url {self.endpoint_url}" if self.endpoint_url else ""
        return f"--region {self.region}{endpoint}"


def connect(
    table: str | None, *, region: str | None, profile: str | None, endpoint_url: str | None, clock: Clock
) -> Target:
    """Connect to a target. A denied call counts as a response.

    Raises `ValueError` if no call can succeed, or if the table does not exist.
    """
    local = is_local(endpoint_url)
    factory = boto3_clients(region=region, profile=profile, endpoint_url=endpoint_url, local=local)
    try:
        client = factory("dynamodb")
        answer = _answer(client, table)
    except NoRegionError as error:
        raise ValueError(NO_REGION) from error
    except NoCredentialsError as error:
        raise ValueError("no AWS credentials: sign in, or add --profile") from error
    except BotoCoreError as error:
        raise ValueError(f"DynamoDB does not answer: {masked(str(error))}") from error
    return Target(
        factory=factory,
        region=str(client.meta.region_name),
        now=_time_there(answer) or datetime.fromtimestamp(clock(), UTC),
        local=local,
        endpoint_url=endpoint_url,
        answer=answer,
    )


def _answer(client: Any, table: str | None) -> Mapping[str, Any]:
    """One control plane response, or its error. Raises `ValueError`, `BotoCoreError`."""
    region = client.meta.region_name
    try:
        answer = client.list_tables(Limit=1) if table is None else client.describe_table(TableName=table)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in NOT_AUTHENTICATED:
            raise ValueError(
                f"AWS refuses the credentials in {region} ({code}): sign in again, or add --profile"
            ) from error
        if code == NOT_FOUND and table is not None:
            raise ValueError(f"no table {table!r} in {region}; {tables_like(client, table)}") from error
        answer = error.response
    return dict(answer)


def _time_there(answer: Mapping[str, Any]) -> datetime | None:
    """The service's time from a response; None if it has none."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        if CLOCK.lower() in headers:
            return datetime.fromtimestamp(float(headers[CLOCK.lower()]), UTC)
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
