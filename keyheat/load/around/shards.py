"""The shards of the table's stream, looked at when a run begins and when it ends: how many, and which split.

A stream that is not there, or that may not be described, is no failure: a line says what is not known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.runfiles import time_of
from keyheat.runs.partitions import Shard, TooManyShards, all_shards, is_open, splits

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
