"""Collections are spread over shards: does every way to read them get all that was written, in order?

Writers write orders and take some back; readers read whole collections, beyond 1 MB per shard, and the ends.
"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
from keyheat.model.units import write_units
from keyheat.scenario.keys import random_suffix

SOME = 50


class WriterUser(TableUser):
    """Writes orders to shards drawn at random, and deletes every twentieth one again."""

    needs_sort_key = True

    @task(19)
    def put_order(self) -> None:
        self._put()

    @task(1)
    def put_and_take_back(self) -> None:
        shard, order = self._put()
        units = write_units(self.load.items.draw_size(self.rng), 0)
        self.ask("DeleteItem", shard, units, Key=self.load.items.values.key(shard, order))

    def _put(self) -> tuple[str, str]:
        shard, order = random_suffix(self.draw_key(), self.shards, self.rng), self.next_sort_key()
        self.put(shard, sort_key=order)
        return shard, order


class ReaderUser(Reader):
    """Reads collections in each way that an application does."""

    fixed_count = 3

    @task(1)
    def read_whole(self) -> None:
        self.read_collection(self.draw_key(), consistent=True)

    @task(1)
    def read_whole_descending(self) -> None:
        self.read_collection(self.draw_key(), descending=True)

    @task(4)
    def read_oldest(self) -> None:
        self.read_collection(self.draw_key(), limit=SOME, consistent=True)

    @task(4)
    def read_newest(self) -> None:
        self.read_collection(self.draw_key(), limit=SOME, descending=True, consistent=True)
