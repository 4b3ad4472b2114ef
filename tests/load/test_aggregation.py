"""Totals of orders: followed from a stream across splits."""

from collections.abc import Iterator
from itertools import count
from random import Random
from time import time
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.load.users.orders import StreamReader, order_item, placed_s
from keyheat.model.units import item_bytes
from keyheat.runs.partitions import all_shards, split_times_s
from keyheat.scenario.scenario import Scenario
from tests.make import ON_DEMAND, a_scenario

pytestmark = pytest.mark.opens

numbers = count()


@pytest.fixture(scope="module")
def shared() -> Iterator[EndpointProcess]:
    """One endpoint for all of these tests, each of which has tables of its own."""
    with EndpointProcess.start(scale=10) as process:
        yield process


@pytest.fixture
def scenario() -> Scenario:
    number = next(numbers)
    return a_scenario(
        loadtest="aggregate_stream",
        keys={"kind": "uniform", "keys": 10},
        table={"name": f"orders-{number}", **ON_DEMAND, "stream": "NEW_IMAGE"},
        companions=[{"name": f"totals-{number}", **ON_DEMAND}],
    )


class Orders:
    """Places orders of random products."""

    def __init__(self, url: str, scenario: Scenario) -> None:
        self.target, self.table, self.totals = target_at(url), scenario.table, scenario.companions[0]
        self.client, self.rng, self.placed = make_client(self.target), Random(3), 0
        for table in (self.table, self.totals):
            RunTables(target=self.target, run_id="run-1", alone=True).prepare(table)

    def place(self, many: int) -> None:
        for _ in range(many):
            number = f"{1_795_176_000_000 + self.placed}-0-{self.placed}"
            self.placed += 1
            item = order_item(self.table, "run-1", number, f"product-{self.rng.randrange(5)}", 300)
            self.client.put_item(TableName=self.table.name, Item=item)

    def split(self) -> None:
        """Twice as many partitions: every shard of the stream ends and has two children."""
        warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 8_000}
        self.client.update_table(TableName=self.table.name, WarmThroughput=warm)
        self.client.describe_table(TableName=self.table.name)


@pytest.fixture
def orders(shared: EndpointProcess, scenario: Scenario) -> Orders:
    return Orders(shared.url, scenario)


@pytest.fixture
def reader(orders: Orders) -> StreamReader:
    arn = orders.client.describe_table(TableName=orders.table.name)["Table"]["LatestStreamArn"]
    return StreamReader(make_client(orders.target, service="dynamodbstreams"), arn)


def test_every_record_of_a_stream_is_read_once_across_splits(reader: StreamReader, orders: Orders) -> None:
    orders.place(20)
    reader.refresh()
    first = [*reader.read()]
    assert (len(first), len(reader.iterators)) == (20, 4)
    orders.split()
    orders.place(20)
    reader.refresh()
    second = [*reader.read(), *reader.read()]
    assert sum(iterator is None for iterator in reader.iterators.values()) == 4  # they have children
    assert (len(second), len(reader.iterators)) == (20, 12)
    assert len({record["eventID"] for record in (*first, *second)}) == 40
    times = split_times_s(all_shards(reader.client, reader.arn))
    assert len(times) == 4
    assert all(at_s is not None and abs(at_s - time()) < 60 for at_s in times)


def test_an_order_is_as_large_as_it_is_asked_to_be(scenario: Scenario) -> None:
    number = "1795176000123-0000001-000001"
    item = order_item(scenario.table, "run", number, "product-1", 1_000)
    assert item_bytes(item) == 1_000
    assert placed_s(number) == 1_795_176_000.123
    small = order_item(scenario.table, "run", number, "product-1", 10)
    assert item_bytes(small) > 10  # as small as it can be


def test_a_stream_with_pages_of_shards(reader: StreamReader, orders: Orders) -> None:
    orders.split()

    class Paged:
        """DescribeStream with three shards in a page."""

        def describe_stream(self, **request: Any) -> Any:
            return reader.client.describe_stream(Limit=3, **request)

        get_shard_iterator = reader.client.get_shard_iterator

    paged = StreamReader(Paged(), reader.arn)
    paged.refresh()
    assert len(paged.iterators) == 12
