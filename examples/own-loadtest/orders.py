"""Orders of a shop, with an index by customer: does a large customer hold back everybody's orders?"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser

SHOPS = 2_000


class Buyer(TableUser):
    """Places orders, four to one for a customer: the others are paid in cash, and nobody looks for them."""

    needs_sort_key = True

    @task(4)
    def place_order(self) -> None:
        number = self.next_sort_key()
        self.put(self._shop(), number, attributes={"customer": self.draw_key(), "placed_at": number})

    @task(1)
    def sell_for_cash(self) -> None:
        self.put(self._shop(), attributes={"customer": None, "placed_at": None})

    def _shop(self) -> str:
        return f"shop-{self.rng.randrange(SHOPS):04d}"


class Support(Reader):
    """Reads the newest orders of a customer from the index."""

    needs_indexes = ("by-customer",)
    fixed_count = 2

    @task
    def read_newest(self) -> None:
        self.read_shards((self.draw_key(),), index="by-customer", limit=20, descending=True)
