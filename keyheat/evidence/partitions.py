"""Facts about a table's partitions from outside: their number, its basis, and splits."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory
from keyheat.model.limits import STREAM_RETENTION_S
from keyheat.runs.formats import PartitionFacts, ShardCounts, TableFacts, Window
from keyheat.runs.manifest import Manifest
from keyheat.runs.partitions import TooManyShards, all_shards, estimated, is_open, splits
from keyheat.words import Capacity

KEPT: Final = timedelta(seconds=STREAM_RETENTION_S)  # how long a closed shard stays visible
Observation = tuple[PartitionFacts | None, tuple[str, ...]]
"""The facts, and the problems while reading them."""


def observed_by(run: Manifest) -> Observation:
    """What the run observed at its start and end, else the estimate."""
    if run.partitions is None:
        return estimate(run.table, run.scale), ()
    return PartitionFacts(**run.partitions.model_dump(exclude={"missing"})), run.partitions.missing


def estimate(table: TableFacts, scale: float = 1.0) -> PartitionFacts | None:
    """Least number of partitions, from the throughput available at once; None if that is unknown."""
    count = estimated(table.warm or Capacity(), table.provisioned or Capacity(), scale)
    return None if count is None else PartitionFacts(estimated=count.count, because=count.because)


def observe(
    factory: ClientFactory, described: Mapping[str, Any], table: TableFacts, window: Window, now_s: float
) -> Observation:
    """Observe a table under any load: the estimate, and its stream's current shards."""
    facts = estimate(table)
    if not (described.get("StreamSpecification") or {}).get("StreamEnabled"):
        return facts, ()
    try:
        shards = all_shards(factory("dynamodbstreams"), described["LatestStreamArn"])
    except (BotoCoreError, ClientError, TooManyShards, KeyError) as error:
        return facts, (f"the shards of the table's stream, which show its partitions: {error}",)
    kept = window.start > datetime.fromtimestamp(now_s, UTC) - KEPT
    times = [split.at_s for split in splits(shards) if split.at_s is not None]
    seen = tuple(datetime.fromtimestamp(at_s, UTC) for at_s in times)
    facts = facts or PartitionFacts()
    return facts.model_copy(
        update={
            "open_shards": ShardCounts(after=sum(map(is_open, shards))),
            "splits": tuple(at for at in seen if window.start <= at < window.end) if kept else None,
        }
    ), ()
