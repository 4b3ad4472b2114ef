"""The consumer of the orders' stream: reads its shards, adds orders up, keeps totals in a table of their own.

Run beside a load as `python -m keyheat.load.aggregation.consumer`. Its checkpoints are in memory. So each
order is counted exactly once for as long as this one process lives; one that dies leaves the totals behind,
and the run says so. Reading a stream costs no read units of the table.

Following a stream: every shard from its oldest record to its end, children after their parents.
A shard is read only when its parent has been read to the end, so the changes of one item are seen in order
across the splits of its partition.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.LowLevel.Walkthrough.html

Writing what was counted: one UpdateItem for each total that changed since the last time.
Adding is not idempotent, and a request whose answer is lost may have been carried out. So each update says
which flush it belongs to, on the condition that the total has not seen that flush: sent again, it is refused.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from time import monotonic, sleep, time
from typing import Any

from botocore.exceptions import ClientError

from keyheat.load.aggregation.check import ATTEMPTS, TableScan, compared, rate_for
from keyheat.load.aggregation.orders import (
    VIEWS,
    Of,
    OrderTally,
    OrderTotals,
    add_order,
    order_prefix,
    placed_s,
    sorted_items,
    total_update,
)
from keyheat.load.sidecar import Assignment, SidecarOutcome, serve
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.runs.partitions import all_shards
from keyheat.scenario.spec.tables import TableSpec

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
    """Reads one stream. The checkpoints, one for each shard, are in memory: they end with the process."""

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


AT_ONCE = 8
FLUSH = "flush"
FAILED_UNITS = 1.0  # of a small item's update whose condition failed


@dataclass(slots=True)
class TotalsWriter:
    """Adds to the totals of one run; `writer` names it in them."""

    client: Any
    table: TableSpec
    run_id: str
    writer: str
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(AT_ONCE))
    flushes: int = 0
    updates: int = 0
    repeated: int = 0
    units: float = 0.0

    def flush(self, batch: OrderTotals) -> None:
        """Add a batch to the totals. Raises where an update fails for good: the totals are then behind."""
        self.flushes += 1
        flush = f"{self.writer}/{self.flushes}"
        for applied, units in self.pool.map(partial(self._update, flush), batch, batch.values()):
            self.updates += 1
            self.repeated += not applied
            self.units += units

    def close(self) -> None:
        """End the threads."""
        self.pool.shutdown()

    def _update(self, flush: str, of: Of, tally: OrderTally) -> tuple[bool, float]:
        """Whether this very request did it (an earlier try may have), and what it cost."""
        request = guarded(total_update(self.table, self.run_id, of, tally), flush)
        try:
            answer = self.client.update_item(**request, ReturnConsumedCapacity="TOTAL")
        except self.client.exceptions.ConditionalCheckFailedException:
            return False, FAILED_UNITS
        return True, float(answer["ConsumedCapacity"]["CapacityUnits"])


def guarded(update: Mapping[str, Any], flush: str) -> dict[str, Any]:
    """The update with the mark of its flush, refused where the mark is there already."""
    return {
        **update,
        "UpdateExpression": update["UpdateExpression"].replace("SET ", "SET #f = :f, ", 1),
        "ConditionExpression": "attribute_not_exists(#f) OR #f <> :f",
        "ExpressionAttributeNames": {**update["ExpressionAttributeNames"], "#f": FLUSH},
        "ExpressionAttributeValues": {**update["ExpressionAttributeValues"], ":f": {"S": flush}},
    }


FLUSH_EVERY_S = 2.0
REFRESH_EVERY_S = 10.0
IDLE_S = 0.2  # a shard is asked five times a second at most while nothing comes
QUIET_S = 5.0  # after so long without a record everything is taken to have arrived


@dataclass(slots=True)
class Delay:
    """How long after it was placed an order was in its total, seconds."""

    orders: int = 0
    sum_s: float = 0.0
    max_s: float = 0.0

    def note(self, placed: Iterable[float], now_s: float) -> None:
        """These orders are in their totals now."""
        for at_s in placed:
            delay_s = max(0.0, now_s - at_s)
            self.orders += 1
            self.sum_s += delay_s
            self.max_s = max(self.max_s, delay_s)


@dataclass(slots=True)
class Consumer:
    """Follows the stream of the orders; once its records stop coming, what is counted is in the totals."""

    assignment: Assignment
    follower: ShardFollower
    writer: TotalsWriter
    client: Any
    batch: OrderTotals = field(default_factory=OrderTotals)
    delay: Delay = field(default_factory=Delay)
    counted: int = 0
    _placed_s: list[float] = field(default_factory=list)  # of the orders in the batch
    _flush_s: float = 0.0
    _refresh_s: float = 0.0

    def work(self, stop: Event) -> None:
        """Read and count until the load is over."""
        while not stop.is_set():
            if not self.step(monotonic()):
                stop.wait(IDLE_S)

    def step(self, now_s: float) -> bool:
        """Read one page of every shard, and write when it is time to; whether there was something to read."""
        if now_s >= self._refresh_s:
            self.follower.refresh()
            self._refresh_s = now_s + REFRESH_EVERY_S
        some = False
        for records in self.follower.read():
            some = True
            self._count(records)
        if now_s >= self._flush_s:
            self._flush()
            self._flush_s = now_s + FLUSH_EVERY_S
        return some

    def finish(self, counted: Mapping[str, float]) -> SidecarOutcome:
        """Catch up, write the rest, and hold the totals against the orders."""
        self.catch_up(int(counted.get("orders.placed", 0)))
        self._flush()
        self.writer.close()
        table, run_id = self.assignment.scenario.table, self.assignment.run_id
        rate = rate_for(table, self.assignment.scenario.local.scale)
        orders, totals = TableScan(self.client, table, rate), TableScan(self.client, self.writer.table)
        truth, _ = sorted_items(orders, table, run_id)
        _, kept = sorted_items(totals, self.writer.table, run_id)
        outcome = compared(kept, truth, counted, check_units=orders.units + totals.units)
        problems = []
        if self.follower.lost:
            problems.append(f"{self.follower.lost} times records were trimmed before they were read")
        return SidecarOutcome(
            counted={**outcome.counted, **self._numbers()}, said=outcome.said, problems=problems
        )

    def catch_up(
        self,
        placed: int,
        *,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], None] = sleep,
    ) -> None:
        """Read on until every acknowledged order has come, or nothing has for a while."""
        self._refresh_s = 0.0
        last_s = clock()
        while self.counted < placed and clock() - last_s < QUIET_S:
            if self.step(clock()):
                last_s = clock()
            else:
                sleep(IDLE_S)

    def _count(self, records: list[Record]) -> None:
        prefix = order_prefix(self.assignment.run_id)
        name = self.assignment.scenario.table.partition_key
        for record in records:
            key = record["dynamodb"]["Keys"][name]["S"]
            if record["eventName"] == "INSERT" and key.startswith(prefix):
                add_order(self.batch, record["dynamodb"]["NewImage"])
                self._placed_s.append(placed_s(key.removeprefix(prefix)))
                self.counted += 1

    def _flush(self) -> None:
        if self.batch:
            batch, self.batch = self.batch, OrderTotals()
            self.writer.flush(batch)
            self.delay.note(self._placed_s, time())
            self._placed_s = []

    def _numbers(self) -> dict[str, float]:
        table, writer = self.writer.table.name, self.writer
        return {
            "orders.units": writer.units,
            "totals.updates": float(writer.updates),
            "totals.repeated": float(writer.repeated),
            "totals.delay_mean_s": round(self.delay.sum_s / max(1, self.delay.orders), 3),
            "totals.delay_max_s": round(self.delay.max_s, 3),
            f"tables.{table}.accepted": float(writer.updates),
            f"tables.{table}.write_units": writer.units,
        }


def consumer_for(assignment: Assignment) -> Consumer:
    """The consumer of a run. Raises ValueError where the scenario has no stream, or nowhere for totals."""
    scenario = assignment.scenario
    if scenario.table.stream not in VIEWS:
        raise ValueError(f"table {scenario.table.name} has no stream that shows new images")
    if not scenario.companions:
        raise ValueError("the scenario has no companion table for the totals")
    target = target_at(assignment.url, region=assignment.region)
    client = make_client(target, connections=AT_ONCE, attempts=ATTEMPTS)
    streams = make_client(target, service="dynamodbstreams", attempts=ATTEMPTS)
    described = client.describe_table(TableName=scenario.table.name)["Table"]
    return Consumer(
        assignment=assignment,
        follower=ShardFollower(streams, described["LatestStreamArn"]),
        writer=TotalsWriter(client, scenario.companions[0], assignment.run_id, writer=assignment.run_id),
        client=client,
    )


if __name__ == "__main__":
    sys.exit(serve(consumer_for))
