"""The index by country on prefixes 0 to N-1, country as sort key: is it even, and what do reads cost?"""

from uuid import UUID

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser


class InvoiceUser(TableUser):
    """Writes invoices; each one's entry in the index goes to a prefix drawn at random."""

    @task
    def put_invoice(self) -> None:
        invoice, prefix = UUID(int=self.rng.getrandbits(128), version=4), self.rng.randrange(self.shards)
        country_and_time = f"{self.draw_key()}#{self.next_sort_key()}"
        self.put(str(invoice), attributes={"prefix": str(prefix), "country": country_and_time})


class CountryReader(Reader):
    """Reads the latest invoices of a country: one query for every prefix, in parallel, and a merge."""

    needs_indexes = ("by-country",)
    fixed_count = 1

    @task
    def read_latest(self) -> None:
        prefixes = [str(prefix) for prefix in range(self.shards)]
        country = f"{self.draw_key()}#"
        self.read_shards(prefixes, index="by-country", prefix=country, limit=50, descending=True)
