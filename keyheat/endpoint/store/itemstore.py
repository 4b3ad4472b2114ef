"""The items of one table in memory, with the entries of its indexes kept beside them.

A write is two steps, so that it can be billed and refused between them: `ItemStore.plan` works out what
would change, in the table and in every index, and `ItemStore.apply` makes the change.
"""

from dataclasses import dataclass

import orjson

from keyheat.endpoint.items.tokens import Tokens
from keyheat.endpoint.schema import IndexSchema, TableSchema
from keyheat.endpoint.store.itemkeys import Key, attributes, entry_key_of, key_of
from keyheat.endpoint.store.shelf import Shelf, json_of, record, size_of
from keyheat.endpoint.store.values import Item
from keyheat.model.units import item_bytes


@dataclass(frozen=True, slots=True)
class EntryChange:
    """What a write does to one index: the entry before and after, where there is one."""

    index: IndexSchema
    old_key: Key | None
    new_key: Key | None
    old: bytes | None
    new: bytes | None

    @property
    def moved(self) -> bool:
        """Whether the entry leaves its place: such a write is a delete and a put."""
        return self.old_key is not None and self.new_key is not None and self.old_key[0] != self.new_key[0]


@dataclass(frozen=True, slots=True)
class Change:
    """What a write does to the item under one key: its record before and after, where there is one."""

    key: Key
    old: bytes | None
    new: bytes | None
    entries: tuple[EntryChange, ...] = ()

    @property
    def old_bytes(self) -> int:
        """Size of the item before, 0 if there was none."""
        return 0 if self.old is None else size_of(self.old)

    @property
    def new_bytes(self) -> int:
        """Size of the item after, 0 if there is none."""
        return 0 if self.new is None else size_of(self.new)


class ItemStore:
    """Items by key and in order, and each index's entries."""

    def __init__(self, schema: TableSchema) -> None:
        self._keys = schema.keys
        self.items = Shelf()
        self.tokens = Tokens()
        self._indexes: dict[str, tuple[IndexSchema, Shelf]] = {}
        for index in schema.indexes:
            self.add_index(index)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def total_bytes(self) -> int:
        """Size of all items as DynamoDB counts it."""
        return self.items.total_bytes

    @property
    def index_schemas(self) -> tuple[IndexSchema, ...]:
        """The indexes that writes go to."""
        return tuple(index for index, _ in self._indexes.values())

    def index(self, name: str) -> Shelf:
        """The entries of an index. Raises KeyError if there is no such index."""
        return self._indexes[name][1]

    def index_len(self, name: str) -> int:
        """How many entries an index has."""
        return len(self.index(name))

    def index_bytes(self, name: str) -> int:
        """Size of an index's entries as DynamoDB counts it."""
        return self.index(name).total_bytes

    def add_index(self, index: IndexSchema) -> None:
        """Start an index, filled from the items there are; those whose attributes do not fit stay out."""
        shelf = Shelf()
        for key in self.items.between(b"", None):
            held = self.items[key]
            item = orjson.loads(json_of(held))
            if fits(index, item) and (entry := entry_key_of(index, item, key)) is not None:
                shelf.put(entry[0], self._projected(index, item, held))
        self._indexes[index.name] = (index, shelf)

    def drop_index(self, name: str) -> None:
        """Forget an index and its entries. Raises KeyError if there is no such index."""
        del self._indexes[name]

    def get(self, key: bytes) -> bytes | None:
        """The record of an item."""
        return self.items.get(key)

    def of_entry(self, entry: bytes) -> bytes:
        """The item's record that an index entry belongs to."""
        return self.items[key_of(self._keys, orjson.loads(json_of(entry)))[0]]

    def plan(self, key: Key, old: bytes | None, item: Item | None) -> Change:
        """What putting `item` in the place of the record `old` changes; None: deleting it."""
        new = None if item is None else _recorded(item)
        if not self._indexes or old == new:
            return Change(key, old, new)
        before = None if old is None else orjson.loads(json_of(old))
        entries = []
        for index, _ in self._indexes.values():
            change = self._entry_change(index, key[0], (before, old), (item, new))
            if change is not None:
                entries.append(change)
        return Change(key, old, new, tuple(entries))

    def apply(self, change: Change) -> None:
        """Make a planned change; nothing may have been written under its key since."""
        if change.new is not None:
            self.items.put(change.key[0], change.new)
        elif change.old is not None:
            self.items.remove(change.key[0])
        for entry in change.entries:
            shelf = self._indexes[entry.index.name][1]
            if entry.old_key is not None and (entry.new_key is None or entry.moved):
                shelf.remove(entry.old_key[0])
            if entry.new_key is not None and entry.new is not None:
                shelf.put(entry.new_key[0], entry.new)

    def _entry_change(
        self,
        index: IndexSchema,
        primary: bytes,
        before: tuple[Item | None, bytes | None],
        after: tuple[Item | None, bytes | None],
    ) -> EntryChange | None:
        old_key, old = self._entry(index, primary, *before)
        new_key, new = self._entry(index, primary, *after)
        if old == new and (old_key is None or new_key is None or old_key[0] == new_key[0]):
            return None
        return EntryChange(index, old_key, new_key, old, new)

    def _entry(
        self, index: IndexSchema, primary: bytes, item: Item | None, held: bytes | None
    ) -> tuple[Key | None, bytes | None]:
        if item is None or held is None or not fits(index, item):
            return None, None
        key = entry_key_of(index, item, primary)
        return (None, None) if key is None else (key, self._projected(index, item, held))

    def _projected(self, index: IndexSchema, item: Item, held: bytes) -> bytes:
        if index.projection == "ALL":
            return held
        wanted = projected_names(self._keys_names(), index)
        entry = {name: value for name, value in item.items() if name in wanted}
        return _recorded(entry)

    def _keys_names(self) -> frozenset[str]:
        return frozenset(attribute.name for attribute in attributes(self._keys))


def _recorded(item: Item) -> bytes:
    # Names are sorted so that equal items have equal records, whatever order their writers chose.
    return record(item_bytes(item), orjson.dumps(item, option=orjson.OPT_SORT_KEYS))


def fits(index: IndexSchema, item: Item) -> bool:
    """Whether an item written before the index existed has, or lacks, its keys in the index's types."""
    return all(
        (value := item.get(attribute.name)) is None or value.get(attribute.type)
        for attribute in attributes(index.keys)
    )


def projected_names(primary: frozenset[str], index: IndexSchema) -> frozenset[str]:
    """Attributes that an index's entries have; for an index that projects everything, not to be asked."""
    own = frozenset(attribute.name for attribute in attributes(index.keys))
    return primary | own | index.include if index.projection == "INCLUDE" else primary | own
