"""Sales per product and day from the table's stream: what does it cost, and how late are the totals?"""

from locust import task

from keyheat.load.users.aggregation import StreamedOrderUser


class PlacingUser(StreamedOrderUser):
    """Places orders; a process of its own counts them (`configs/scenarios/aggregate-stream.toml`)."""

    @task
    def place_order(self) -> None:
        self.place()
