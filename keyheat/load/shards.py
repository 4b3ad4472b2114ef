"""Following a stream: each shard from its oldest record to its end, and after its parent.

So the changes of one item are seen in order, across the splits of its partition.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.LowLevel.Walkthrough.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from keyheat.runs.partitions import all_shards

Record = dict[str, Any]


@dataclass(slots=True)
class Followed:
    """One shard: its parent, and where it is to be read next."""

    parent: str | None
    iterator: str | None = None
    ended: bool = False


@dataclass(slots=True)
class ShardFollower:
    """Reads one stream. Its place in each shard is in memory: it ends with the user."""

    client: Any
    arn: str
    shards: dict[str, Followed] = field(default_factory=dict)

    def refresh(self) -> None:
        """Look which shards there are by now."""
        for shard in all_shards(self.client, self.arn):
            self.shards.setdefault(shard["ShardId"], Followed(shard.get("ParentShardId")))

    def read(self) -> Iterator[list[Record]]:
        """One page of every shard that can be read now; an empty page is not given."""
        ended = False
        for shard_id in [name for name, shard in self.shards.items() if self._readable(shard)]:
            records = self._page(shard_id, self.shards[shard_id])
            ended = ended or self.shards[shard_id].ended
            if records:
                yield records
        if ended:
            self.refresh()  # a shard that ends has children

    def _readable(self, shard: Followed) -> bool:
        parent = self.shards.get(shard.parent) if shard.parent is not None else None
        return not shard.ended and (parent is None or parent.ended)

    def _page(self, shard_id: str, shard: Followed) -> list[Record]:
        if shard.iterator is None:
            shard.iterator = self.client.get_shard_iterator(
                StreamArn=self.arn, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
        answer = self.client.get_records(ShardIterator=shard.iterator)
        shard.iterator = answer.get("NextShardIterator")
        shard.ended = shard.iterator is None
        records: list[Record] = answer["Records"]
        return records
