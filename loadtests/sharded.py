"""The same demand with a suffix on the key: is the throttling gone, and what does a read cost now?

Half of the writers draw the suffix at random, half calculate it from the sort key; one reader reads back.
"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import calculated_suffix, random_suffix


class RandomSuffixUser(TableUser):
    """Writes to a shard drawn at random: even, but readers do not know its shard."""

    needs_sort_key = True

    @task
    def put_order(self) -> None:
        self.put(random_suffix(self.draw_key(), self.shards, self.rng))


class CalculatedSuffixUser(TableUser):
    """Writes to the shard that the order's sort key falls on, so a reader can compute it."""

    needs_sort_key = True

    @task
    def put_order(self) -> None:
        order = self.next_sort_key()
        self.put(calculated_suffix(self.draw_key(), order, self.shards), sort_key=order)


class ReaderUser(Reader):
    """Reads a key's collection back from all its shards, and single orders from the one they are on."""

    fixed_count = 1

    @task(1)
    def read_orders(self) -> None:
        self.read_collection(self.draw_key(), limit=50)

    @task(4)
    def read_own_order(self) -> None:
        order, key = self.next_sort_key(), self.draw_key()
        self.put(calculated_suffix(key, order, self.shards), sort_key=order)
        self.read_calculated(key, order)
