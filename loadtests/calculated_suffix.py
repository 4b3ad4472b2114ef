"""The suffix is calculated from what the reader knows: does one GetItem find the item?

An invoice's transactions (`calculated-suffix.toml`), and an audit log (`audit-log-calculated.toml`).
"""

from locust import task

from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import calculated_suffix


class InvoiceUser(TableUser):
    """Writes transactions to the shard that a hash of key and transaction id falls on."""

    needs_sort_key = True

    @task
    def put_transaction(self) -> None:
        transaction = self.next_sort_key()
        self.put(calculated_suffix(self.draw_key(), transaction, self.shards), transaction)


class TransactionReader(Reader):
    """Reads single transactions from the shard that they are on; a whole invoice is still in all of them."""

    fixed_count = 1

    @task(9)
    def read_transaction(self) -> None:
        invoice, transaction = self.draw_key(), self.next_sort_key()
        self.put(calculated_suffix(invoice, transaction, self.shards), transaction)
        self.read_calculated(invoice, transaction)

    @task(1)
    def read_latest(self) -> None:
        self.read_collection(self.draw_key(), limit=50, descending=True)
