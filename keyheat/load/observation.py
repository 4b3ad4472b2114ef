"""What is observed around a load: the service's clock, and the shards of the table's stream.

The shards of the table's stream, looked at when a run begins and when it ends: how many, and which split.
A stream that is not there, or that may not be described, is no failure: a line says what is not known.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.clock import ClockWrong, Skew, measure
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.runfiles import time_of
from keyheat.runs.partitions import (
    Shard,
    TooManyShards,
    all_shards,
    estimated,
    is_open,
    splits,
)
from keyheat.words import Capacity

MARGIN_S: Final = 60.0  # how far from the run the time in a shard's id may lie to be believed
MakeClient = Callable[[], Any]


@dataclass(slots=True)
class StreamShards:
    """The stream of one table, as it was at the beginning; `arn` is None where none is on."""

    make_client: MakeClient
    arn: str | None
    before: tuple[Shard, ...] | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def look(cls, make_client: MakeClient, described: Mapping[str, Any]) -> "StreamShards":
        """The shards now; `described` is DescribeTable's answer."""
        on = (described.get("StreamSpecification") or {}).get("StreamEnabled")
        found = cls(make_client, described.get("LatestStreamArn") if on else None)
        found.before = found._shards()
        return found

    def noted(self) -> dict[str, Any]:
        """What `run.json` says of them when a run begins."""
        if self.before is None:
            return {}
        return {"open_shards": {"before": _open(self.before), "after": None}}

    def noted_at_end(self, started_s: float, ended_s: float) -> dict[str, Any]:
        """What it says when the run has ended; times are the service's."""
        if self.before is None:
            return {}
        after = self._shards()
        if after is None:
            return self.noted()
        closed = {shard["ShardId"] for shard in self.before if not is_open(shard)}
        times = [split.at_s for split in splits(after, but=closed)]
        believed = [at if at and started_s - MARGIN_S <= at <= ended_s + MARGIN_S else None for at in times]
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
            self.missing += (f"the shards of the table's stream, which tell of its partitions: {error}",)
            return None


def _open(shards: tuple[Shard, ...]) -> int:
    return sum(map(is_open, shards))


PATIENCE_S: Final = 5.0  # an answer that nobody needs is not waited for any longer
LOOK_ATTEMPTS: Final = 3


def service_clock(target: Target, table: str, clock: Callable[[], float]) -> Skew | None:
    """The service's clock against ours; None on this machine, or where nobody knows.

    Raises `TableError` where they are so far apart that no run can be made.
    """
    if target.local:
        return None
    with closing(make_client(target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS)) as client:
        try:
            return measure(client, table, clock)
        except ClockWrong as wrong:
            raise TableError(str(wrong)) from wrong


@dataclass(frozen=True, slots=True)
class Observation:
    """One run's table as it was found. `skew` is None where nobody knows, or on this machine."""

    skew: Skew | None
    stream: StreamShards
    estimate: dict[str, Any]

    @classmethod
    def look(
        cls, target: Target, described: Mapping[str, Any], facts: Mapping[str, Any], scale: float,
        clock: Callable[[], float],
    ) -> "Observation":  # fmt: skip
        """Look at both. `described` is DescribeTable's answer, `facts` what run.json has of it."""
        skew = service_clock(target, described["TableName"], clock)
        client = partial(
            make_client, target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS, service="dynamodbstreams"
        )
        return cls(skew, StreamShards.look(client, described), _estimate(facts, scale))

    @property
    def ahead_s(self) -> float:
        return self.skew.ahead_s if self.skew else 0.0

    def noted(self) -> dict[str, Any]:
        return self._noted(self.stream.noted())

    def noted_at_end(self, started_s: float, ended_s: float) -> dict[str, Any]:
        """The same when it has ended; both times are of this machine."""
        return self._noted(self.stream.noted_at_end(started_s + self.ahead_s, ended_s + self.ahead_s))

    def _noted(self, shards: dict[str, Any]) -> dict[str, Any]:
        partitions = {**self.estimate, **shards}
        if self.stream.missing:
            partitions["missing"] = list(dict.fromkeys(self.stream.missing))
        skew = {"clock_skew_s": round(self.skew.ahead_s, 3)} if self.skew else {}
        return {**skew, **({"partitions": partitions} if partitions else {})}


def _estimate(facts: Mapping[str, Any], scale: float) -> dict[str, Any]:
    pairs = (facts.get("warm"), facts.get("provisioned"))
    warm, provisioned = (Capacity(**(pair or {"read": None, "write": None})) for pair in pairs)
    found = estimated(warm, provisioned, scale)
    return {} if found is None else {"estimated": found.count, "because": found.because}
