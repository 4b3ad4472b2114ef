"""Invoices have an index by country, and one country is large: does the index hold back the table?

And with the index on prefixes 0 to N-1, country as sort key: is it even, and what do reads cost? The index's
partition key says which of the two (`country-index.toml`, `country-index-sharded.toml`).
"""

from uuid import UUID

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser


def has_prefixes(user: TableUser) -> bool:
    return any(index.partition_key == "prefix" for index in user.table.indexes)


class InvoiceUser(TableUser):
    """Writes invoices under ids that are even; in the index they meet on the large country, or are spread."""

    @task
    def put_invoice(self) -> None:
        invoice = UUID(int=self.rng.getrandbits(128), version=4)
        prefix = str(self.rng.randrange(self.shards)) if has_prefixes(self) else None
        country, at = self.draw_key(), self.next_sort_key()
        attributes = {"country": country, "invoiced_at": at}
        if prefix is not None:
            attributes = {"prefix": prefix, "country": f"{country}#{at}"}
        self.put(str(invoice), attributes=attributes)


class CountryReader(Reader):
    """Reads the latest invoices of a country: one query, or one for every prefix in parallel, merged."""

    needs_indexes = ("by-country",)
    fixed_count = 1

    @task
    def read_latest(self) -> None:
        shards, start = [self.draw_key()], None
        if has_prefixes(self):
            shards, start = [str(prefix) for prefix in range(self.shards)], f"{shards[0]}#"
        self.read_shards(shards, index="by-country", prefix=start, limit=50, descending=True)
