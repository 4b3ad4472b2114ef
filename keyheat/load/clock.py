"""The clocks of a run: one that nobody sets, AWS's, and the minute with which a load begins.

CloudWatch's minutes are of the service's clock, so that each is loaded as a whole or not at all:

    12:00:00        12:00:37   12:01:00
    |               |----------|=====================>     -: waited, =: loaded
"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.ownership import TableError
from keyheat.model.limits import MINUTE_S, SIGNATURE_CLOCK_S
from keyheat.numbers import span
from keyheat.runfiles import MOST_SKEW_S

NOTABLE_S: Final = 3.0  # the Date of an answer has whole seconds, and an answer takes its time
REFUSALS: Final = frozenset(
    {"InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch"}
)
"""Codes with which a request is refused for the time at which it was signed, or for another fault of it."""


def measure_ahead_s(client: Any, table: str, clock: Callable[[], float]) -> float | None:
    """How far the service's clock is ahead of ours, by the Date of an answer; None where there is no Date.

    Raises `TableError` where no run can be made. AWS refuses what is signed more than five minutes off:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html
    """
    sent_s, refused = clock(), False
    try:
        answer = client.describe_table(TableName=table)
    except ClientError as error:  # a refusal has a Date as well
        answer = error.response
        refused = answer.get("Error", {}).get("Code") in REFUSALS
    except BotoCoreError:
        return None  # others say why
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        date_s = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    ahead_s = date_s + 0.5 - (sent_s + clock()) / 2
    most_s = SIGNATURE_CLOCK_S / 2 if refused else MOST_SKEW_S
    if abs(ahead_s) > most_s:
        raise TableError(f"{skew_words(ahead_s)}: set the one that is wrong (`timedatectl set-ntp true`)")
    return ahead_s


def skew_words(ahead_s: float) -> str:
    """How far this machine's clock is from the service's."""
    side = "behind" if ahead_s > 0 else "ahead of"
    length_s = abs(ahead_s) if abs(ahead_s) < 120 else round(ahead_s / 60) * 60.0
    return f"this machine's clock is {span(abs(length_s))} {side} the service's"


NOTABLE_JUMP_S: Final = 1.0
"""Less is what two readings, or a clock that is slewed, differ by."""


class SteadyClock:
    """The wall clock as it was when the run began, moved on by the monotonic one: nobody sets it.

    Rates, durations and seconds of a run are of it. Signatures need the wall clock's, and take it.
    """

    def __init__(self, wall: Callable[[], float] = time, monotonic: Callable[[], float] = monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._apart_s = wall() - monotonic()

    def __call__(self) -> float:
        return self._apart_s + self._monotonic()

    @property
    def jump_s(self) -> float:
        """By how much the wall clock is now ahead of where it would be; 0.0 where that is nothing."""
        ahead_s = self._wall() - self()
        return ahead_s if abs(ahead_s) >= NOTABLE_JUMP_S else 0.0


def jump_words(jump_s: float) -> str:
    """What a person should know of a wall clock that was set while a load was under way."""
    way = "forward" if jump_s > 0 else "back"
    return (
        f"the wall clock jumped {way} by {abs(jump_s):,.0f} s during the load: the run's rates and times are "
        "those of the clock as it was before, and may not fit what others measured"
    )


AFTER_S: Final = 0.7
"""How long after the minute the load begins: the service's clock is known to half a second and an answer."""
TOLD_EVERY_S: Final = 10


def align(
    ahead_s: float,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    tell: Callable[[float], None],
) -> None:
    """Sleep until a minute of the service's clock begins, which is `ahead_s` ahead of ours.

    `tell` gets the seconds that are left, at once and then at every tenth.
    """
    now_s = clock() + ahead_s
    until_s = -(-now_s // MINUTE_S) * MINUTE_S + AFTER_S
    next_told_s = float("inf")
    while (left_s := until_s - (clock() + ahead_s)) > 0:
        if round(left_s) <= next_told_s:
            tell(left_s)
            next_told_s = (round(left_s) - 1) // TOLD_EVERY_S * TOLD_EVERY_S or -1
        sleep(min(1.0, left_s))
