"""The clocks of a run: how far AWS's is ahead, one that nobody sets, and a load that begins with a minute.

How far AWS's clock is ahead of this machine's, by the Date header of an answer to DescribeTable. The header
has whole seconds, and an answer takes its time, so that it bounds the difference from both sides:

    sent      here, epoch seconds            date - received  <  ahead  <  date + 1 - sent
    received  here
    date      there, rounded down

CloudWatch's minutes are of that clock. Where ours is more than five minutes off, every request is refused,
of boto3 and of our own signer alike: neither corrects the time that it signs with.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html

The clock of a run: the wall clock as it was when the run began, moved on by the monotonic one alone.
A wall clock may be set while a load is under way: by a person, by a service that finds it wrong, by a
machine that wakes up. Rates, durations and seconds of a run do not follow it; that it jumped is said.

A load begins with a minute, for CloudWatch counts by the minute: none of its minutes is loaded in part.

    12:00:00        12:00:37   12:01:00
    |               |----------|=====================>     -: waited, =: loaded
"""

from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.model.limits import MINUTE_S, SIGNATURE_CLOCK_S
from keyheat.model.resources import DAY_S
from keyheat.runfiles import MOST_SKEW_S

NOTABLE_S: Final = 2.0
REFUSALS: Final = frozenset(
    {"InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch"}
)
"""Codes with which a request is refused for the time at which it was signed, or for another fault of it."""


class ClockWrong(Exception):
    """The clock of this machine is so far off that no run can be made; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Skew:
    """By how much the service's clock is ahead of ours (behind: negative), give or take `within_s`."""

    ahead_s: float
    within_s: float

    @property
    def said(self) -> str | None:
        """What a person should know of it; None where it is nothing."""
        if abs(self.ahead_s) <= NOTABLE_S + self.within_s:
            return None
        return (
            f"this machine's clock is {_length(self.ahead_s)} {_side(self.ahead_s)} the service's; "
            "the run's times are moved to the service's when evidence is made of them. Better set the clock"
        )


def measure(client: Any, table: str, clock: Callable[[], float]) -> Skew | None:
    """The service's clock against ours; None where its answer has no Date. Raises `ClockWrong`."""
    sent_s, refused = clock(), False
    try:
        answer = client.describe_table(TableName=table)
    except ClientError as error:  # a refusal has a Date as well
        answer = error.response
        refused = answer.get("Error", {}).get("Code") in REFUSALS
    except BotoCoreError:
        return None  # others say why
    received_s = clock()
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        date_s = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    skew = Skew(date_s + 0.5 - (sent_s + received_s) / 2, 0.5 + (received_s - sent_s) / 2)
    is_off = f"this machine's clock is {_length(skew.ahead_s)} {_side(skew.ahead_s)}"
    if abs(skew.ahead_s) > MOST_SKEW_S:
        raise ClockWrong(
            f"{is_off} that of the service, by the Date of its answers: set the one that is wrong (this "
            "machine's with `timedatectl set-ntp true`, say). At more than a day, nothing that the service "
            "measures fits the run"
        )
    if refused and abs(skew.ahead_s) > SIGNATURE_CLOCK_S / 2:
        raise ClockWrong(
            f"{is_off} AWS: set it (with `timedatectl set-ntp true`, say). AWS refuses what is signed at a "
            f"time more than {SIGNATURE_CLOCK_S // 60} minutes off"
        )
    return skew


def _length(seconds: float) -> str:
    minutes = round(abs(seconds) / 60)
    if minutes > 2 * DAY_S / 60:
        return f"{abs(seconds) / DAY_S:,.1f} days"
    return f"{minutes:,} minutes" if minutes > 1 else f"{abs(seconds):.1f} s"


def _side(ahead_s: float) -> str:
    return "behind" if ahead_s > 0 else "ahead of"


NOTABLE_JUMP_S: Final = 1.0
"""Less is what two readings, or a clock that is slewed, differ by."""


class SteadyClock:
    """Epoch seconds that nobody sets. Signatures need the wall clock's, and take it."""

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
