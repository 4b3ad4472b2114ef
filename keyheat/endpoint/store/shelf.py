"""Records in the order of their keys: the items of a table, or the entries of an index.

A record is one `bytes`: the item's size as DynamoDB counts it, then its JSON. Nothing here is seen by the
garbage collector item by item, so a full collection costs milliseconds with a million items.
"""

from collections.abc import Iterator

from sortedcontainers import SortedList

SIZE_BYTES = 4
SHARDS = 1024
"""Dicts that share the records: growing one of them rehashes a thousandth of a big table, not all of it."""


def record(size_bytes: int, json: bytes) -> bytes:
    """An item's record. Joining also copies the JSON tight: its serializer leaves room at the end."""
    return size_bytes.to_bytes(SIZE_BYTES, "big") + json


def size_of(record: bytes) -> int:
    """The size of the item, in bytes as DynamoDB counts them."""
    return int.from_bytes(record[:SIZE_BYTES], "big")


def json_of(record: bytes) -> bytes:
    """The item's JSON."""
    return record[SIZE_BYTES:]


class Shelf:
    """Records by key, and the keys in order."""

    __slots__ = ("_order", "_shards", "total_bytes")

    def __init__(self) -> None:
        self._shards: tuple[dict[bytes, bytes], ...] = tuple({} for _ in range(SHARDS))
        self._order: SortedList[bytes] = SortedList()
        self.total_bytes = 0

    def __len__(self) -> int:
        return len(self._order)

    def get(self, key: bytes) -> bytes | None:
        """The record under a key."""
        return self._shards[hash(key) & (SHARDS - 1)].get(key)

    def __getitem__(self, key: bytes) -> bytes:
        return self._shards[hash(key) & (SHARDS - 1)][key]

    def put(self, key: bytes, record: bytes) -> None:
        """Store a record, in the place of another where there is one."""
        shard = self._shards[hash(key) & (SHARDS - 1)]
        old = shard.get(key)
        if old is None:
            self._order.add(key)
        else:
            self.total_bytes -= size_of(old)
        shard[key] = record
        self.total_bytes += size_of(record)

    def remove(self, key: bytes) -> None:
        """Forget a record. Raises KeyError if there is none."""
        old = self._shards[hash(key) & (SHARDS - 1)].pop(key)
        self._order.remove(key)
        self.total_bytes -= size_of(old)

    def between(self, low: bytes, high: bytes | None, *, descending: bool = False) -> Iterator[bytes]:
        """Keys from `low` on and below `high` (None: to the end), in order."""
        keys: Iterator[bytes] = self._order.irange(low, high, inclusive=(True, False), reverse=descending)
        return keys
