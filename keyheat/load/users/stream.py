"""A user that reads the stream of the orders, adds them up, and keeps totals in a table of their own.

Reading a stream costs no units of the table. Its place is in memory: a user that dies has lost it. Sums need
no order: a shard is read beside its parent.

Each total that changed gets one UpdateItem per flush. Adding is not idempotent, and a request whose answer
is lost may have been carried out. So each update has the number of its flush, on the condition that the
total has not seen that flush: sent again, it is refused.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson
from botocore.exceptions import BotoCoreError, ClientError
from gevent.pool import Pool
from locust.exception import StopUser

from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.load.users.aggregation import text_keys
from keyheat.load.users.orders import (
    VIEWS,
    Of,
    OrderTally,
    OrderTotals,
    StreamReader,
    add_order,
    guarded,
    order_prefix,
    placed_s,
    total_key,
    total_update,
)
from keyheat.load.users.outcomes import consumed, failure_of
from keyheat.load.users.user import TableUser
from keyheat.scenario.scenario import Scenario

ATTEMPTS = 10  # of a request to the stream


AT_ONCE: Final = 8  # updates
UPDATE_UNITS: Final = 1.0  # of a total, a small item
TRIES = 10  # of one update
FLUSH_EVERY_S = 2.0
REFRESH_EVERY_S = 10.0
IDLE_S = 0.2  # DynamoDB answers five reads a second of one shard
REFUSED: Final = "ConditionalCheckFailedException"


class StreamUser(TableUser):
    """Reads the stream, and writes what it counted every two seconds; what comes after the last flush is not
    in the totals when the load ends.
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
            yield "the totals need a table of their own @ $.companions"

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        order = self.load.order
        self._run_id, self._prefix = order.run_id, order_prefix(order.run_id)
        self._orders, self._totals = order.scenario.table, order.scenario.companions[0]
        self._batch, self._placed_s = OrderTotals(), list[float]()
        self._reader: StreamReader | None = None
        self._flushes = 0
        self._flush_s = self._refresh_s = 0.0

    def on_start(self) -> None:
        """Begin at once: the stream has a pace of its own."""

    def wait_time(self) -> float:
        """Seconds until the shards are read again."""
        return IDLE_S

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
        reader = self._reader = self._reader or self._find_stream()
        if now_s >= self._refresh_s:
            reader.refresh()
            self._refresh_s = now_s + REFRESH_EVERY_S
        for record in reader.read():
            key = record["dynamodb"]["Keys"][self._orders.partition_key]["S"]
            if record["eventName"] == "INSERT" and key.startswith(self._prefix):
                add_order(self._batch, record["dynamodb"]["NewImage"])
                self._placed_s.append(placed_s(key.removeprefix(self._prefix)))

    def _find_stream(self) -> StreamReader:
        target = target_at(self.load.order.url, region=self.load.order.region)
        described = make_client(target).describe_table(TableName=self._orders.name)["Table"]
        streams = make_client(target, service="dynamodbstreams", attempts=ATTEMPTS)
        return StreamReader(streams, described["LatestStreamArn"])

    def _flush(self) -> None:
        batch, placed, self._batch, self._placed_s = self._batch, self._placed_s, OrderTotals(), []
        self._flushes += 1
        flush = f"{self._run_id}/{self._flushes}"
        written = Pool(AT_ONCE).map(lambda of: self._update(flush, of, batch[of]), batch)
        done = [batch[of].orders for of, was_written in zip(batch, written, strict=True) if was_written]
        self.count("orders.counted", sum(done))
        now_s = self.load.clock()
        for at_s in placed:
            self.load.record.timed("Total", max(0, int((now_s - at_s) * 1e6)))

    def _update(self, flush: str, of: Of, tally: OrderTally) -> bool:
        """Add to one total; whether that was done, by this request or an earlier try."""
        request = guarded(total_update(self._totals, self._run_id, of, tally), flush)
        body, key = orjson.dumps({**request, "ReturnConsumedCapacity": "TOTAL"}), total_key(self._run_id, of)
        try:
            answer = self.send_aside(
                "UpdateItem", body, key=key, direction="write", units=UPDATE_UNITS, table=self._totals.name,
                tries=TRIES,
            )  # fmt: skip
        except StopUser:  # gevent prints what escapes a greenlet
            return False
        if answer.accepted:
            self.count("totals.updates")
            self.count("orders.units", consumed(answer)[0])
        elif answer.error_code == REFUSED:
            self.count("totals.repeated")
        else:
            self.load.record.health.problems.append(f"a total could not be written: {failure_of(answer)}")
            return False
        return True
