"""Users that send what a trace says: each row's operation, on its key, with an item of its size."""

from typing import Any

from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import marked
from keyheat.load.users.operations import PAGE_ITEMS, ItemUser
from keyheat.load.users.user import READS
from keyheat.model.units import read_units, write_units
from keyheat.scenario.trace import TraceRow

ONLY_SORT_KEY = "0"
"""Where a trace has no sort keys and the table has: each key of the trace is one item."""


class TraceUser(ItemUser):
    """Sends the rows of a trace, each at its time; what an answer says changes nothing of that."""

    abstract = True

    def send_row(self) -> Answer:
        """Send the row whose time has come."""
        from keyheat.load.pacer import OpenPacer

        assert isinstance(self.pace, OpenPacer), "checked with the scenario: arrivals are the trace's"
        row = self.pace.row
        assert row is not None, "a turn is given with a row"
        mean_bytes = round(self.load.order.scenario.load.mean_item_bytes)
        size = mean_bytes if row.size_bytes is None else row.size_bytes
        reads = row.operation in READS
        units = read_units(size, consistent=False) if reads else write_units(0, size)
        if row.operation == "PutItem":
            body = self.load.items.put(row.key, row.sort_key or ONLY_SORT_KEY, self.rng, row.size_bytes)
            return self.send("PutItem", body, key=row.key, direction="write", units=units)
        members = self._query(row) if row.operation == "Query" else self._named(row)
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

    def _query(self, row: TraceRow) -> dict[str, Any]:
        partition_key = self._table.partition_key
        return {
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": {"#p": partition_key},
            "ExpressionAttributeValues": {":p": self.load.items.values.of(partition_key, row.key)},
            "Limit": PAGE_ITEMS,
        }
