"""What is observed around a load: the service's clock, the stream's shards, partitions, throttled keys.

The shards of the table's stream, looked at when a run begins and when it ends: how many, and which split.
A stream that is not there, or that may not be described, is no failure: a line says what is not known.

What each partition of a local table served and refused, as the endpoint tells it when a run is over.
DynamoDB itself tells nobody: on AWS there is no such record.

Contributor Insights for the time of a run: throttled keys are named while it loads, then it is off again.
Where it is on already, throttled keys are counted in either of its modes, so that nothing is changed there.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from http.client import HTTPException
from typing import Any, Final, TypeVar
from urllib.parse import quote

import gevent
import pyarrow as pa
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.clock import ClockWrong, Skew, measure
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target, page_of
from keyheat.runfiles import time_of
from keyheat.runs.partitions import (
    Shard,
    TooManyShards,
    all_shards,
    estimated,
    is_open,
    known_of,
    partitions_table,
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
            client = self.make_client()
            try:
                return all_shards(client, self.arn)
            finally:
                client.close()
        except (BotoCoreError, ClientError, TooManyShards) as error:
            self.missing += (f"the shards of the table's stream, which tell of its partitions: {error}",)
            return None


def _open(shards: tuple[Shard, ...]) -> int:
    return sum(map(is_open, shards))


PATIENCE_S: Final = 5.0  # an answer that nobody needs is not waited for any longer
LOOK_ATTEMPTS: Final = 3


def check_clock(target: Target, table: str, clock: Callable[[], float]) -> None:
    """Raises `TableError` where this machine's clock is so far off that no run can be made."""
    if target.local:
        return
    client = make_client(target)
    try:
        measure(client, table, clock=clock, sleep=_never, samples=1)
    except ClockWrong as wrong:
        raise TableError(str(wrong)) from wrong
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class Observation:
    """One run's table as it was found. `skew` is None where nobody knows, or on this machine."""

    skew: Skew | None
    stream: StreamShards
    estimate: dict[str, Any]

    @classmethod
    def look(
        cls,
        target: Target,
        described: Mapping[str, Any],
        facts: Mapping[str, Any],
        scale: float,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> "Observation":
        """Look at both. `described` is DescribeTable's answer, `facts` what run.json has of it."""
        patient = partial(make_client, target, timeout_s=PATIENCE_S, attempts=LOOK_ATTEMPTS)
        skew = None
        if not target.local:
            client = patient()
            try:
                skew = measure(client, described["TableName"], clock=clock, sleep=sleep)
            except ClockWrong as wrong:
                raise TableError(str(wrong)) from wrong
            finally:
                client.close()
        stream = StreamShards.look(partial(patient, service="dynamodbstreams"), described)
        return cls(skew, stream, _estimate(facts, scale))

    @property
    def ahead_s(self) -> float:
        """By how much the service's clock is ahead of ours."""
        return self.skew.ahead_s if self.skew else 0.0

    def noted(self) -> dict[str, Any]:
        """The members of `run.json` when the run begins."""
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


def _never(_seconds: float) -> None:
    """One sample needs no pause."""


TOLD_WITHIN_S: Final = 30.0
TOLD_BYTES: Final = 2**28
Told = TypeVar("Told")


class NotTold(Exception):
    """The endpoint does not say what is asked of it; the message says why."""


def partitions_of(target: Target, table: str, start_s: float, end_s: float) -> pa.Table:
    """The rows of `partitions.parquet`, from `start_s` to `end_s`. Raises `NotTold`."""
    page = f"partitions?table={quote(f'arn:aws:dynamodb:{target.region}::table/{table}')}"
    return _told(target, page, lambda said: partitions_table(known_of(said), start_s, end_s))


def faults_of(target: Target) -> Counter[str]:
    """How often each rule of faults has struck since it was set on an endpoint of ours. Raises `NotTold`."""
    return _told(
        target, "faults", lambda said: Counter({rule["name"]: int(rule["struck"]) for rule in said["rules"]})
    )


def _told(target: Target, page: str, read: Callable[[Any], Told]) -> Told:
    """What a page of an endpoint of ours says. Raises `NotTold`."""
    try:
        said = page_of(target, f"/_keyheat/{page}", within_s=TOLD_WITHIN_S, most_bytes=TOLD_BYTES)
        return read(json.loads(said))
    except (OSError, HTTPException) as problem:
        raise NotTold(f"the endpoint did not answer: {problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise NotTold(f"the endpoint answered something else: {problem!r}") from problem


MODE = "THROTTLED_KEYS"
STATUS = "ContributorInsightsStatus"
ON = ("ENABLED", "ENABLING")
ENABLED_WITHIN_S = 120.0
POLL_S, LOCAL_POLL_S = 1.0, 0.1
ATTEMPTS = 4  # of each request, since what stays on costs; none of them does more when it is sent twice


@dataclass(frozen=True, slots=True)
class InsightsState:
    """How Contributor Insights of a table or an index was before the run, as `run.json` says it."""

    table: str
    index: str | None
    status: str
    mode: str | None

    @property
    def was_on(self) -> bool:
        """Whether it was on, and stays as it is."""
        return self.status in ON

    @property
    def named(self) -> dict[str, str]:
        """The request members that name the resource."""
        return {"TableName": self.table} | ({"IndexName": self.index} if self.index else {})

    @property
    def resource(self) -> str:
        """In words."""
        return f"table {self.table}" + (f", index {self.index}" if self.index else "")

    @property
    def put_back_by_hand(self) -> str:
        """The command that turns it off again."""
        index = f" --index-name {self.index}" if self.index else ""
        return (
            f"aws dynamodb update-contributor-insights --table-name {self.table}{index} "
            "--contributor-insights-action DISABLE"
        )


@dataclass(slots=True)
class ThrottledKeys:
    """Contributor Insights of the run's table and its indexes: look, turn on, put back, in this order."""

    target: Target
    before: tuple[InsightsState, ...]
    _changed: bool = False

    @classmethod
    def look(cls, target: Target, description: dict[str, Any]) -> "ThrottledKeys":
        """What is there now; nothing is changed. Raises `TableError`."""
        indexes = [index["IndexName"] for index in description.get("GlobalSecondaryIndexes", [])]
        with _asked(target, "cannot be asked for Contributor Insights") as client:
            found = [_before(client, description["TableName"], index) for index in (None, *indexes)]
        return cls(target, tuple(found))

    def noted(self) -> list[dict[str, Any]]:
        """What was there, for `run.json`: so that a run that was killed can be put back by hand."""
        return [asdict(one) for one in self.before]

    def turn_on(self) -> None:
        """Turn on what is off, and wait until all of it counts. Raises `TableError`."""
        self._changed = True
        with _asked(self.target, "cannot have Contributor Insights turned on") as client:
            for one in self.before:
                if not one.was_on:
                    client.update_contributor_insights(
                        **one.named, ContributorInsightsAction="ENABLE", ContributorInsightsMode=MODE
                    )
            poll_s = LOCAL_POLL_S if self.target.local else POLL_S
            for one in self.before:
                _wait(client, one, poll_s)

    def put_back(self, say: Callable[[str], None]) -> None:
        """Turn off what was off, once; what cannot be put back is said with the command that does it."""
        if not self._changed:
            return
        client = make_client(self.target, attempts=ATTEMPTS)
        for one in self.before:
            if not one.was_on:
                _turn_off(client, one, say)
        client.close()
        self._changed = False

    def left_behind(self) -> list[str]:
        """What is on and was not, in words, with the command that turns it off."""
        if not self._changed:
            return []
        return [
            f"Contributor Insights of {one.resource} stays on, and costs; turn it off with: "
            f"{one.put_back_by_hand}"
            for one in self.before
            if not one.was_on
        ]


@contextmanager
def _asked(target: Target, failed: str) -> Iterator[Any]:
    """A client whose failures are a `TableError`."""
    client = make_client(target, attempts=ATTEMPTS)
    try:
        yield client
    except (ClientError, BotoCoreError) as error:
        raise TableError(f"the table at {target.url} {failed} (--throttled-keys): {error}") from error
    finally:
        client.close()


def _before(client: Any, table: str, index: str | None) -> InsightsState:
    named = {"TableName": table} | ({"IndexName": index} if index else {})
    found = client.describe_contributor_insights(**named)
    return InsightsState(table, index, found[STATUS], found.get("ContributorInsightsMode"))


def _wait(client: Any, one: InsightsState, poll_s: float) -> None:
    late = TableError(f"{one.resource}: Contributor Insights was not on in {ENABLED_WITHIN_S:g} s")
    with gevent.Timeout(ENABLED_WITHIN_S, late):
        while (found := client.describe_contributor_insights(**one.named))[STATUS] != "ENABLED":
            if found[STATUS] == "FAILED":
                why = found.get("FailureException", {}).get("ExceptionDescription", "AWS gave no reason")
                raise TableError(f"{one.resource}: Contributor Insights cannot be turned on: {why}")
            gevent.sleep(poll_s)


def _turn_off(client: Any, one: InsightsState, say: Callable[[str], None]) -> None:
    try:
        client.update_contributor_insights(**one.named, ContributorInsightsAction="DISABLE")
    except client.exceptions.ResourceNotFoundException:
        return  # the table is gone, and this with it
    except (ClientError, BotoCoreError) as error:
        say(
            f"Contributor Insights of {one.resource} stays on, and costs ({error}); turn it off with: "
            f"{one.put_back_by_hand}"
        )
