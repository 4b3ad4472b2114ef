"""Users that send what a trace says: each row's operation, on its key, with an item of its size."""

from typing import Any

from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import marked
from keyheat.load.users.operations import ItemUser
from keyheat.load.users.user import READS
from keyheat.model.units import read_units, write_units
from keyheat.scenario.trace import TraceRow

ONLY_SORT_KEY = "0"
"""Where a trace has no sort keys and the table has: each key of the trace is one item."""


class TraceUser(ItemUser):
    """Sends the rows of a trace, each at its time; what an answer says changes nothing of that."""

    abstract = True

    def send_row(self) -> Answer:
        row = self.pace.row
        assert row is not None, "checked with the scenario: arrivals are the trace's"
        mean_bytes = round(self.load.order.scenario.load.mean_item_bytes)
        size = mean_bytes if row.size_bytes is None else row.size_bytes
        reads = row.operation in READS
        units = read_units(size, consistent=False) if reads else write_units(0, size)
        if row.operation == "PutItem":
            body = self.load.items.put(row.key, row.sort_key or ONLY_SORT_KEY, self.rng, row.size_bytes)
            return self.send("PutItem", body, key=row.key, direction="write", units=units)
        members = self._named(row)
        if row.operation == "Query":
            members = self.page_of({self.table.partition_key: row.key})
        return self.ask(row.operation, row.key, units, **members)

    def _named(self, row: TraceRow) -> dict[str, Any]:
        """The item's key; an update replaces its filler, so that it has the row's size, and is there."""
        sort_key = row.sort_key or ONLY_SORT_KEY
        key = {"Key": self.load.items.values.key(row.key, sort_key)}
        if row.operation != "UpdateItem":
            return key
        assert row.size_bytes is not None, "checked before the run"
        update = {
            "UpdateExpression": "SET filler = :f",
            "ExpressionAttributeValues": {
                ":f": {"S": self.load.items.filler(row.key, sort_key, row.size_bytes)}
            },
        }
        return key | marked(update, self.load.items.run_id)
