"""Reads what was written to sharded keys: every shard that may hold items is asked, and the answers merge."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from heapq import merge
from itertools import chain, islice
from typing import Any

from keyheat.scenario.keys import shard_keys
from keyheat.sharding.client import Client
from keyheat.sharding.metadata import Metadata

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
        """Every shard of a key that may hold items; none where it was never written."""
        shards = self._metadata.read(key)
        return () if shards is None else shard_keys(key, shards.to_read)

    def read(self, key: str, *, limit: int | None = None, descending: bool = False) -> list[Item]:
        """A key's items in order of the sort key, the first `limit` of them.

        The items are as they are stored: their partition key is that of their shard.
        """

        def items_of(shard: str) -> list[Item]:
            return list(islice(self._items(shard, limit, descending), limit))

        found = list(self._each(items_of, self.shard_keys(key)))
        sort_key = self._sort_key
        if sort_key is None:
            return list(islice(chain.from_iterable(found), limit))
        ordered = merge(*found, key=lambda item: sort_value(item[sort_key]), reverse=descending)
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
