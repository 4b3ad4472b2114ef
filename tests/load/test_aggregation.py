"""Totals of orders: followed from a stream across splits, written exactly once, and checked."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from threading import Event
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.aggregation.check import TableScan, compared, rate_for
from keyheat.load.aggregation.consumer import Consumer, ShardFollower, TotalsWriter, consumer_for
from keyheat.load.aggregation.orders import (
    OrderTally,
    OrderTotals,
    add_order,
    order_item,
    placed_s,
    sorted_items,
    wrong,
)
from keyheat.load.sidecar import Assignment
from keyheat.load.tables.lifecycle import prepare_table
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.model.units import item_bytes
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.spec.tables import CapacityPair

pytestmark = pytest.mark.opens

SCENARIO = """
format = "keyheat.scenario/1"
name = "orders"
question = "Are the totals right?"
loadtest = "aggregate_stream"
keys = { kind = "uniform", keys = 10 }
[table]
name = "orders-%(number)d"
billing_mode = "PAY_PER_REQUEST"
stream = "NEW_IMAGE"
[[companions]]
name = "totals-%(number)d"
billing_mode = "PAY_PER_REQUEST"
"""


numbers = count()


@pytest.fixture(scope="module")
def shared() -> Iterator[EndpointProcess]:
    """One endpoint for all of these tests, each of which has tables of its own."""
    with EndpointProcess.start(scale=10) as process:
        yield process


@pytest.fixture
def scenario() -> Scenario:
    return scenario_from_dict(tomllib.loads(SCENARIO % {"number": next(numbers)}), "test")


@pytest.fixture
def assignment(shared: EndpointProcess, scenario: Scenario) -> Assignment:
    target = target_at(shared.url)
    for table in (scenario.table, *scenario.companions):
        prepare_table(target, table, "run-1")
    return Assignment(run_id="run-1", url=shared.url, region=target.region, scenario=scenario)


@pytest.fixture
def consumer(assignment: Assignment) -> Iterator[Consumer]:
    made = consumer_for(assignment)
    yield made
    made.writer.close()


@pytest.fixture
def orders(assignment: Assignment) -> "Orders":
    return Orders(assignment)


class Orders:
    """Places orders of random products, and remembers what they come to."""

    def __init__(self, assignment: Assignment) -> None:
        self.client = make_client(target_at(assignment.url, region=assignment.region))
        self.assignment, self.rng, self.totals, self.placed = assignment, Random(3), OrderTotals(), 0

    def place(self, many: int, run_id: str = "run-1") -> None:
        for _ in range(many):
            of = (f"product-{self.rng.randrange(5)}", f"2026-11-{self.rng.randrange(20, 22)}")
            number = f"{1_795_176_000_000 + self.placed}-0-{self.placed}"
            self.placed += 1
            table = self.assignment.scenario.table
            quantity = self.rng.randrange(1, 9)
            item = order_item(table, run_id, number, of, quantity=quantity, size_bytes=300)
            self.client.put_item(TableName=table.name, Item=item)
            if run_id == "run-1":
                add_order(self.totals, item)

    def split(self) -> None:
        """Twice as many partitions: every shard of the stream ends and has two children."""
        warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 8_000}
        name = self.assignment.scenario.table.name
        self.client.update_table(TableName=name, WarmThroughput=warm)
        self.client.describe_table(TableName=name)


def kept(consumer: Consumer) -> OrderTotals:
    table = consumer.writer.table
    return sorted_items(TableScan(consumer.client, table), table, "run-1")[1]


def test_an_order_is_as_large_as_it_is_asked_to_be(scenario: Scenario) -> None:
    of, number = ("product-1", "2026-11-21"), "1795176000123-0000001-000001"
    item = order_item(scenario.table, "run", number, of, quantity=3, size_bytes=1_000)
    assert item_bytes(item) == 1_000
    assert placed_s(number) == 1_795_176_000.123
    small = order_item(scenario.table, "run", number, of, quantity=3, size_bytes=10)
    assert item_bytes(small) > 10  # as small as it can be


def test_totals_are_the_sum_of_the_orders_across_splits(consumer: Consumer, orders: Orders) -> None:
    orders.place(40)
    consumer.step(0.0)
    orders.split()
    orders.place(40)
    orders.place(5, run_id="another-run")  # of a run before this one, say
    consumer.step(1.0)
    orders.place(40)
    outcome = consumer.finish({"orders.placed": 120.0})
    assert kept(consumer) == orders.totals
    assert outcome.problems == []
    assert outcome.said == ["orders: 120 acknowledged, 120 in the totals: equal"]
    expected = {"orders.counted": 120.0, "orders.missing": 0.0, "totals.wrong": 0.0}
    assert {name: outcome.counted[name] for name in expected} == expected
    assert (
        outcome.counted["totals.updates"] == outcome.counted[f"tables.{consumer.writer.table.name}.accepted"]
    )
    assert 0 < outcome.counted["orders.units"] < 120
    assert len(consumer.follower.shards) == 12


def test_a_child_is_read_after_its_parent(consumer: Consumer, orders: Orders) -> None:
    follower = consumer.follower
    orders.place(20)
    orders.split()
    orders.place(20)
    follower.refresh()
    assert len(follower.shards) == 12
    assert follower.readable == 4  # the children wait
    first = [record for page in follower.read() for record in page]
    assert len(first) == 20
    assert follower.readable == 8
    second = [record for page in follower.read() for record in page]
    assert len(second) == 20
    sequence = [int(record["dynamodb"]["SequenceNumber"]) for record in (*first, *second)]
    assert max(sequence[:20]) < min(sequence[20:])


def test_an_iterator_that_expired_or_was_trimmed_is_replaced(consumer: Consumer, orders: Orders) -> None:
    follower = consumer.follower
    orders.place(20)
    follower.refresh()
    assert sum(len(page) for page in follower.read()) == 20
    orders.place(20)

    class Failing:
        """Fails once for each shard, as a stream does whose iterators have aged."""

        exceptions = follower.client.exceptions

        def __init__(self, code: str) -> None:
            self.code, self.failed = code, 0

        def get_records(self, **request: Any) -> Any:
            if self.failed < 4:
                self.failed += 1
                raise follower_client.exceptions.ClientError({"Error": {"Code": self.code}}, "GetRecords")
            return follower_client.get_records(**request)

        def __getattr__(self, name: str) -> Any:
            return getattr(follower_client, name)

    follower_client = follower.client
    follower.client = Failing("ExpiredIteratorException")
    assert sum(len(page) for page in follower.read()) == 0
    assert sum(len(page) for page in follower.read()) == 20  # from where it was, nothing twice
    assert follower.lost == 0
    follower.client = Failing("TrimmedDataAccessException")
    assert sum(len(page) for page in follower.read()) == 0
    assert sum(len(page) for page in follower.read()) == 40  # what is left, from the oldest
    assert follower.lost == 4


def test_a_flush_that_is_sent_again_counts_once(consumer: Consumer) -> None:
    batch: OrderTotals = {
        ("product-1", "2026-11-21"): OrderTally(7, 20),
        ("product-2", "2026-11-21"): OrderTally(1, 1),
    }
    writer = consumer.writer
    writer.flush(batch)
    writer.flushes -= 1  # the answers were lost: the same flush is sent once more
    writer.flush(batch)
    assert kept(consumer) == batch
    assert (writer.updates, writer.repeated) == (4, 2)
    writer.flush(batch)
    assert kept(consumer)[("product-1", "2026-11-21")] == OrderTally(14, 40)
    other = TotalsWriter(consumer.client, writer.table, "run-1", writer="another")
    other.flush(batch)
    other.close()
    assert kept(consumer)[("product-1", "2026-11-21")] == OrderTally(21, 60)


def test_orders_that_never_come_do_not_hold_the_consumer_for_long(consumer: Consumer, orders: Orders) -> None:
    orders.place(3)
    clock, naps = [0.0], []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        clock[0] += seconds

    consumer.catch_up(4, clock=lambda: clock[0], sleep=nap)
    assert consumer.counted == 3
    assert sum(naps) == pytest.approx(5.0, abs=0.3)


def test_the_check_says_what_differs() -> None:
    one, two = ("product-1", "2026-11-21"), ("product-2", "2026-11-21")
    truth: OrderTotals = {one: OrderTally(3, 9), two: OrderTally(1, 2)}
    right = compared(truth, truth, {"orders.placed": 4.0})
    assert right.said == ["orders: 4 acknowledged, 4 in the totals: equal"]
    off = compared({one: OrderTally(3, 8)}, truth, {"orders.placed": 5.0})
    assert off.said == [
        "orders: 5 acknowledged, 3 in the totals: 2 fewer",
        "4 orders are in the table: 1 fewer",
        "2 of 2 totals are wrong",
    ]
    assert off.counted == {
        "orders.counted": 3.0,
        "orders.missing": 2.0,
        "totals.kept": 1.0,
        "totals.wrong": 2.0,
        "totals.check_units": 0.0,
    }
    assert wrong(truth, truth) == 0


def test_the_check_reads_no_faster_than_it_may(consumer: Consumer, orders: Orders) -> None:
    for number in range(20):
        item = {"pk": {"S": f"large-{number}"}, "filler": {"S": "x" * 150_000}}
        orders.client.put_item(TableName=orders.assignment.scenario.table.name, Item=item)
    naps: list[float] = []
    table = consumer.assignment.scenario.table
    items = list(TableScan(consumer.client, table, 100.0, naps.append))
    assert len(items) == 20
    units = 20 * 150_000 / 4096
    assert sum(naps) == pytest.approx(units / 100, rel=0.4)  # all pages but the last
    assert rate_for(table, 1.0) == 1_500
    small = table.model_copy(update={"provisioned": CapacityPair(read=100, write=100)})
    assert (rate_for(small, 1.0), rate_for(table, 0.1)) == (50, 150)


def test_a_consumer_without_a_stream_says_so(assignment: Assignment, scenario: Scenario) -> None:
    for stream in (None, "KEYS_ONLY"):
        table = scenario.table.model_copy(update={"stream": stream})
        without = scenario.model_copy(update={"table": table})
        with pytest.raises(ValueError, match="no stream that shows new images"):
            consumer_for(replace(assignment, scenario=without))
    with pytest.raises(ValueError, match="no companion table"):
        consumer_for(replace(assignment, scenario=scenario.model_copy(update={"companions": ()})))


def test_work_ends_when_the_load_does(consumer: Consumer, orders: Orders) -> None:
    orders.place(10)
    over = Event()
    over.set()
    consumer.work(over)
    assert consumer.counted == 0
    consumer.finish({"orders.placed": 10.0})
    assert consumer.counted == 10


def test_a_follower_of_a_stream_with_pages_of_shards(consumer: Consumer, orders: Orders) -> None:
    orders.split()

    class Paged:
        """DescribeStream with three shards in a page."""

        def describe_stream(self, **request: Any) -> Any:
            return consumer.follower.client.describe_stream(Limit=3, **request)

    follower = ShardFollower(Paged(), consumer.follower.arn)
    follower.refresh()
    assert len(follower.shards) == 12
