"""Sales per product and day by scanning the orders: what does each report cost, and how old is it?"""

from locust import task

from keyheat.load.users.aggregation import OrderUser, ReportUser


class PlacingUser(OrderUser):
    """Places orders, and does nothing for the totals (`configs/scenarios/aggregate-scan.toml`)."""

    @task
    def place_order(self) -> None:
        self.place()


class ReportingUser(ReportUser):
    """Reads every order there is, again and again: the later the report, the dearer it is."""

    fixed_count = 1

    @task
    def report_sales(self) -> None:
        self.report()
