"""The items of one table in memory, in the order of their keys, with the entries of its indexes.

A write is two steps, so that it can be billed and refused between them: `ItemStore.plan` works out what
would change, in the table and in every index, and `ItemStore.apply` makes the change.

A record is one `bytes`: the item's size as DynamoDB counts it, then its JSON. Nothing here is seen by the
garbage collector item by item, so a full collection costs milliseconds with a million items.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#DDB-TransactWriteItems-request-ClientRequestToken
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Any, NamedTuple

import orjson
from sortedcontainers import SortedList
from xxhash import xxh3_128_digest

from keyheat.endpoint.errors import ServiceError, nested_too_deep
from keyheat.endpoint.itemkeys import Key, entry_key_of, key_of
from keyheat.endpoint.schema import IndexSchema, TableSchema
from keyheat.endpoint.values import Item
from keyheat.model.units import item_bytes

SIZE = Struct(">I")
SIZE_BYTES = SIZE.size
SHARDS = 1024
"""Dicts that share the records: growing one of them rehashes a thousandth of a big table, not all of it."""


def record(size_bytes: int, json: bytes) -> bytes:
    """An item's record. Joining also copies the JSON tight: its serializer leaves room at the end."""
    return SIZE.pack(size_bytes) + json


def size_of(record: bytes) -> int:
    """The size of the item, in bytes as DynamoDB counts them."""
    size_bytes: int = SIZE.unpack_from(record)[0]
    return size_bytes


def json_of(record: bytes) -> bytes:
    return record[SIZE_BYTES:]


class Shelf:
    __slots__ = ("_order", "_shards", "total_bytes")

    def __init__(self) -> None:
        self._shards: tuple[dict[bytes, bytes], ...] = tuple({} for _ in range(SHARDS))
        self._order: SortedList[bytes] = SortedList()
        self.total_bytes = 0

    def __len__(self) -> int:
        return len(self._order)

    def get(self, key: bytes) -> bytes | None:
        return self._shards[hash(key) & (SHARDS - 1)].get(key)

    def __getitem__(self, key: bytes) -> bytes:
        return self._shards[hash(key) & (SHARDS - 1)][key]

    def put(self, key: bytes, record: bytes) -> None:
        shard = self._shards[hash(key) & (SHARDS - 1)]
        old = shard.get(key)
        if old is None:
            self._order.add(key)
        else:
            self.total_bytes -= size_of(old)
        shard[key] = record
        self.total_bytes += size_of(record)

    def remove(self, key: bytes) -> None:
        """Remove a record. Raises KeyError if it is missing."""
        old = self._shards[hash(key) & (SHARDS - 1)].pop(key)
        self._order.remove(key)
        self.total_bytes -= size_of(old)

    def between(self, low: bytes, high: bytes | None, *, descending: bool = False) -> Iterator[bytes]:
        """Keys from `low` on and below `high` (None: to the end), in order."""
        keys: Iterator[bytes] = self._order.irange(low, high, inclusive=(True, False), reverse=descending)
        return keys


VALID_S = 600.0


