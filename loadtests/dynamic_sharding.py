"""Nobody knew how busy one key would be: does it get the shards that it needs, how fast, and at what price?

Without `[dynamic_sharding]` the same users write to a fixed number of shards, for comparison.
"""

from locust import task

from keyheat.load.users.sharding import ShardedReader, ShardedWriter


class OrderWriter(ShardedWriter):
    """Writes orders; a key that is throttled by its partitions gets a shard more."""

    needs_sort_key = True

    @task
    def put_order(self) -> None:
        self.put_sharded(self.draw_key())


class OrderReader(ShardedReader):
    """Reads the newest orders of a key from all its shards while they become more."""

    fixed_count = 1

    @task
    def read_newest_orders(self) -> None:
        self.read_newest(self.draw_key(), limit=25)
