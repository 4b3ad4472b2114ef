"""Users that read what others wrote: one item, one shard's page, or a whole sharded collection in order."""

from typing import Any

import orjson

from generator.transport.answer import Answer
from generator.users.collections import Item, Page, check_order, read_collection
from generator.users.user import TableUser, consumed
from tablemodel.keys import shard_keys
from tablemodel.units import read_units

PAGE_ITEMS = 25


class Incomplete(Exception):
    """A page of a collection was throttled or failed; the record has counted it, and there is no answer."""


class ShardReader(TableUser):
    """Reads sharded collections. Each read costs a query for every shard: the price of the suffix."""

    abstract = True
    needs_sort_key = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        table = self.load.order.scenario.table
        assert table.sort_key is not None, "checked before the run"
        self._table = table.name
        self._names = {"#p": table.partition_key}
        self._partition_key, self._sort_key = table.partition_key, table.sort_key
        self._expected_units = read_units(
            PAGE_ITEMS * self.load.order.scenario.load.item_bytes, consistent=False
        )

    def read_all_shards(self, key: str, *, limit: int) -> list[Item]:
        """The first `limit` items of a sharded key, in order; none where a page of it was throttled."""
        try:
            return read_collection(shard_keys(key, self.shards), self._sort_key, self.page, limit=limit)
        except Incomplete:
            return []

    def page(self, shard: str, start: Item | None) -> Page:
        """One page of one shard. Raises `Incomplete`, and `OutOfOrder` where the sort keys do not ascend."""
        request = {
            "TableName": self._table,
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": self._names,
            "ExpressionAttributeValues": {":p": {"S": shard}},
            "Limit": PAGE_ITEMS,
            "ReturnConsumedCapacity": "TOTAL",
            **({"ExclusiveStartKey": start} if start else {}),
        }
        answer = self.send(
            "Query", orjson.dumps(request), key=shard, direction="read", units=self._expected_units
        )
        if not answer.accepted:
            raise Incomplete
        content = answer.content()
        self._expected_units = consumed(answer)[0]
        check_order(content["Items"], self._sort_key)
        return content["Items"], content.get("LastEvaluatedKey")

    def get(self, key: str, *, sort_key: str) -> Answer:
        """Read one item, and see the newest write of it."""
        request = {
            "TableName": self._table,
            "Key": {self._partition_key: {"S": key}, self._sort_key: {"S": sort_key}},
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "TOTAL",
        }
        units = read_units(self.load.order.scenario.load.item_bytes, consistent=True)
        return self.send("GetItem", orjson.dumps(request), key=key, direction="read", units=units)
