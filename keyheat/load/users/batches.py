"""Users that write and read many items with one request. What comes back unprocessed is not sent again."""

import orjson

from keyheat.load.users.operations import ItemUser, Known
from keyheat.load.users.outcomes import Batch, Part
from keyheat.model.limits import BATCH_WRITE_ITEMS
from keyheat.model.units import read_units, write_units


class BatchUser(ItemUser):
    """BatchWriteItem and BatchGetItem of 25 items. A batch saves round trips, and no units."""

    abstract = True

    def batch_write(self) -> None:
        """Write 25 new items; fewer, where the scenario draws a key twice on a table without a sort key."""
        drawn = (self.new_item() for _ in range(BATCH_WRITE_ITEMS))
        items = list({(item.key, item.sort_key): item for item in drawn}.values())
        parts = [self.part_of(item, write_units(0, item.written_bytes)) for item in items]
        puts = b",".join(b'{"PutRequest":{"Item":%b}}' % self.item_json(item) for item in items)
        body = b'{"ReturnConsumedCapacity":"%b","RequestItems":{%b:[%b]}}' % (
            self._asked["ReturnConsumedCapacity"].encode(),
            orjson.dumps(self._table.name),
            puts,
        )
        note = self._noted(parts)
        answer = self.send(
            "BatchWriteItem",
            body,
            key=items[0].key,
            direction="write",
            units=sum(part.units for part in parts),
            note=note,
        )
        if answer.accepted:
            left = note.unprocessed(answer.content())
            for item, part in zip(items, parts, strict=True):
                if (part.key, part.sort_key) not in left:
                    self.remember(item)

    def batch_get(self) -> None:
        """Read up to 25 items that were written, eventually consistent."""
        items = self.recall(BATCH_WRITE_ITEMS) or [self.recall_one()]
        parts = [self.part_of(item, read_units(item.size_bytes, consistent=False)) for item in items]
        request = {
            "ReturnConsumedCapacity": self._asked["ReturnConsumedCapacity"],
            "RequestItems": {self._table.name: {"Keys": [self.key_of(item) for item in items]}},
        }
        self.send(
            "BatchGetItem",
            orjson.dumps(request),
            key=items[0].key,
            direction="read",
            units=sum(part.units for part in parts),
            note=self._noted(parts),
        )
        self._give_back(items)

    def _noted(self, parts: list[Part]) -> Batch:
        return Batch(parts, self._table.partition_key, self._table.sort_key)

    def _give_back(self, items: list[Known]) -> None:
        for item in items:
            if item.written_bytes:
                self.remember(item)
