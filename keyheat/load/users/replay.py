"""Users that send what a trace says: each row's operation, on its key, with an item of its size."""

from collections.abc import Callable
from typing import Any

import orjson

from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import marked
from keyheat.load.users.operations import PAGE_ITEMS
from keyheat.load.users.user import TableUser
from keyheat.model.units import read_units, write_units
from keyheat.scenario.trace import TraceRow

ONLY_SORT_KEY = "0"
"""Where a trace has no sort keys and the table has: each key of the trace is one item."""


class TraceUser(TableUser):
    """Sends the rows of a trace, each at its time; what an answer says changes nothing of that."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        scenario = self.load.order.scenario
        self._table = scenario.table
        self._mean_bytes = round(scenario.load.mean_item_bytes)
        self._asked = {
            "TableName": self._table.name,
            "ReturnConsumedCapacity": "INDEXES" if self._table.indexes else "TOTAL",
        }
        self._bodies: dict[str, Callable[[TraceRow, str], bytes]] = {
            "PutItem": self._put,
            "GetItem": self._named,
            "UpdateItem": self._update,
            "DeleteItem": self._named,
            "Query": self._query,
        }

    def send_row(self) -> Answer:
        """Send the row whose time has come."""
        from keyheat.load.pacer import TracePacer

        assert isinstance(self.pace, TracePacer), "checked with the scenario: arrivals are the trace's"
        row = self.pace.row
        assert row is not None, "a turn is given with a row"
        size = self._mean_bytes if row.size_bytes is None else row.size_bytes
        body = self._bodies[row.operation](row, row.sort_key or ONLY_SORT_KEY)
        if row.operation in ("GetItem", "Query"):
            units = read_units(size, consistent=False)
            return self.send(row.operation, body, key=row.key, direction="read", units=units)
        units = write_units(0, size)
        return self.send(row.operation, body, key=row.key, direction="write", units=units)

    def _put(self, row: TraceRow, sort_key: str) -> bytes:
        return self.load.items.put(row.key, sort_key, self.rng, row.size_bytes)

    def _update(self, row: TraceRow, sort_key: str) -> bytes:
        """Replaces the filler, so that the item has the row's size afterwards, and is there."""
        assert row.size_bytes is not None, "checked before the run"
        filler = self.load.items.filler(row.key, sort_key, row.size_bytes)
        update = {
            **self._asked,
            "Key": self._key_of(row, sort_key),
            "UpdateExpression": "SET filler = :f",
            "ExpressionAttributeValues": {":f": {"S": filler}},
        }
        return orjson.dumps(marked(update, self.load.items.run_id))

    def _named(self, row: TraceRow, sort_key: str) -> bytes:
        return orjson.dumps({**self._asked, "Key": self._key_of(row, sort_key)})

    def _query(self, row: TraceRow, sort_key: str) -> bytes:
        return orjson.dumps(
            {
                **self._asked,
                "KeyConditionExpression": "#p = :p",
                "ExpressionAttributeNames": {"#p": self._table.partition_key},
                "ExpressionAttributeValues": {
                    ":p": self.load.items.values.of(self._table.partition_key, row.key)
                },
                "Limit": PAGE_ITEMS,
            }
        )

    def _key_of(self, row: TraceRow, sort_key: str) -> dict[str, Any]:
        return self.load.items.values.key(row.key, sort_key)
