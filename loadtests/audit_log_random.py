"""The same audit log with a random suffix: is the throttling gone, and what does a read cost now?"""

from locust import task

from keyheat.load.users.readers import CollectionReader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import random_suffix


class AuditLogUser(TableUser):
    """Writes each access to a shard drawn at random: even, but readers do not know its shard."""

    needs_sort_key = True

    @task
    def put_access(self) -> None:
        self.put(random_suffix(self.draw_key(), self.shards, self.rng))


class AuditorUser(CollectionReader):
    """Reads the latest accesses to a file: one query for every shard, merged by time."""

    fixed_count = 1

    @task
    def read_latest(self) -> None:
        self.read_collection(self.draw_key(), limit=50, descending=True)
