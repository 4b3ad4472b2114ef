"""The consumer of the orders' stream: adds orders up and keeps the totals in a table of their own.

Run beside a load as `python -m keyheat.load.aggregation.consumer`. Its checkpoints are in memory. So each
order is counted exactly once for as long as this one process lives; one that dies leaves the totals behind,
and the run says so. Reading a stream costs no read units of the table.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event
from time import monotonic, sleep, time
from typing import Any

from keyheat.load.aggregation.check import ATTEMPTS, TableScan, compared, rate_for
from keyheat.load.aggregation.orders import VIEWS, Totals, add_order, order_prefix, placed_s, sorted_items
from keyheat.load.aggregation.shards import Record, ShardFollower
from keyheat.load.aggregation.writing import AT_ONCE, TotalsWriter
from keyheat.load.beside.helper import Assignment, Outcome, serve
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at

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
    batch: Totals = field(default_factory=Totals)
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

    def finish(self, counted: Mapping[str, float]) -> Outcome:
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
        return Outcome(counted={**outcome.counted, **self._numbers()}, said=outcome.said, problems=problems)

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
            batch, self.batch = self.batch, Totals()
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
