"""Invoices have an index by country, and one country is large: does the index hold back the table?"""

from uuid import UUID

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser


class InvoiceUser(TableUser):
    """Writes invoices under ids that are even; their entries in the index meet on the large country."""

    @task
    def put_invoice(self) -> None:
        invoice = UUID(int=self.rng.getrandbits(128), version=4)
        self.put(str(invoice), attributes={"country": self.draw_key(), "invoiced_at": self.next_sort_key()})


class CountryReader(Reader):
    """Reads the latest invoices of a country from the index: one query."""

    needs_indexes = ("by-country",)
    fixed_count = 1

    @task
    def read_latest(self) -> None:
        self.read_shards((self.draw_key(),), index="by-country", limit=50, descending=True)
