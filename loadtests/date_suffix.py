"""Today's date with a suffix is the key: is the day's heat spread, and what do 25 reads for a day cost?"""

from locust import task

from keyheat.load.users.readers import CollectionReader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import random_suffix


class EventUser(TableUser):
    """Writes events to a shard of today's date, drawn at random."""

    needs_sort_key = True

    @task
    def put_event(self) -> None:
        self.put(random_suffix(self.draw_key(), self.shards, self.rng))


class DayReader(CollectionReader):
    """Reads the first events of the day: one query for every shard of its date."""

    fixed_count = 1

    @task
    def read_first(self) -> None:
        self.read_collection(self.draw_key(), limit=50)
