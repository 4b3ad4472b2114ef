"""An account's quotas, asked of DynamoDB itself: DescribeLimits, which costs nothing."""

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory
from keyheat.masking import masked
from keyheat.plan.quotas import Quotas, quotas_of, unknown_quotas

REFUSED = ("AccessDenied", "AccessDeniedException")
UNSERVED = ("UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented", "501", "404")


def account_quotas(client_factory: ClientFactory) -> Quotas:
    """The quotas of the account and region that the clients are of; unknown, with why, where nobody says."""
    try:
        return quotas_of(client_factory("dynamodb").describe_limits())
    except ClientError as error:
        return unknown_quotas(_why(error))
    except BotoCoreError as error:
        return unknown_quotas(masked(str(error)))


def _why(error: ClientError) -> str:
    code = error.response.get("Error", {}).get("Code", "")
    if code in REFUSED:
        return "the identity may not call dynamodb:DescribeLimits"
    if code in UNSERVED:
        return "the target does not know DescribeLimits"
    return masked(str(error)).strip()


def region_of(client_factory: ClientFactory) -> str | None:
    """The region that the clients are of; None where none is configured."""
    try:
        return str(client_factory("dynamodb").meta.region_name)
    except BotoCoreError:
        return None
