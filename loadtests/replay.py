"""What an application sent, sent again at the same times: would this table have throttled it?"""

from typing import Any

from locust import task

from keyheat.load.users.items import marked
from keyheat.load.users.operations import ONLY_SORT_KEY, ItemUser
from keyheat.load.users.user import READS
from keyheat.model.units import read_units, write_units


class ReplayUser(ItemUser):
    """Sends the rows of `[keys] trace`, each at its time, whatever comes back (`scenarios/replay.toml`)."""

    @task
    def send_next(self) -> None:
        row, items = self.pace.row, self.load.items
        assert row is not None, "checked with the scenario: arrivals are the trace's"
        mean_bytes = round(self.load.order.scenario.load.mean_item_bytes)
        size = mean_bytes if row.size_bytes is None else row.size_bytes
        units = read_units(size, consistent=False) if row.operation in READS else write_units(0, size)
        sort_key = row.sort_key or ONLY_SORT_KEY
        if row.operation == "PutItem":
            body = items.put(row.key, sort_key, self.rng, row.size_bytes)
            self.send("PutItem", body, key=row.key, direction="write", units=units)
            return
        members: dict[str, Any] = {"Key": items.values.key(row.key, sort_key)}
        if row.operation == "Query":
            members = self.page_of({self.table.partition_key: row.key})
        elif row.operation == "UpdateItem":  # it replaces the filler, so that the item has the row's size
            filler = {"S": items.filler(row.key, sort_key, size)}
            update = {"UpdateExpression": "SET filler = :f", "ExpressionAttributeValues": {":f": filler}}
            members |= marked(update, items.run_id)
        self.ask(row.operation, row.key, units, **members)
