"""Facts about a table's partitions from outside: their number, its basis, and splits."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory
from keyheat.model.limits import STREAM_RETENTION_S
from keyheat.runs.formats import PartitionFacts, Window
from keyheat.runs.partitions import TooManyShards, all_shards, estimated, is_open, split_times_s
from keyheat.runs.table_facts import TableFacts

KEPT: Final = timedelta(seconds=STREAM_RETENTION_S)  # how long a closed shard stays visible
Observation = tuple[PartitionFacts | None, tuple[str, ...]]
"""The facts, and the problems while reading them."""


def observe(
    factory: ClientFactory, described: Mapping[str, Any], table: TableFacts, window: Window, now_s: float,
    scale: float,
) -> Observation:  # fmt: skip
    """Observe a table under any load: the estimate, and its stream's current shards."""
    facts = estimated(table, scale)
    if not (described.get("StreamSpecification") or {}).get("StreamEnabled"):
        return facts, ()
    try:
        shards = all_shards(factory("dynamodbstreams"), described["LatestStreamArn"])
    except (BotoCoreError, ClientError, TooManyShards, KeyError) as error:
        return facts, (f"the shards of the table's stream, which show its partitions: {error}",)
    kept = window.start > datetime.fromtimestamp(now_s, UTC) - KEPT
    times_s = split_times_s(shards)
    times = [datetime.fromtimestamp(at_s, UTC) for at_s in times_s if at_s is not None]
    timed = kept and len(times) == len(times_s)
    update = {
        "open_shards": sum(map(is_open, shards)),
        "splits": tuple(at for at in times if window.start <= at < window.end) if timed else None,
    }
    return (facts or PartitionFacts()).model_copy(update=update), ()
