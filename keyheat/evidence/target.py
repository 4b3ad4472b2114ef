"""The account and Region that a diagnosis asks: whether they answer, and what time it is there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from keyheat.addresses import CLOCK
from keyheat.evidence.clients import ClientFactory, boto3_clients, is_local
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
"""Codes after which no call of these credentials can succeed in this Region.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Clients of one account and Region, and the time there."""

    factory: ClientFactory
    region: str
    now: datetime
    local: bool = False
    endpoint_url: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)  # of DescribeTable, or its refusal

    @property
    def options(self) -> str:
        """The options of an AWS CLI command that lead to the same place; it needs a Region for each."""
        endpoint = f" --endpoint-url {self.endpoint_url}" if self.endpoint_url else ""
        return f"--region {self.region}{endpoint}"


def reach(
    table: str | None,
    *,
    region: str | None,
    profile: str | None,
    endpoint_url: str | None,
    clock: Clock,
) -> Target:
    """The target, once it has answered. A call that is denied is an answer, too.

    Raises `ValueError` where no call can succeed, or where there is no such table.
    """
    local = is_local(endpoint_url)
    factory = boto3_clients(region=region, profile=profile, endpoint_url=endpoint_url, local=local)
    try:
        client = factory("dynamodb")
        answer = _answer(client, table)
    except NoRegionError as error:
        raise ValueError("no Region is configured: add --region, such as --region eu-west-1") from error
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
    """One answer of the control plane, or its refusal. Raises `ValueError`, `BotoCoreError`."""
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
    found: Mapping[str, Any] = answer
    return found


def _time_there(answer: Mapping[str, Any]) -> datetime | None:
    """The time of the service by an answer of its; None if the answer has none."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        if CLOCK.lower() in headers:
            return datetime.fromtimestamp(float(headers[CLOCK.lower()]), UTC)
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
