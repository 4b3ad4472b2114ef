"""How far the service's clock is ahead of this machine's, by the Date of an answer."""

from collections.abc import Callable
from contextlib import closing
from email.utils import parsedate_to_datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.limits import SIGNATURE_CLOCK_S
from keyheat.numbers import span

PATIENCE_S: Final = 5.0  # this answer is optional, and not worth a longer wait
LOOK_ATTEMPTS: Final = 3


NOTABLE_S: Final = 3.0  # the Date of an answer has whole seconds, and an answer takes its time
MOST_S: Final = SIGNATURE_CLOCK_S / 2
"""A clock that is further off is to be set first: AWS refuses what is signed more than five minutes off.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html"""


def measure_ahead_s(client: Any, table: str, clock: Callable[[], float]) -> float | None:
    """How far the service's clock is ahead of ours, by the Date of an answer; None if it has no Date.

    Raises `TableError` where no run can be made.
    """
    sent_s = clock()
    try:
        answer = client.describe_table(TableName=table)
    except ClientError as error:  # a refusal has a Date as well
        answer = error.response
    except BotoCoreError:
        return None  # others say why
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        date_s = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    ahead_s = date_s + 0.5 - (sent_s + clock()) / 2
    if abs(ahead_s) > MOST_S:
        raise TableError(f"{skew_words(ahead_s)}: set the one that is wrong (`timedatectl set-ntp true`)")
    return ahead_s


def skew_words(ahead_s: float) -> str:
    """Return how far this machine's clock is from the service's."""
    side = "behind" if ahead_s > 0 else "ahead of"
    length_s = abs(ahead_s) if abs(ahead_s) < 120 else round(ahead_s / 60) * 60.0
    return f"this machine's clock is {span(abs(length_s))} {side} the service's"


def service_ahead_s(target: Target, table: str, clock: Callable[[], float]) -> float | None:
    """How far the service's clock is ahead of ours; None if unknown. On this machine both are one clock.

    Raises `TableError` where they are so far apart that no run can be made.
    """
    if target.local:
        return 0.0
    with closing(make_client(target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS)) as client:
        return measure_ahead_s(client, table, clock)
