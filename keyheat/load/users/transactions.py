"""Users whose requests are done whole or not at all. A transaction costs twice the units of its items."""

from typing import Any

import orjson

from keyheat.load.users.operations import ItemUser
from keyheat.load.users.outcomes import Part, Transaction
from keyheat.model.units import read_units, write_units

TRANSACTION_ITEMS = 4


class TransactionUser(ItemUser):
    """TransactWriteItems and TransactGetItems of four items."""

    abstract = True

    def transact_write(self) -> None:
        """Change one item, delete another, and write new ones, all together."""
        olds = self.recall(2)
        actions: list[tuple[Part, dict[str, Any]]] = []
        after = []
        if olds:
            changed = olds[0].changed()
            after.append(changed)
            update = {"TableName": self._table.name, "Key": self.key_of(changed), **self.change()}
            units = write_units(olds[0].size_bytes, changed.size_bytes, transactional=True)
            actions.append((self.part_of(changed, units), {"Update": update}))
        if len(olds) > 1:
            delete = {"TableName": self._table.name, "Key": self.key_of(olds[1])}
            units = write_units(olds[1].size_bytes, 0, transactional=True)
            actions.append((self.part_of(olds[1], units), {"Delete": delete}))
        taken = {(old.key, old.sort_key) for old in olds}
        for _ in range(TRANSACTION_ITEMS - len(actions)):
            item = self.new_item()
            if (item.key, item.sort_key) not in taken:  # no item may occur twice
                taken.add((item.key, item.sort_key))
                after.append(item)
                put = {"TableName": self._table.name, "Item": orjson.Fragment(self.item_json(item))}
                units = write_units(0, item.written_bytes, transactional=True)
                actions.append((self.part_of(item, units), {"Put": put}))
        done = self._transact("TransactWriteItems", actions)
        for item in after if done else olds:
            self.remember(item)

    def transact_get(self) -> None:
        """Read up to four items as they are at one moment."""
        items = self.recall(TRANSACTION_ITEMS) or [self.recall_one()]
        self._transact(
            "TransactGetItems",
            [
                (
                    self.part_of(item, read_units(item.size_bytes, consistent=True, transactional=True)),
                    {"Get": {"TableName": self._table.name, "Key": self.key_of(item)}},
                )
                for item in items
            ],
        )
        for item in items:
            if item.written_bytes:
                self.remember(item)

    def _transact(self, operation: str, actions: list[tuple[Part, dict[str, Any]]]) -> bool:
        parts = [part for part, _ in actions]
        request = {
            "ReturnConsumedCapacity": self._asked["ReturnConsumedCapacity"],
            "TransactItems": [action for _, action in actions],
        }
        answer = self.send(
            operation,
            orjson.dumps(request),
            key=parts[0].key,
            direction="write" if operation == "TransactWriteItems" else "read",
            units=sum(part.units for part in parts),
            note=Transaction(parts),
        )
        return answer.accepted
