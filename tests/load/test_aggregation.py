"""Totals of orders: followed from a stream across splits."""

import pytest

from keyheat.load.tables.control import creation
from keyheat.model.units import item_bytes
from keyheat.runs.partitions import all_shards, split_times_s
from tests.endpoint.clients import service_app_at
from tests.make import ON_DEMAND, a_spec

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")  # this process has other tests
    from keyheat.load.users.aggregation import StreamReader, order_item, placed_s

TABLE = a_spec(name="orders", stream="NEW_IMAGE", **ON_DEMAND)
SPLIT = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 8_000}
"""Twice as many partitions: every shard of the stream ends and has two children."""


def test_every_record_of_a_stream_is_read_once_across_splits() -> None:
    app = service_app_at()
    app.ddb.create_table(**creation(TABLE))
    arn = app.ddb.describe_table(TableName="orders")["Table"]["LatestStreamArn"]
    reader = StreamReader(app.client("dynamodbstreams"), arn)

    def place(numbers: range) -> None:
        for number in numbers:
            item = order_item(
                TABLE, "run-1", f"{1_795_176_000_000 + number}-0-{number}", f"p-{number % 5}", 300
            )
            app.ddb.put_item(TableName="orders", Item=item)

    place(range(20))
    reader.refresh()
    first = [*reader.read()]
    assert (len(first), len(reader.iterators)) == (20, 4)
    app.ddb.update_table(TableName="orders", WarmThroughput=SPLIT)
    app.ddb.describe_table(TableName="orders")
    place(range(20, 40))
    reader.refresh()
    second = [*reader.read(), *reader.read()]
    assert sum(iterator is None for iterator in reader.iterators.values()) == 4  # they have children
    assert (len(second), len(reader.iterators)) == (20, 12)
    assert len({record["eventID"] for record in (*first, *second)}) == 40
    assert split_times_s(all_shards(reader.client, arn)) == [pytest.approx(app.clock(), abs=60)] * 4


def test_an_order_is_as_large_as_it_is_asked_to_be() -> None:
    number = "1795176000123-0000001-000001"
    item = order_item(TABLE, "run", number, "product-1", 1_000)
    assert item_bytes(item) == 1_000
    assert placed_s(number) == 1_795_176_000.123
    small = order_item(TABLE, "run", number, "product-1", 10)
    assert item_bytes(small) > 10  # as small as it can be
