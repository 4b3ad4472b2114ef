"""Writer, shrinker and reader with boto3, on tables of an endpoint in this process that throttle early."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from keyheat.scenario.keys import shard_keys
from keyheat.sharding import (
    Metadata,
    Policy,
    ShardReader,
    ShardShrinker,
    ShardWriter,
    empty_in,
    put_item,
)
from keyheat.sharding.metadata import Shards
from tests.endpoint.account import BOTH, attributes, on_demand
from tests.endpoint.clients import service_app_at

pytestmark = pytest.mark.slow

ITEMS, METADATA, KEY = "items", "metadata", "hot"
POLICY = Policy(cooldown_s=5, backoff_low_s=0, backoff_high_s=1, cache_s=1, settle_s=4, retry_high_s=0.4)
KEYS = {"KeySchema": BOTH, "AttributeDefinitions": attributes("pk", "sk")}


class Bench:
    """The two tables, a partition of which admits 20 writes a second, and a writer whose pauses take time."""

    def __init__(self, items: dict[str, Any]) -> None:
        self.app = service_app_at(scale=0.02)
        self.ddb, self.counted = self.app.ddb, Counter[str]()
        for request in (items, on_demand(METADATA)):
            self.ddb.create_table(**request)
        self.ddb.describe_table(TableName=ITEMS)
        self.metadata = Metadata(self.ddb, METADATA, note=self.note)

    def note(self, name: str, number: float) -> None:
        self.counted[name] += int(number)

    def writer(self, **more: Any) -> ShardWriter:
        how = {"clock": self.app.clock, "pause": self.app.clock.advance, "note": self.note, "rng": Random(1)}
        return ShardWriter(self.metadata, POLICY, **how, **more)

    def shards(self) -> Shards:
        shards = self.metadata.read(KEY)
        assert shards is not None
        return shards

    def names(self) -> list[str]:
        reader = ShardReader(self.ddb, ITEMS, self.metadata, sort_key="sk", consistent=True)
        return [item["sk"]["S"] for item in reader.read(KEY)]


def test_a_key_grows_and_shrinks_and_every_item_stays_readable() -> None:
    bench = Bench(on_demand(ITEMS, **KEYS))
    writer, names = bench.writer(), [f"{number:04}" for number in range(400)]
    for name in names:
        writer.write(KEY, put_item(bench.ddb, ITEMS, {"sk": {"S": name}}), within_s=60)
    grown = bench.shards()
    assert grown.number == bench.counted["shards.increments"] + 1 >= 3
    assert [change.number for change in sorted(grown.history)] == list(range(1, grown.number + 1))
    assert bench.names() == names

    shrinker = ShardShrinker(bench.metadata, POLICY, note=bench.note, clock=bench.app.clock)
    bench.app.clock.advance(60)
    assert shrinker.shrink(KEY, 1)
    assert (bench.shards().number, bench.shards().to_read) == (1, grown.number)
    assert bench.names() == names, "readers still look where items were"
    for shard in shard_keys(KEY, grown.number)[1:]:
        keys = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": shard}}}
        for item in bench.ddb.query(TableName=ITEMS, **keys)["Items"]:
            bench.app.clock.advance(0.1)
            bench.ddb.delete_item(TableName=ITEMS, Key={"pk": item["pk"], "sk": item["sk"]})
    left = bench.names()
    bench.app.clock.advance(60)
    shrinker.forget(KEY, empty_in(bench.ddb, ITEMS))
    assert bench.shards().to_read == 1
    assert bench.names() == left
    assert 0 < len(left) < len(names)
