"""Makes reads cheap again: fewer shards for a key, and, once the others are empty, fewer to look at."""

from collections.abc import Callable
from time import time

from keyheat.scenario.keys import shard_key
from keyheat.sharding.client import Client, Note, nobody_is_told
from keyheat.sharding.metadata import Metadata
from keyheat.sharding.policy import Policy
from keyheat.sharding.state import Shards


class ShardShrinker:
    """Lowers numbers of shards. No item moves: those of the higher shards stay where they are, and readers
    find them there until they have expired or been deleted, and the shards been forgotten."""

    def __init__(
        self,
        metadata: Metadata,
        policy: Policy,
        *,
        note: Note = nobody_is_told,
        clock: Callable[[], float] = time,
    ) -> None:
        self._metadata = metadata
        self._policy = policy
        self._note = note
        self._clock = clock

    def shrink(self, key: str, number: int) -> bool:
        """Write to only `number` shards from now on; False where the key has no more than that already.

        Raises `ValueError` for a number below 1.
        """
        if number < 1:
            raise ValueError(f"a key has at least one shard, not {number}")
        while True:
            shards = self._metadata.read(key)
            if shards is None or shards.number <= number:
                return False
            after = shards.changed(number, self._clock(), keep=self._policy.history)
            if self._metadata.replace(key, shards, after):
                self._note("shards.shrinks", 1)
                return True
            self._note("shards.conflicts", 1)

    def forget(self, key: str, is_empty: Callable[[str], bool]) -> int:
        """Forget shards that are no longer written to and are empty, from the highest down; gives how many.

        `is_empty` is asked with a shard's key, once no writer can still write there by what it knew before:
        until `settle_s` after the last change nothing is asked and nothing forgotten. Nor is it where the
        metadata changed while we asked; try again later.
        """
        shards = self._metadata.read(key)
        if shards is None or self._clock() - shards.updated_s < self._policy.settle_s:
            return 0
        number = _in_use(key, shards, is_empty)
        if number == shards.to_read:
            return 0
        after = shards.forgotten(number, self._clock(), keep=self._policy.history)
        if self._metadata.replace(key, shards, after):
            self._note("shards.forgotten", shards.to_read - number)
            return shards.to_read - number
        self._note("shards.conflicts", 1)
        return 0


def empty_in(client: Client, table: str, *, partition_key: str = "pk") -> Callable[[str], bool]:
    """Looks whether a shard is empty: a strongly consistent query for one item."""

    def is_empty(shard: str) -> bool:
        page = client.query(
            TableName=table,
            KeyConditionExpression="#p = :p",
            ExpressionAttributeNames={"#p": partition_key},
            ExpressionAttributeValues={":p": {"S": shard}},
            ConsistentRead=True,
            Limit=1,
        )
        return not page["Items"]

    return is_empty


def _in_use(key: str, shards: Shards, is_empty: Callable[[str], bool]) -> int:
    """One more than the highest shard that is written to or holds items."""
    number = shards.to_read
    while number > shards.number and is_empty(shard_key(key, number - 1)):
        number -= 1
    return number
