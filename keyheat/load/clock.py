"""The clock of a run: the service's, by which CloudWatch counts minutes. A load begins with such a minute:

12:00:00        12:00:37   12:01:00
|               |----------|=====================>     -: waited, =: loaded

How far it is ahead of this machine's is told by the Date of an answer.
"""

from collections.abc import Callable
from contextlib import closing
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.options import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.limits import MINUTE_S, SIGNATURE_CLOCK_S
from keyheat.numbers import span


class SteadyClock:
    """The service's clock as of the start of a run, advanced by the monotonic clock, which is never set.

    It is `ahead_s` ahead of the wall clock of this machine. Only signatures take the wall clock's time.
    """

    def __init__(
        self,
        ahead_s: float = 0.0,
        wall: Callable[[], float] = time,
        monotonic: Callable[[], float] = monotonic,
    ) -> None:
        self.ahead_s, self._monotonic = ahead_s, monotonic
        self._apart_s = wall() + ahead_s - monotonic()

    def __call__(self) -> float:
        return self._apart_s + self._monotonic()


AFTER_S: Final = 0.7
"""How long after the minute the load begins: the service's clock is known to half a second and an answer."""


def align(
    *, clock: Callable[[], float], sleep: Callable[[float], None], tell: Callable[[float], None]
) -> None:
    """Sleep until the next minute begins; `tell` gets the seconds that are left, at once and every ten."""
    until_s = -(-clock() // MINUTE_S) * MINUTE_S + AFTER_S
    next_told_s = float("inf")
    while (left_s := until_s - clock()) > 0:
        if round(left_s) <= next_told_s:
            tell(left_s)
            next_told_s = (round(left_s) - 1) // 10 * 10 or -1
        sleep(min(1.0, left_s))


PATIENCE_S: Final = 5.0  # this answer is optional, and not worth a longer wait
LOOK_ATTEMPTS: Final = 3
NOTABLE_S: Final = 3.0  # the Date of an answer has whole seconds, and an answer takes its time
MOST_S: Final = SIGNATURE_CLOCK_S / 2
"""A clock that is further off is to be set first: AWS refuses what is signed more than five minutes off.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html"""


def service_ahead_s(target: Target, table: str, clock: Callable[[], float]) -> float | None:
    """How far the service's clock is ahead of ours; None if unknown. On this machine both are one clock.

    Raises `TableError` where they are so far apart that no run can be made.
    """
    if target.local:
        return 0.0
    with closing(make_client(target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS)) as client:
        return measure_ahead_s(client, table, clock)


def measure_ahead_s(client: Any, table: str, clock: Callable[[], float]) -> float | None:
    """The same by the Date of an answer; None if it has no Date."""
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
    length_s = abs(ahead_s) if abs(ahead_s) < 120 else abs(round(ahead_s / 60) * 60.0)
    return f"this machine's clock is {span(length_s)} {side} the service's"
