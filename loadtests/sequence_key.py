"""A generated sequence is the key, and an index finds the order: what do writes cost, and reads?"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser

ORDERS = 10_000


class TransactionUser(TableUser):
    """Writes transactions under numbers that mean nothing: only the index knows what they belong to."""

    @task
    def put_transaction(self) -> None:
        order = f"order-{self.rng.randrange(ORDERS)}"
        self.put(self.draw_key(), attributes={"order_id": order, "ordered_at": self.next_sort_key()})


class OrderReader(Reader):
    """Reads the transactions of an order, which only the index can find: eventually consistent, always."""

    needs_indexes = ("by-order",)
    fixed_count = 1

    @task
    def read_order(self) -> None:
        self.read_shards((f"order-{self.rng.randrange(ORDERS)}",), index="by-order")
