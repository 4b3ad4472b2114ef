"""The table's partitions as they were seen from outside: how many, by which sign, and which of them split."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory
from keyheat.model.limits import STREAM_RETENTION_S
from keyheat.runs.formats import PartitionFacts, ShardCounts, TableFacts, Window
from keyheat.runs.manifest import Manifest
from keyheat.runs.partitions import Estimate, TooManyShards, all_shards, estimated, is_open, splits
from keyheat.words import Capacity

KEPT: Final = timedelta(seconds=STREAM_RETENTION_S)  # how long a closed shard can be seen
Found = tuple[PartitionFacts | None, tuple[str, ...]]
"""What is known, and what could not be had."""


def noted(run: Manifest) -> Found:
    """What the run itself looked at when it began and when it ended, else the estimate."""
    if run.partitions is None:
        return by_estimate(run.table, run.scale), ()
    return PartitionFacts(**run.partitions.model_dump(exclude={"missing"})), run.partitions.missing


def by_estimate(table: TableFacts, scale: float = 1.0) -> PartitionFacts | None:
    """At least so many partitions, by what the table serves at once; None where that is not known."""
    found = _estimate(table, scale)
    return None if found is None else PartitionFacts(estimated=found.count, because=found.because)


def looked_at(
    factory: ClientFactory, described: Mapping[str, Any], table: TableFacts, window: Window, now_s: float
) -> Found:
    """A table that others load: its estimate, and the shards that its stream has now, if it has one."""
    estimate = by_estimate(table)
    if not (described.get("StreamSpecification") or {}).get("StreamEnabled"):
        return estimate, ()
    try:
        shards = all_shards(factory("dynamodbstreams"), described["LatestStreamArn"])
    except (BotoCoreError, ClientError, TooManyShards, KeyError) as error:
        return estimate, (f"the shards of the table's stream, which tell of its partitions: {error}",)
    kept = window.start > datetime.fromtimestamp(now_s, UTC) - KEPT
    times = [split.at_s for split in splits(shards) if split.at_s is not None]
    seen = tuple(datetime.fromtimestamp(at_s, UTC) for at_s in times)
    facts = estimate or PartitionFacts()
    return facts.model_copy(
        update={
            "open_shards": ShardCounts(after=sum(map(is_open, shards))),
            "splits": tuple(at for at in seen if window.start <= at < window.end) if kept else None,
        }
    ), ()


def _estimate(table: TableFacts, scale: float) -> Estimate | None:
    return estimated(_throughput(table.warm), _throughput(table.provisioned), scale)


def _throughput(pair: Capacity | None) -> Capacity:
    return Capacity(pair.read, pair.write) if pair else Capacity(None, None)
