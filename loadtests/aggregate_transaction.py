"""Sales per product and day in the transaction of each order: always right, but is the total a hot key?"""

from locust import task

from keyheat.load.users.aggregation import OrderUser


class PlacingUser(OrderUser):
    """Places orders together with their totals (`configs/scenarios/aggregate-transaction.toml`)."""

    @task
    def place_order(self) -> None:
        self.place_with_total()
