"""Users that place orders, and users that count the orders of each product and day: by scan or by stream.

The key pattern of the scenario draws products; an order's own key is new each time, so orders spread evenly.
All keys begin with the run, so that a table that was loaded before counts nothing twice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from gevent.pool import Pool
from locust.exception import StopUser

from keyheat.load.pacer import OwnPace
from keyheat.load.transport.answer import Answer
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.load.users.outcomes import RequestPart, Transaction, consumed
from keyheat.load.users.user import TableUser
from keyheat.model.units import item_bytes, write_units
from keyheat.runs.partitions import all_shards
from keyheat.scenario.scenario import Scenario
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
    """The members of an UpdateItem, or of a transaction's Update, that adds orders to a total."""
    return {
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


def text_keys(scenario: Scenario) -> Iterator[str]:
    """Orders and totals are found by the text that their keys begin with."""
    tables = {"$.table": scenario.table}
    tables |= {f"$.companions[{number}]": table for number, table in enumerate(scenario.companions)}
    for path, table in tables.items():
        for side in ("partition_key_type", "sort_key_type"):
            if getattr(table, side) != "S":
                yield f"keys of orders and totals are text @ {path}.{side}"


class OrderUser(TableUser):
    """Places orders, each of one product; by itself, or together with the total that it changes."""

    abstract = True
    only_ours = "its orders have keys of text that name the run"

    lacks = staticmethod(text_keys)

    def place(self) -> None:
        key, item, units = self._new_order()
        self._placed(self.ask("PutItem", key, units, Item=item))

    def place_with_total(self) -> None:
        """Write one order and add it to its total, in one transaction."""
        key, item, units = self._new_order()
        run_id, group, table = self.load.order.run_id, group_of(item), {"TableName": self.table.name}
        update = table | total_update(self.table, run_id, group, 1)
        total = RequestPart(total_key(run_id, group), None, 2 * TOTAL_UNITS)
        members: Item = {"TransactItems": [{"Put": table | {"Item": item}}, {"Update": update}]}
        if self.load.retries is not None:  # a request with a token that is sent again is not done again
            members["ClientRequestToken"] = key.removeprefix(order_prefix(run_id))
        note = Transaction([RequestPart(key, None, 2 * units), total])
        self._placed(self.ask("TransactWriteItems", total.key, note.units, note=note, **members))

    def _new_order(self) -> tuple[str, Item, float]:
        """An order's key, its item, and the units that writing it costs."""
        number, run_id = self.next_sort_key(), self.load.order.run_id
        size = self.load.items.draw_size(self.rng)
        item = order_item(self.table, run_id, number, self.draw_key(), size)
        return order_prefix(run_id) + number, item, write_units(0, size)

    def _placed(self, answer: Answer) -> None:
        if answer.accepted:
            self.count("orders.placed")
            self.count("orders.units", consumed(answer)[0])


REPORTS = 5  # over the run, but
REPORT_WITHIN_S = (2.0, 10.0)  # neither more often nor more seldom than this
SMALLER: Final = {"ProjectionExpression": "#p, #d", "ExpressionAttributeNames": {"#p": PRODUCT, "#d": DAY}}
"""Asks for a smaller answer, for the same units."""


class ReportUser(TableUser):
    """Scans the orders from time to time and counts them; a report takes as long as it takes.

    Reports come at their own times: they are no part of the load that the scenario states.
    """

    abstract = True
    only_ours = "a report reads the whole table, again and again"

    @classmethod
    def not_sampled(cls, scenario: Scenario) -> str:
        return "scans all that was written by then"

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        least_s, most_s = REPORT_WITHIN_S
        duration_s = self.load.order.scenario.load.duration_s
        self.pace = OwnPace(min(most_s, max(least_s, duration_s / REPORTS)))
        self._page_units = 0.5  # of the last page that was read

    def report(self) -> None:
        """Read products and days of all orders, page by page; timed as a whole."""
        began_s, request = self.elapsed_s, dict[str, Any](SMALLER)
        while True:  # page by page; one that is throttled ends it
            answer = self.ask("Scan", "report", self._page_units, **request)
            if not answer.accepted:
                break
            self._page_units = consumed(answer)[0]
            self.count("orders.units", self._page_units)
            request["ExclusiveStartKey"] = answer.content().get("LastEvaluatedKey")
            if request["ExclusiveStartKey"] is None:
                break
        self.count("totals.reports" if answer.accepted else "totals.incomplete_reports")
        self.load.record.timed("Report.logical", int((self.elapsed_s - began_s) * 1e6))


ATTEMPTS = 10  # of a request to the stream
AT_ONCE = 8  # updates
FLUSH_EVERY_S = 2.0
REFRESH_EVERY_S = 10.0
IDLE_S = 0.2  # DynamoDB answers five reads a second of one shard


class StreamUser(TableUser):
    """Reads the stream of the orders, and adds what it counted to the totals every two seconds.

    Reading a stream costs no units of the table. Sums need no order: a shard is read beside its parent. The
    place in the stream is in memory, so what comes after the last flush is not in the totals.
    """

    abstract = True
    only_ours = "its totals need a stream of the table"

    @classmethod
    def not_sampled(cls, scenario: Scenario) -> str:
        return "counts what the table's stream shows"

    @classmethod
    def lacks(cls, scenario: Scenario) -> Iterator[str]:
        """A stream that shows the orders, and a table for the totals."""
        yield from text_keys(scenario)
        if scenario.table.stream not in VIEWS:
            yield f"the totals come from the table's stream: say one of {', '.join(VIEWS)} @ $.table.stream"
        if not scenario.companions:
            yield "the totals need their own table @ $.companions"

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._batch, self._placed_s = Counter[Group](), list[float]()
        self._reader: StreamReader | None = None
        self._flush_s = self._refresh_s = 0.0
        self.pace = OwnPace(IDLE_S)

    def count_orders(self) -> None:
        """Read one page of every shard, and write the totals when it is time to."""
        now_s = self.elapsed_s
        try:
            self._read(now_s)
        except (BotoCoreError, ClientError) as error:
            self.load.record.health.problems.append(f"the stream could not be read: {error}")
            raise StopUser from error
        if now_s >= self._flush_s:
            self._flush()
            self._flush_s = now_s + FLUSH_EVERY_S

    def _read(self, now_s: float) -> None:
        if self._reader is None:
            target = target_at(self.load.order.url, region=self.load.order.region)
            described = make_client(target).describe_table(TableName=self.table.name)["Table"]
            streams = make_client(target, service="dynamodbstreams", attempts=ATTEMPTS)
            self._reader = StreamReader(streams, described["LatestStreamArn"])
        reader = self._reader
        if now_s >= self._refresh_s:
            reader.refresh()
            self._refresh_s = now_s + REFRESH_EVERY_S
        prefix = order_prefix(self.load.order.run_id)
        for record in reader.read():
            key = record["dynamodb"]["Keys"][self.table.partition_key]["S"]
            if record["eventName"] == "INSERT" and key.startswith(prefix):
                self._batch[group_of(record["dynamodb"]["NewImage"])] += 1
                self._placed_s.append(placed_s(key.removeprefix(prefix)))

    def _flush(self) -> None:
        batch, placed, self._batch, self._placed_s = self._batch, self._placed_s, Counter(), []
        counted = Pool(AT_ONCE).map(lambda group: self._update(group, batch[group]), batch)
        self.count("orders.counted", sum(counted))
        now_s = self.load.clock()
        for at_s in placed:
            self.load.record.timed("Total.logical", max(0, int((now_s - at_s) * 1e6)))

    def _update(self, group: Group, orders: int) -> int:
        """Add to one total; returns the orders that were added. Throttled ones are for the next time."""
        run_id, table = self.load.order.run_id, self.load.order.scenario.companions[0]
        key, members = total_key(run_id, group), total_update(table, run_id, group, orders)
        try:
            answer = self.ask("UpdateItem", key, TOTAL_UNITS, table=table.name, **members)
        except StopUser:  # gevent prints what escapes a greenlet
            return 0
        if answer.throttled:
            self._batch[group] += orders
            return 0
        if not answer.accepted:  # it may have been carried out
            self.load.record.health.problems.append(f"a total could not be written: {answer.failure_name}")
            return 0
        self.count("totals.updates")
        self.count("orders.units", consumed(answer)[0])
        return orders
