"""Sales per product and day from the table's stream: what does it cost, and how late are the totals?"""

from locust import task

from keyheat.load.users.aggregation import OrderUser, StreamUser


class PlacingUser(OrderUser):
    """Places orders, and does nothing for the totals (`configs/scenarios/aggregate-stream.toml`)."""

    @task
    def place_order(self) -> None:
        self.place()


class CountingUser(StreamUser):
    """Adds up what the stream shows: one user, however many place orders."""

    fixed_count = 1

    @task
    def count_what_came(self) -> None:
        self.count_orders()
