"""An order as it is written, and a total as it is kept: how many orders of a product there were on a day.

Keys begin with the run, so that a table which was loaded before counts nothing twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from keyheat.model.units import item_bytes
from keyheat.runs.partitions import all_shards
from keyheat.scenario.spec.tables import TableSpec

VIEWS = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")  # of a stream, that show what an order is of
PRODUCT, DAY, QUANTITY, ORDERS, FILLER = "product", "day", "quantity", "orders", "filler"
FLUSH = "flush"
Item = dict[str, Any]
Of = tuple[str, str]
"""What a total is of: a product and a day."""


@dataclass(slots=True)
class OrderTally:
    """Orders, and how many pieces were ordered in all."""

    orders: int = 0
    quantity: int = 0

    def add(self, orders: int, quantity: int) -> None:
        """Count some more."""
        self.orders += orders
        self.quantity += quantity


OrderTotals = dict[Of, OrderTally]


def key_of(table: TableSpec, value: str) -> Item:
    """The key of an order or a total; a sort key, where the table has one, says the same again."""
    names = (table.partition_key, *filter(None, [table.sort_key]))
    return {name: {"S": value} for name in names}


def order_prefix(run_id: str) -> str:
    """Return what the keys of a run's orders begin with."""
    return f"{run_id}/order/"


def total_key(run_id: str, of: Of) -> str:
    return f"{run_id}/total/{of[0]}/{of[1]}"


def order_item(table: TableSpec, run_id: str, number: str, of: Of, *, quantity: int, size_bytes: int) -> Item:
    """Make an order of `size_bytes`, or of as many as it needs; `number` begins with its time in ms."""
    product, day = of
    item = {
        **key_of(table, order_prefix(run_id) + number),
        PRODUCT: {"S": product},
        DAY: {"S": day},
        QUANTITY: {"N": str(quantity)},
        FILLER: {"S": ""},
    }
    item[FILLER] = {"S": "x" * max(0, size_bytes - item_bytes(item))}
    return item


def day_of(number: str) -> str:
    """The day on which an order of this number was placed."""
    return f"{datetime.fromtimestamp(placed_s(number), UTC):%Y-%m-%d}"


def placed_s(number: str) -> float:
    """When an order of this number was placed, epoch seconds."""
    return int(number.partition("-")[0]) / 1000


def add_order(totals: OrderTotals, item: Mapping[str, Any]) -> None:
    totals.setdefault(_of(item), OrderTally()).add(1, int(item[QUANTITY]["N"]))


def _of(item: Mapping[str, Any]) -> Of:
    return item[PRODUCT]["S"], item[DAY]["S"]


def total_update(table: TableSpec, run_id: str, of: Of, tally: OrderTally) -> Item:
    """An UpdateItem, or the Update of a transaction, that adds to one total."""
    return {
        "TableName": table.name,
        "Key": key_of(table, total_key(run_id, of)),
        "UpdateExpression": "SET #p = :p, #d = :d ADD #o :o, #q :q",
        "ExpressionAttributeNames": {"#p": PRODUCT, "#d": DAY, "#o": ORDERS, "#q": QUANTITY},
        "ExpressionAttributeValues": {
            ":p": {"S": of[0]},
            ":d": {"S": of[1]},
            ":o": {"N": str(tally.orders)},
            ":q": {"N": str(tally.quantity)},
        },
    }


def guarded(update: Mapping[str, Any], flush: str) -> dict[str, Any]:
    """The update with the mark of its flush, refused where the mark is there already."""
    return {
        **update,
        "UpdateExpression": update["UpdateExpression"].replace("SET ", "SET #f = :f, ", 1),
        "ConditionExpression": "attribute_not_exists(#f) OR #f <> :f",
        "ExpressionAttributeNames": {**update["ExpressionAttributeNames"], "#f": FLUSH},
        "ExpressionAttributeValues": {**update["ExpressionAttributeValues"], ":f": {"S": flush}},
    }


@dataclass(slots=True)
class StreamReader:
    """Reads every record of one stream, each shard from its oldest one."""

    client: Any
    arn: str
    iterators: dict[str, str | None] = field(default_factory=dict)  # by shard; None: it ended

    def refresh(self) -> None:
        """Look for new shards."""
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
