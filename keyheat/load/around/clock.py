"""How far AWS's clock is ahead of this machine's, by the Date header of DescribeTable's answers.

The header has whole seconds, and an answer takes its time. Each sample therefore bounds the difference from
both sides; several of them, at other fractions of a second, leave a narrow span:

    sent      here, epoch seconds            date - received  <  ahead  <  date + 1 - sent
    received  here
    date      there, rounded down

CloudWatch's minutes are of that clock. Where ours is more than five minutes off, every request is refused,
of boto3 and of our own signer alike: neither corrects the time that it signs with.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from statistics import median
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.model.limits import SIGNATURE_CLOCK_S
from keyheat.model.updates import DAY_S
from keyheat.runfiles import MOST_SKEW_S

SAMPLES: Final = 5
APART_S: Final = 0.2  # five samples lie at all fractions of a second
NOTABLE_S: Final = 2.0
REFUSALS: Final = frozenset(
    {"InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch"}
)
"""Codes with which a request is refused for the time at which it was signed, or for another fault of it."""


class ClockWrong(Exception):
    """The clock of this machine is so far off that no run can be made; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: when it was asked for and when it came, here; and its Date, there. Epoch seconds."""

    sent_s: float
    received_s: float
    date_s: float
    refused: bool = False  # for its signature


@dataclass(frozen=True, slots=True)
class Skew:
    """By how much the service's clock is ahead of ours (behind: negative), give or take `within_s`."""

    ahead_s: float
    within_s: float

    @property
    def said(self) -> str | None:
        """What a person should know of it; None where it is nothing."""
        if abs(self.ahead_s) <= NOTABLE_S:
            return None
        return (
            f"this machine's clock is {_length(self.ahead_s)} {_side(self.ahead_s)} the service's; "
            "the run's times are moved to the service's when evidence is made of them. Better set the clock"
        )


def skew_of(samples: Sequence[Sample]) -> Skew | None:
    """What the samples leave possible; their middle, where they contradict each other."""
    if not samples:
        return None
    least = max(one.date_s - one.received_s for one in samples)
    most = min(one.date_s + 1 - one.sent_s for one in samples)
    if least <= most:
        return Skew((least + most) / 2, (most - least) / 2)
    middles = [one.date_s + 0.5 - (one.sent_s + one.received_s) / 2 for one in samples]
    return Skew(median(middles), (max(middles) - min(middles)) / 2)


def measure(
    client: Any,
    table: str,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    samples: int = SAMPLES,
) -> Skew | None:
    """The service's clock against ours; None where its answers have no Date. Raises `ClockWrong`."""
    found: list[Sample] = []
    for number in range(samples):
        if number:
            sleep(APART_S)
        if (one := _sample(client, table, clock)) is not None:
            found.append(one)
    skew = skew_of(found)
    if skew is not None and abs(skew.ahead_s) > MOST_SKEW_S:
        raise ClockWrong(
            f"this machine's clock is {_length(skew.ahead_s)} {_side(skew.ahead_s)} that of the service, by "
            "the Date of its answers: set the one that is wrong (this machine's with `timedatectl set-ntp "
            "true`, say). At more than a day, nothing that the service measures fits the run"
        )
    refused = any(one.refused for one in found)
    if skew is not None and refused and abs(skew.ahead_s) > SIGNATURE_CLOCK_S / 2:
        raise ClockWrong(
            f"this machine's clock is {_length(skew.ahead_s)} {_side(skew.ahead_s)} AWS: set it (with "
            f"`timedatectl set-ntp true`, say). AWS refuses what is signed at a time more than "
            f"{SIGNATURE_CLOCK_S // 60} minutes off"
        )
    return skew


def _sample(client: Any, table: str, clock: Callable[[], float]) -> Sample | None:
    """One DescribeTable; a refusal has a Date as well. None where there is none: others say why."""
    sent_s, refused = clock(), False
    try:
        answer = client.describe_table(TableName=table)
    except ClientError as error:
        answer = error.response
        refused = answer.get("Error", {}).get("Code") in REFUSALS
    except BotoCoreError:
        return None
    received_s = clock()
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        return Sample(sent_s, received_s, parsedate_to_datetime(date).timestamp(), refused)
    except (TypeError, ValueError, OverflowError):
        return None


def _length(seconds: float) -> str:
    minutes = round(abs(seconds) / 60)
    if minutes > 2 * DAY_S / 60:
        return f"{abs(seconds) / DAY_S:,.1f} days"
    return f"{minutes:,} minutes" if minutes > 1 else f"{abs(seconds):.1f} s"


def _side(ahead_s: float) -> str:
    return "behind" if ahead_s > 0 else "ahead of"
