"""Orders, their totals and the stream that shows them, as plain values.

All keys begin with the run, so that a table that was loaded before counts nothing twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from keyheat.model.units import item_bytes
from keyheat.runs.partitions import all_shards
from keyheat.scenario.spec.tables import TableSpec

PRODUCT, DAY, ORDERS, FILLER = "product", "day", "orders", "filler"
VIEWS: Final = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")  # of a stream that shows an order's product
TOTAL_UNITS: Final = 1.0  # of an update of a total, which is a small item
Item = dict[str, Any]
Group = tuple[str, str]
"""A product and a day."""


def key_of(table: TableSpec, value: str) -> Item:
    """The key of an order or a total; a sort key, if the table has one, repeats it."""
    names = (table.partition_key, *filter(None, [table.sort_key]))
    return {name: {"S": value} for name in names}


def order_prefix(run_id: str) -> str:
    return f"{run_id}/order/"


def total_key(run_id: str, group: Group) -> str:
    return f"{run_id}/total/{group[0]}/{group[1]}"


def order_item(table: TableSpec, run_id: str, number: str, product: str, size_bytes: int) -> Item:
    """An order of `size_bytes`, or as many as it needs; `number` begins with its time in milliseconds."""
    day = f"{datetime.fromtimestamp(placed_s(number), UTC):%Y-%m-%d}"
    item = {
        **key_of(table, order_prefix(run_id) + number),
        PRODUCT: {"S": product},
        DAY: {"S": day},
        FILLER: {"S": ""},
    }
    item[FILLER] = {"S": "x" * max(0, size_bytes - item_bytes(item))}
    return item


def placed_s(number: str) -> float:
    """When an order of this number was placed, epoch seconds."""
    return int(number.partition("-")[0]) / 1000


def group_of(item: Mapping[str, Any]) -> Group:
    return item[PRODUCT]["S"], item[DAY]["S"]


def total_update(table: TableSpec, run_id: str, group: Group, orders: int) -> Item:
    """An UpdateItem, or the Update of a transaction, that adds orders to a total."""
    return {
        "TableName": table.name,
        "Key": key_of(table, total_key(run_id, group)),
        "UpdateExpression": "SET #p = :p, #d = :d ADD #o :o",
        "ExpressionAttributeNames": {"#p": PRODUCT, "#d": DAY, "#o": ORDERS},
        "ExpressionAttributeValues": {
            ":p": {"S": group[0]}, ":d": {"S": group[1]}, ":o": {"N": str(orders)},
        },
    }  # fmt: skip


@dataclass(slots=True)
class StreamReader:
    """Reads every record of one stream, each shard from its oldest one."""

    client: Any
    arn: str
    iterators: dict[str, str | None] = field(default_factory=dict)  # by shard; None: it ended

    def refresh(self) -> None:
        for shard in all_shards(self.client, self.arn):
            if shard["ShardId"] not in self.iterators:
                self.iterators[shard["ShardId"]] = self.client.get_shard_iterator(
                    StreamArn=self.arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
                )["ShardIterator"]

    def read(self) -> Iterator[dict[str, Any]]:
        """The records of one page of every shard."""
        unread = {shard: iterator for shard, iterator in self.iterators.items() if iterator is not None}
        for shard, iterator in unread.items():
            page = self.client.get_records(ShardIterator=iterator)
            self.iterators[shard] = page.get("NextShardIterator")
            yield from page["Records"]
