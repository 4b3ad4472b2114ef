"""Reads what was written to sharded keys: every shard that may hold items is asked, and the answers merge."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from heapq import merge
from itertools import chain, islice
from time import time
from typing import Any

from keyheat.scenario.keys import shard_key
from keyheat.sharding.client import Client, Note, no_callback
from keyheat.sharding.knowledge import Policy
from keyheat.sharding.metadata import Metadata, Shards

Item = dict[str, Any]
Each = Callable[[Callable[[str], list[Item]], Iterable[str]], Iterable[list[Item]]]


def sort_value(attribute: Mapping[str, Any]) -> Any:
    """A key's value as DynamoDB orders it: strings by their UTF-8 bytes, which is by code points.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
    """
    text: str | None = attribute.get("S")
    if text is not None:
        return text
    ((kind, value),) = attribute.items()
    if kind == "N":
        return Decimal(value)
    return value if isinstance(value, bytes) else b64decode(value)


class ShardReader:
    """Reads whole collections. What was acknowledged before a read began is in it, however the number of
    shards changes meanwhile: the metadata is read anew each time, and strongly consistent.

    `each` maps a function over the shards: the built-in `map` asks one after the other, an executor's `map`
    all at once. `consistent`: the shards' own queries, too, are strongly consistent, and cost twice as much.
    """

    def __init__(
        self,
        client: Client,
        table: str,
        metadata: Metadata,
        *,
        partition_key: str = "pk",
        sort_key: str | None = None,
        consistent: bool = False,
        each: Each = map,
    ) -> None:
        self._client = client
        self._table = table
        self._metadata = metadata
        self._partition_key = partition_key
        self._sort_key = sort_key
        self._consistent = consistent
        self._each = each

    def shard_keys(self, key: str) -> tuple[str, ...]:
        shards = self._metadata.read(key)
        return () if shards is None else tuple(shard_key(key, number) for number in range(shards.to_read))

    def read(self, key: str, *, limit: int | None = None, descending: bool = False) -> list[Item]:
        """A key's items in order of the sort key, the first `limit` of them.

        The items are as they are stored: their partition key is that of their shard.
        """

        def items_of(shard: str) -> list[Item]:
            return list(islice(self._items(shard, limit, descending), limit))

        items = list(self._each(items_of, self.shard_keys(key)))
        sort_key = self._sort_key
        if sort_key is None:
            return list(islice(chain.from_iterable(items), limit))
        ordered = merge(*items, key=lambda item: sort_value(item[sort_key]), reverse=descending)
        return list(islice(ordered, limit))

    def _items(self, shard: str, limit: int | None, descending: bool) -> Iterator[Item]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": {"#p": self._partition_key},
            "ExpressionAttributeValues": {":p": {"S": shard}},
            "ConsistentRead": self._consistent,
            "ScanIndexForward": not descending,
        }
        if limit is not None:
            request["Limit"] = limit
        while True:
            page = self._client.query(**request)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class ShardShrinker:
    """Lowers numbers of shards. No item moves: those of the higher shards stay where they are, and readers
    find them there until they have expired or been deleted, and the shards been forgotten."""

    def __init__(
        self,
        metadata: Metadata,
        policy: Policy,
        *,
        note: Note = no_callback,
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
                self._date(key, after)
                return True
            self._note("shards.conflicts", 1)

    def forget(self, key: str, is_empty: Callable[[str], bool]) -> int:
        """Forget shards that are no longer written to and are empty, from the highest down; gives how many.

        `is_empty` is asked with a shard's key, once no writer can still write there by what it knew before:
        until `settle_s` after the last change nothing is asked and nothing forgotten. Nor is it where the
        metadata changed while we asked; try again later.
        """
        shards = self._metadata.read(key)
        if shards is None or shards.to_read == shards.number:
            return 0
        if not shards.dated_after_lowering:
            self._date(key, shards)
            return 0
        if self._clock() - shards.updated_s < self._policy.settle_s:
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

    def _date(self, key: str, shards: Shards) -> None:
        """Date a lower number of shards by a moment at which it was in force.

        The request that lowered it was dated before it was sent, and may have taken longer than `settle_s`.
        Where somebody changed the metadata meanwhile, `forget` does it.
        """
        if shards.to_read > shards.number:
            after = shards.remembered(shards.to_read, self._clock(), keep=self._policy.history)
            self._metadata.replace(key, shards, after)


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
