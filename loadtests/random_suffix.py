"""A popular invoice key gets a random suffix: are the writes even, and what does reading one client cost?"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import random_suffix

CLIENTS = 500


class InvoiceUser(TableUser):
    """Writes transactions to a shard drawn at random; they are sorted by client, then by transaction."""

    needs_sort_key = True

    @task
    def put_transaction(self) -> None:
        shard = random_suffix(self.draw_key(), self.shards, self.rng)
        self.put(shard, f"client-{self.rng.randrange(CLIENTS):03d}#{self.next_sort_key()}")


class ClientReader(Reader):
    """Reads the transactions of one client in order: a query for every shard, each for the client's part."""

    needs_text_sort_key = True
    fixed_count = 1

    @task
    def read_client(self) -> None:
        self.read_collection(self.draw_key(), prefix=f"client-{self.rng.randrange(CLIENTS):03d}#")
