"""The quotas of an account against what a scenario creates and changes: said before anything is made."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.errors import TableError
from keyheat.load.transport.target import Target
from keyheat.plan.quotas import over_quota, quotas_of
from keyheat.scenario.scenario import Scenario


def check_quotas(scenario: Scenario, target: Target, connect: Callable[[Target], Any]) -> None:
    """See whether the account's quotas permit it. Raises `TableError` with everything that they do not.

    Who may not ask for the quotas is told by CreateTable, which holds the request against them anyway.
    """
    client = connect(target)
    try:
        answer = client.describe_limits()
    except (ClientError, BotoCoreError):
        return
    finally:
        client.close()
    if beyond := over_quota(scenario, quotas_of(answer)):
        raise TableError(*beyond)
