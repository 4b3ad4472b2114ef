"""Users that write items and come back to them: put, update, delete, conditional put, get and query.

Each user remembers some of the items that it has written, so that what it reads, changes and deletes is
there, and what a throttled request would have cost is known from the item's size.
"""

from dataclasses import dataclass, replace
from typing import Any

import orjson

from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import COUNTER
from keyheat.load.users.marking import marked
from keyheat.load.users.outcomes import Conditional, Part, consumed
from keyheat.load.users.user import TableUser
from keyheat.model.units import number_bytes, read_units, text_bytes, write_units

REMEMBERED = 1_000  # items that one user remembers at most
PAGE_ITEMS = 25


@dataclass(frozen=True, slots=True)
class Known:
    """An item that was written: its keys, and its size in bytes as far as it is known."""

    key: str
    sort_key: str | None
    written_bytes: int = 0  # 0: nothing is known of it
    changes: int = 0

    @property
    def size_bytes(self) -> int:
        """The size with the counter that an update adds."""
        return self.written_bytes + (
            text_bytes(COUNTER) + number_bytes(str(self.changes)) if self.changes else 0
        )

    def changed(self) -> "Known":
        """The item after one more update."""
        return replace(self, changes=self.changes + 1)


class ItemUser(TableUser):
    """Writes items of the scenario's keys and sizes, and reads, changes and deletes those that it wrote."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        table = self.load.order.scenario.table
        self._table = table
        self._known: list[Known] = []
        self._asked = {
            "TableName": table.name,
            "ReturnConsumedCapacity": "INDEXES" if table.indexes else "TOTAL",
        }
        self._page_units = 0.5  # of the last page of a query
        self._taken = False  # whether the last conditional put was on an item that was there

    def new_item(self) -> Known:
        """An item that is not there yet: keys and size as the scenario draws them."""
        sort_key = self.next_sort_key() if self._table.sort_key else None
        return Known(self.draw_key(), sort_key, self.load.items.draw_size(self.rng))

    def remember(self, item: Known) -> None:
        """Keep an item in mind, in the place of another one if there are many."""
        if len(self._known) < REMEMBERED:
            self._known.append(item)
        else:
            self._known[self.rng.randrange(REMEMBERED)] = item

    def recall(self, count: int) -> list[Known]:
        """Up to so many items that were written, taken out of memory; remember those that stay."""
        taken: dict[tuple[str, str | None], Known] = {}
        while self._known and len(taken) < count:
            place = self.rng.randrange(len(self._known))
            self._known[place], self._known[-1] = self._known[-1], self._known[place]
            item = self._known.pop()
            taken[item.key, item.sort_key] = item
        return list(taken.values())

    def recall_one(self) -> Known:
        """An item that was written, taken out of memory; as long as there is none, a key without an item."""
        known = self.recall(1)
        return known[0] if known else replace(self.new_item(), written_bytes=0)

    def put_item(self) -> None:
        """Write a new item."""
        item = self.new_item()
        body = self.load.items.put(item.key, item.sort_key or "", self.rng, item.written_bytes)
        units = write_units(0, item.written_bytes)
        if self.send("PutItem", body, key=item.key, direction="write", units=units).accepted:
            self.remember(item)

    def put_if_absent(self) -> None:
        """Write an item unless one is there: every second time one is, and the condition fails."""
        self._taken = not self._taken
        old = self.recall_one() if self._taken else None
        item = (
            self.new_item() if old is None else replace(self.new_item(), key=old.key, sort_key=old.sort_key)
        )
        request = {
            **self._asked,
            "Item": orjson.Fragment(self.item_json(item)),
            "ConditionExpression": "attribute_not_exists(#p)",
            "ExpressionAttributeNames": {"#p": self._table.partition_key},
        }
        note = Conditional(
            units=write_units(0, item.written_bytes),
            failed_units=write_units(old.size_bytes if old else 0, item.written_bytes),
        )
        answer = self.send(
            "PutItem", orjson.dumps(request), key=item.key, direction="write", units=note.units, note=note
        )
        if answer.accepted:
            self.remember(item)
        elif old is not None:
            self.remember(old)

    def update_item(self) -> None:
        """Add one to a counter of an item."""
        old = self.recall_one()
        item = old.changed()
        request = {**self._asked, "Key": self.key_of(item), **self.change()}
        units = write_units(old.size_bytes, item.size_bytes)
        answer = self.send("UpdateItem", orjson.dumps(request), key=item.key, direction="write", units=units)
        self.remember(item if answer.accepted else old)

    def delete_item(self) -> None:
        """Delete an item."""
        item = self.recall_one()
        request = {**self._asked, "Key": self.key_of(item)}
        units = write_units(item.size_bytes, 0)
        answer = self.send("DeleteItem", orjson.dumps(request), key=item.key, direction="write", units=units)
        if not answer.accepted:
            self.remember(item)

    def get_item(self) -> None:
        """Read an item, eventually consistent."""
        item = self.recall_one()
        request = {**self._asked, "Key": self.key_of(item)}
        units = read_units(item.size_bytes, consistent=False)
        self.send("GetItem", orjson.dumps(request), key=item.key, direction="read", units=units)
        if item.written_bytes:
            self.remember(item)

    def query_items(self) -> None:
        """Read the first page of a key's items."""
        key = self.draw_key()
        request = {
            **self._asked,
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": {"#p": self._table.partition_key},
            "ExpressionAttributeValues": {":p": self.load.items.values.of(self._table.partition_key, key)},
            "Limit": PAGE_ITEMS,
        }
        answer = self.send("Query", orjson.dumps(request), key=key, direction="read", units=self._page_units)
        self._page_units = self._units_of(answer)

    def item_json(self, item: Known) -> bytes:
        """The JSON of an item, of the size that it was given."""
        return self.load.items.item(item.key, item.sort_key or "", self.rng, item.written_bytes)

    def key_of(self, item: Known) -> dict[str, Any]:
        """An item's keys as a request names them."""
        return self.load.items.values.key(item.key, item.sort_key)

    def part_of(self, item: Known, units: float) -> Part:
        """An item as a part of a request that touches several: its keys as the table knows them."""
        values = (next(iter(value.values())) for value in self.key_of(item).values())
        return Part(next(values), next(values, None), units)

    def change(self) -> dict[str, Any]:
        """What an update asks for."""
        update = {
            "UpdateExpression": "ADD #c :one",
            "ExpressionAttributeNames": {"#c": COUNTER},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        return marked(update, self.load.items.run_id)

    def _units_of(self, answer: Answer) -> float:
        return consumed(answer)[0] if answer.accepted else self._page_units
