"""Users that write items and come back to them: singly, in batches, in transactions.

Each user remembers some of the items that it has written, so that what it reads, changes and deletes is
there, and what a throttled request would have cost is known from the item's size.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from keyheat.load.users.items import COUNTER, marked, text_of
from keyheat.load.users.outcomes import Batch, Conditional, RequestPart, Transaction, consumed
from keyheat.load.users.user import TableUser
from keyheat.model.limits import BATCH_WRITE_ITEMS
from keyheat.model.units import read_units, write_units
from keyheat.scenario.keys import random_suffix
from keyheat.scenario.spec.keys import combined

REMEMBERED = 1_000  # items that one user remembers at most
PAGE_ITEMS = 25
TRANSACTION_ITEMS = 4
LEAST_UNITS = 0.5  # of a page, as long as none was read
ONLY_SORT_KEY = "0"
"""Where one key is one item, and the table has sort keys."""


Action = tuple[RequestPart, dict[str, Any]]
"""A part of a transaction: what it may cost, and its member of the request."""


class RememberedItem(NamedTuple):
    """An item that was written: its keys, and its size without the counter that updates add."""

    key: str
    sort_key: str | None
    size_bytes: int  # 0: nothing is known of it


class ItemUser(TableUser):
    """Writes items of the scenario's keys and sizes, and reads, changes and deletes those that it wrote.

    Singly, in batches of 25, which save round trips and no units, and in transactions of four.
    """

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._known: list[RememberedItem] = []
        self._page_units: dict[tuple[str | None, int | None], float] = {}  # of the last page of each query
        self._taken = False  # whether the last conditional put was on an item that was there

    def new_item(self) -> RememberedItem:
        """An item that is not there yet: keys and size as the scenario draws them."""
        sort_key = self.next_sort_key() if self.table.sort_key else None
        return RememberedItem(self.draw_own_key(), sort_key, self.load.items.draw_size(self.rng))

    def draw_own_key(self) -> str:
        """The partition key that the scenario's pattern touches next, or one of its shards."""
        return random_suffix(self.draw_key(), self.shards, self.rng)

    def remember(self, *items: RememberedItem) -> None:
        """Keep items in mind that were written, each in the place of another one if there are many."""
        for item in items:
            if not item.size_bytes:
                continue  # it was never there
            if len(self._known) < REMEMBERED:
                self._known.append(item)
            else:
                self._known[self.rng.randrange(REMEMBERED)] = item

    def recall(self, count: int) -> list[RememberedItem]:
        """Take up to `count` written items out of memory; remember those that stay."""
        taken: dict[tuple[str, str | None], RememberedItem] = {}
        while self._known and len(taken) < count:
            index = self.rng.randrange(len(self._known))
            self._known[index], self._known[-1] = self._known[-1], self._known[index]
            item = self._known.pop()
            taken[item.key, item.sort_key] = item
        return list(taken.values())

    def recall_one(self) -> RememberedItem:
        """Take one written item out of memory; a key without an item if there is no such item yet."""
        items = self.recall(1)
        return items[0] if items else self.new_item()._replace(size_bytes=0)

    def put_item(self) -> None:
        item = self.new_item()
        body = self.load.items.put(item.key, item.sort_key or "", self.rng, item.size_bytes)
        units = write_units(0, item.size_bytes)
        if self.send("PutItem", body, key=item.key, direction="write", units=units).accepted:
            self.remember(item)

    def put_if_absent(self) -> None:
        """Write an item unless one is there: every second time one is, and the condition fails."""
        self._taken = not self._taken
        old, item = (self.recall_one() if self._taken else None), self.new_item()
        if old is not None:
            item = item._replace(key=old.key, sort_key=old.sort_key)
        note = Conditional(
            units=write_units(0, item.size_bytes),
            failed_units=write_units(old.size_bytes if old else 0, item.size_bytes),
        )
        answer = self.ask(
            "PutItem", item.key, note.units, note=note,
            Item=orjson.Fragment(self.item_json(item)),
            ConditionExpression="attribute_not_exists(#p)",
            ExpressionAttributeNames={"#p": self.table.partition_key},
        )  # fmt: skip
        if answer.accepted:
            self.remember(item)
        elif old is not None:
            self.remember(old)

    def update_item(self) -> None:
        item = self.recall_one()
        units = write_units(item.size_bytes, item.size_bytes)
        if self.ask("UpdateItem", item.key, units, Key=self.key_of(item), **self.change()).accepted:
            item = item._replace(size_bytes=max(1, item.size_bytes))  # it makes one that was not there
        self.remember(item)

    def delete_item(self) -> None:
        item = self.recall_one()
        units = write_units(item.size_bytes, 0)
        if not self.ask("DeleteItem", item.key, units, Key=self.key_of(item)).accepted:
            self.remember(item)

    def get_item(self, *, consistent: bool = False) -> None:
        item = self.recall_one()
        units = read_units(item.size_bytes, consistent=consistent)
        self.ask("GetItem", item.key, units, Key=self.key_of(item), ConsistentRead=consistent)
        self.remember(item)

    def query_items(
        self, *, index: str | None = None, limit: int | None = None, consistent: bool = False
    ) -> None:
        """Read the first page of a key's items, or of those that have one value of an index's key."""
        of = self._collection(index)
        named = {} if index is None else {"IndexName": index}
        members = {**self.page_of(of, limit or PAGE_ITEMS), "ConsistentRead": consistent, **named}
        units = self._page_units.get((index, limit), LEAST_UNITS)
        answer = self.ask("Query", combined(of.values()), units, **members)
        if answer.accepted:
            self._page_units[index, limit] = consumed(answer)[0]

    def page_of(self, keys: Mapping[str, str], limit: int = PAGE_ITEMS) -> dict[str, Any]:
        """The members of a Query for the first items that have these keys."""
        of, numbered = self.load.items.values.of, list(enumerate(keys.items()))
        return {
            "KeyConditionExpression": " AND ".join(f"#p{number} = :p{number}" for number, _key in numbered),
            "ExpressionAttributeNames": {f"#p{number}": name for number, (name, _value) in numbered},
            "ExpressionAttributeValues": {f":p{number}": of(*key) for number, key in numbered},
            "Limit": limit,
        }

    def _collection(self, index: str | None) -> dict[str, str]:
        """The partition key of the table or of an index, and values of it as items have them."""
        table_keys = (self.table.partition_key,)
        names = next((spec.partition_keys for spec in self.table.indexes if spec.name == index), table_keys)
        key = self.draw_own_key() if self.table.partition_key in names else self.draw_key()
        values = {}
        for name in names:
            if name == self.table.partition_key:
                values[name] = key
            elif name != self.table.sort_key:
                values[name] = self.load.items.draw_value(name, key, self.rng)
            else:
                item = self.recall_one()
                self.remember(item)
                values[name] = item.sort_key or ""
        return values

    def item_json(self, item: RememberedItem) -> bytes:
        """The JSON of an item, of the size that it was given."""
        return self.load.items.item(item.key, item.sort_key or "", self.rng, item.size_bytes)

    def key_of(self, item: RememberedItem) -> dict[str, Any]:
        return self.load.items.values.key(item.key, item.sort_key)

    def part_of(self, item: RememberedItem, units: float) -> RequestPart:
        """An item as a part of a request that touches several: its keys as the table knows them."""
        values = map(text_of, self.key_of(item).values())
        return RequestPart(next(values), next(values, None), units)

    def change(self) -> dict[str, Any]:
        update = {
            "UpdateExpression": "ADD #c :one",
            "ExpressionAttributeNames": {"#c": COUNTER},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        return marked(update, self.load.items.run_id)

    def batch_write(self) -> None:
        """Write 25 new items; fewer, where the scenario draws a key twice on a table without a sort key."""
        drawn = (self.new_item() for _ in range(BATCH_WRITE_ITEMS))
        items = list({(item.key, item.sort_key): item for item in drawn}.values())
        parts = [self.part_of(item, write_units(0, item.size_bytes)) for item in items]
        note = Batch(parts, self.table.partition_key, self.table.sort_key)
        puts = [{"PutRequest": {"Item": orjson.Fragment(self.item_json(item))}} for item in items]
        answer = self.ask(
            "BatchWriteItem", items[0].key, note.units, note=note, RequestItems={self.table.name: puts}
        )
        if answer.accepted:
            unprocessed = note.unprocessed(answer.content())
            pairs = zip(items, note.parts, strict=True)
            self.remember(*(item for item, of_item in pairs if of_item[:2] not in unprocessed))

    def batch_get(self) -> None:
        """Read up to 25 items that were written, eventually consistent."""
        items = self.recall(BATCH_WRITE_ITEMS) or [self.recall_one()]
        parts = [self.part_of(item, read_units(item.size_bytes, consistent=False)) for item in items]
        note = Batch(parts, self.table.partition_key, self.table.sort_key)
        keys = {self.table.name: {"Keys": [self.key_of(item) for item in items]}}
        self.ask("BatchGetItem", items[0].key, note.units, note=note, RequestItems=keys)
        self.remember(*items)

    def transact_write(self) -> None:
        """Change one item, delete another, and write new ones, all together."""
        olds = self.recall(2)
        changed, deleted = olds[:1], olds[1:]
        taken = {(old.key, old.sort_key) for old in olds}
        drawn = [self.new_item() for _ in range(TRANSACTION_ITEMS - len(olds))]
        fresh = {(item.key, item.sort_key): item for item in drawn}  # no item may occur twice
        put = [item for key, item in fresh.items() if key not in taken]
        done = self._transact(
            "TransactWriteItems",
            [self._action("Update", old, old, Key=self.key_of(old), **self.change()) for old in changed]
            + [self._action("Delete", old, old, Key=self.key_of(old)) for old in deleted]
            + [self._action("Put", item, Item=orjson.Fragment(self.item_json(item))) for item in put],
        )
        self.remember(*([*changed, *put] if done else olds))

    def transact_get(self) -> None:
        """Read up to four items as they are at one moment."""
        items = self.recall(TRANSACTION_ITEMS) or [self.recall_one()]
        self._transact(
            "TransactGetItems", [self._action("Get", item, Key=self.key_of(item)) for item in items]
        )
        self.remember(*items)

    def _action(
        self, kind: str, item: RememberedItem, old: RememberedItem | None = None, **members: Any
    ) -> Action:
        """What is done to one item; `old` is what a write finds there."""
        if kind == "Get":
            units = read_units(item.size_bytes, consistent=True, transactional=True)
        else:
            units = write_units(old.size_bytes if old else 0, item.size_bytes, transactional=True)
        return self.part_of(item, units), {kind: {"TableName": self.table.name, **members}}

    def _transact(self, operation: str, actions: Sequence[Action]) -> bool:
        note = Transaction([of_item for of_item, _action in actions])
        items = [action for _of_item, action in actions]
        return self.ask(operation, note.parts[0].key, note.units, note=note, TransactItems=items).accepted
