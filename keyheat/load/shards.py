"""Following a stream: each shard from its oldest record to its end, and after its parent.

So the changes of one item are seen in order, across the splits of its partition.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.LowLevel.Walkthrough.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from keyheat.runs.partitions import all_shards

Record = dict[str, Any]
OLDEST = "TRIM_HORIZON"


@dataclass(slots=True)
class Followed:
    """One shard: its parent, where it is to be read next, and how far it has been read."""

    parent: str | None
    iterator: str | None = None
    last: str | None = None  # sequence number of the last record that was read
    ended: bool = False


@dataclass(slots=True)
class ShardFollower:
    """Reads one stream. The checkpoints, one for each shard, are in memory: they end with the user."""

    client: Any
    arn: str
    shards: dict[str, Followed] = field(default_factory=dict)
    lost: int = 0
    """How often records were trimmed before they could be read."""

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

    @property
    def readable(self) -> int:
        """How many shards can be read now."""
        return sum(self._readable(shard) for shard in self.shards.values())

    def _readable(self, shard: Followed) -> bool:
        parent = self.shards.get(shard.parent) if shard.parent is not None else None
        return not shard.ended and (parent is None or parent.ended)

    def _page(self, shard_id: str, shard: Followed) -> list[Record]:
        if shard.iterator is None:
            shard.iterator = self._begin(shard_id, shard)
        try:
            answer = self.client.get_records(ShardIterator=shard.iterator)
        except ClientError as error:
            self._begin_again(shard, error)
            return []
        records: list[Record] = answer["Records"]
        if records:
            shard.last = records[-1]["dynamodb"]["SequenceNumber"]
        shard.iterator = answer.get("NextShardIterator")
        shard.ended = shard.iterator is None
        return records

    def _begin(self, shard_id: str, shard: Followed) -> str:
        where = {"ShardIteratorType": OLDEST}
        if shard.last is not None:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": shard.last}
        asked = {"StreamArn": self.arn, "ShardId": shard_id}
        try:
            return str(self.client.get_shard_iterator(**asked, **where)["ShardIterator"])
        except self.client.exceptions.TrimmedDataAccessException:
            self.lost += 1
            oldest = self.client.get_shard_iterator(**asked, ShardIteratorType=OLDEST)
            return str(oldest["ShardIterator"])

    def _begin_again(self, shard: Followed, error: ClientError) -> None:
        """An iterator that is of no use any more is replaced; raises any other error again."""
        code = error.response["Error"]["Code"]
        if code == "TrimmedDataAccessException":
            self.lost += 1
            shard.last = None
        elif code != "ExpiredIteratorException":
            raise error
        shard.iterator = None