class RequestTokens:
    """Tokens in the order in which they came, each with what its request was, kept for ten minutes."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, float]] = {}

    def seen(self, token: str, digest: bytes, now_s: float) -> bool:
        """Whether this was done already. Raises IdempotentParameterMismatchException for another request."""
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest][1] + VALID_S > now_s:
                break
            del self._known[oldest]
        earlier = self._known.get(token)
        if earlier is not None and earlier[0] != digest:
            raise ServiceError(
                "IdempotentParameterMismatchException",
                "The request uses the same client token as a previous, but non-identical request. "
                "Do not reuse a client token with different requests, unless the requests are identical.",
            )
        return earlier is not None

    def add(self, token: str, digest: bytes, now_s: float) -> None:
        self._known[token] = digest, now_s


def digest_of(operations: Any) -> bytes:
    """What a transaction asks for, in 16 bytes; how much it wants to be told is not part of that.

    Raises ValidationException for values nested deeper than orjson writes, which is deeper than they may be.
    """
    try:
        written = orjson.dumps(operations, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        raise nested_too_deep() from None
    return xxh3_128_digest(written)


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


class ItemChange(NamedTuple):
    """What a write does to the item under one key: its record before and after, if any.

    `old_bytes` and `new_bytes` are the item's sizes, 0 without an item.
    """

    key: Key
    old: bytes | None
    new: bytes | None
    old_bytes: int
    new_bytes: int
    entries: tuple[EntryChange, ...] = ()


class ItemStore:
    """Items by key and in order, and each index's entries."""

    def __init__(self, schema: TableSchema) -> None:
        self._keys = schema.keys
        self.items = Shelf()
        self.tokens = RequestTokens()
        self._indexes: dict[str, tuple[IndexSchema, Shelf]] = {}
        for index in schema.indexes:
            self.add_index(index)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def total_bytes(self) -> int:
        return self.items.total_bytes

    def index(self, name: str) -> Shelf:
        """The entries of an index. Raises KeyError if there is no such index."""
        return self._indexes[name][1]

    def add_index(self, index: IndexSchema) -> None:
        """Start an index, filled from the items there are; those whose attributes do not fit stay out."""
        shelf = Shelf()
        for key in self.items.between(b"", None):
            stored = self.items[key]
            item = orjson.loads(json_of(stored))
            if fits(index, item) and (entry := entry_key_of(index, item, key)) is not None:
                shelf.put(entry[0], self._projected(index, item, stored))
        self._indexes[index.name] = (index, shelf)

    def drop_index(self, name: str) -> None:
        """Forget an index and its entries. Raises KeyError if there is no such index."""
        del self._indexes[name]

    def get(self, key: bytes) -> bytes | None:
        return self.items.get(key)

    def of_entry(self, entry: bytes) -> bytes:
        return self.items[key_of(self._keys, orjson.loads(json_of(entry)))[0]]

    def plan(self, key: Key, old: bytes | None, item: Item | None) -> ItemChange:
        """What putting `item` in the place of the record `old` changes; None: deleting it."""
        new = None if item is None else _recorded(item)
        old_bytes, new_bytes = 0 if old is None else size_of(old), 0 if new is None else size_of(new)
        if not self._indexes or old == new:
            return ItemChange(key, old, new, old_bytes, new_bytes)
        before = None if old is None else orjson.loads(json_of(old))
        entries = []
        for index, _ in self._indexes.values():
            old_key, old_entry = self._entry(index, key[0], before, old)
            new_key, new_entry = self._entry(index, key[0], item, new)
            moved = old_key is not None and new_key is not None and old_key[0] != new_key[0]
            if old_entry != new_entry or moved:
                entries.append(EntryChange(index, old_key, new_key, old_entry, new_entry))
        return ItemChange(key, old, new, old_bytes, new_bytes, tuple(entries))

    def apply(self, change: ItemChange) -> None:
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

    def _entry(
        self, index: IndexSchema, primary: bytes, item: Item | None, stored: bytes | None
    ) -> tuple[Key | None, bytes | None]:
        if item is None or stored is None or not fits(index, item):
            return None, None
        key = entry_key_of(index, item, primary)
        return (None, None) if key is None else (key, self._projected(index, item, stored))

    def _projected(self, index: IndexSchema, item: Item, stored: bytes) -> bytes:
        if index.projection == "ALL":
            return stored
        names = projected_names(frozenset(attribute.name for attribute in self._keys.attributes), index)
        entry = {name: value for name, value in item.items() if name in names}
        return _recorded(entry)


def _recorded(item: Item) -> bytes:
    # Names are sorted so that equal items have equal records, whatever order their writers chose.
    return record(item_bytes(item), orjson.dumps(item, option=orjson.OPT_SORT_KEYS))


def fits(index: IndexSchema, item: Item) -> bool:
    """Whether an item written before the index existed has, or lacks, its keys in the index's types."""
    return all(
        (value := item.get(attribute.name)) is None or value.get(attribute.type)
        for attribute in index.keys.attributes
    )


def projected_names(primary: frozenset[str], index: IndexSchema) -> frozenset[str]:
    """Attributes that an index's entries have; for an index that projects everything, not to be asked."""
    index_keys = frozenset(attribute.name for attribute in index.keys.attributes)
    return primary | index_keys | index.include if index.projection == "INCLUDE" else primary | index_keys
