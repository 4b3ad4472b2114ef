"""Sales per product and day from the table's stream: what does it cost, and how late are the totals?"""

from locust import task

from generator.users.aggregate import OrderUser


class PlacingUser(OrderUser):
    """Places orders; a process of its own counts them (`configs/scenarios/aggregate-stream.toml`)."""

    beside = ("generator.aggregation.consumer",)

    @task
    def place_order(self) -> None:
        self.place()
