"""Each key is on N shards, drawn at random: is the throttling gone, and what does a read of one key cost?

A date with a suffix (`date-suffix.toml`), an audit log by file and shard (`audit-log-random.toml`), and the
same log on keys without a suffix (`audit-log.toml`).
"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import random_suffix


class EventUser(TableUser):
    """Writes events to a shard drawn at random: even, but readers do not know its shard."""

    needs_sort_key = True

    @task
    def put_event(self) -> None:
        self.put(random_suffix(self.draw_key(), self.shards, self.rng))


class EventReader(Reader):
    """Reads the latest events of a key: one query for every shard, merged by time."""

    fixed_count = 1

    @task
    def read_latest(self) -> None:
        self.read_collection(self.draw_key(), limit=50, descending=True)
