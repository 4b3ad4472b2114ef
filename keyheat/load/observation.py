"""What is observed around a load: the service's clock, and the table's partitions.

The shards of the table's stream, looked at when a run begins and when it ends: how many, and which split.
A stream that is not there, or that may not be described, is no failure: a line says what is not known.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.limits import SIGNATURE_CLOCK_S
from keyheat.numbers import span
from keyheat.runfiles import MOST_SKEW_S, time_of
from keyheat.runs.partitions import Shard, TooManyShards, all_shards, estimated, is_open, splits
from keyheat.words import Capacity

MARGIN_S: Final = 60.0  # how far from the run the time in a shard's id may lie to be believed
PATIENCE_S: Final = 5.0  # an answer that nobody needs is not waited for any longer
LOOK_ATTEMPTS: Final = 3


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


def service_ahead_s(target: Target, table: str, clock: Callable[[], float]) -> float | None:
    """How far the service's clock is ahead of ours; None if unknown. On this machine both are one clock.

    Raises `TableError` where they are so far apart that no run can be made.
    """
    if target.local:
        return 0.0
    with closing(make_client(target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS)) as client:
        return measure_ahead_s(client, table, clock)


@dataclass(slots=True)
class Observation:
    """The partitions of one run's table, before and after."""

    estimate: dict[str, Any]
    arn: str | None  # of the table's stream; None: it has none
    make_client: Callable[[], Any]
    before: tuple[Shard, ...] | None = None
    missing: list[str] = field(default_factory=list)

    @classmethod
    def look(
        cls, target: Target, described: Mapping[str, Any], facts: Mapping[str, Any], scale: float
    ) -> "Observation":
        """Look at them. `described` is DescribeTable's answer, `facts` what run.json has of it."""
        streams = partial(
            make_client, target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS, service="dynamodbstreams"
        )
        on = (described.get("StreamSpecification") or {}).get("StreamEnabled")
        found = cls(
            _estimate(facts, scale),
            described.get("LatestStreamArn") if on else None,
            streams,
        )
        found.before = found._shards()
        return found

    def noted(self, ended: tuple[float, float] | None = None) -> dict[str, Any]:
        """What `run.json` says of them: when the run begins, or when it has `ended`, from when to when."""
        partitions = {**self.estimate, **self._noted_shards(ended)}
        if self.missing:
            partitions["missing"] = list(dict.fromkeys(self.missing))
        return {"partitions": partitions} if partitions else {}

    def _noted_shards(self, ended: tuple[float, float] | None) -> dict[str, Any]:
        if self.before is None:
            return {}
        after = self._shards() if ended else None
        if ended is None or after is None:
            return {"open_shards": {"before": _open(self.before), "after": None}}
        closed = {shard["ShardId"] for shard in self.before if not is_open(shard)}
        times = [split.at_s for split in splits(after, but=closed)]
        believed = [at if at and ended[0] - MARGIN_S <= at <= ended[1] + MARGIN_S else None for at in times]
        return {
            "open_shards": {"before": _open(self.before), "after": _open(after)},
            "splits": [None if at is None else time_of(at) for at in believed],
        }

    def _shards(self) -> tuple[Shard, ...] | None:
        if self.arn is None:
            return None
        try:
            with closing(self.make_client()) as client:
                return all_shards(client, self.arn)
        except (BotoCoreError, ClientError, TooManyShards) as error:
            self.missing.append(f"the shards of the table's stream, which tell of its partitions: {error}")
            return None


def _open(shards: tuple[Shard, ...]) -> int:
    return sum(map(is_open, shards))


def _estimate(facts: Mapping[str, Any], scale: float) -> dict[str, Any]:
    pairs = (facts.get("warm"), facts.get("provisioned"))
    warm, provisioned = (Capacity(**(pair or {"read": None, "write": None})) for pair in pairs)
    found = estimated(warm, provisioned, scale)
    return {} if found is None else {"estimated": found.count, "because": found.because}
