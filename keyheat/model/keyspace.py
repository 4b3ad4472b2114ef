"""The line on which a table's keys lie, and its division among partitions.

    00.......              position = hash(partition key), sort key              ff.......
    |--------- partition 0 ---------|--------- partition 1 ---------|--- partition 2 ---|

A position is eight bytes of hash, then the sort key in an encoding that keeps its order. Items of one
partition key therefore lie side by side, in sort order, and a boundary may fall between or inside them.
"""

from xxhash import xxh3_64_digest, xxh3_64_intdigest

HASH_BYTES = 8
WHOLE = 1 << (8 * HASH_BYTES)


def position(partition_key: bytes, sort_key: bytes = b"") -> bytes:
    """Where an item lies: positions compare as bytes, so `sort_key` comes in bytes that keep its order."""
    return xxh3_64_digest(partition_key) + sort_key


def key_point(partition_key: bytes) -> int:
    """The hash part of every position of a partition key, as a number: `point(position(partition_key))`."""
    return xxh3_64_intdigest(partition_key)


def collection_of(at: bytes) -> bytes:
    """What the positions of one partition key have in common: its item collection."""
    return at[:HASH_BYTES]


def point(at: bytes) -> int:
    """The hash part of a position, as a number from 0 up to `WHOLE`."""
    return int.from_bytes(at[:HASH_BYTES].ljust(HASH_BYTES, b"\0"), "big")


def even_boundaries(count: int) -> list[bytes]:
    """The `count` - 1 positions that divide the line into `count` equal ranges."""
    return [(WHOLE * number // count).to_bytes(HASH_BYTES, "big") for number in range(1, count)]


def middle(start: bytes, end: bytes | None) -> bytes | None:
    """The position half way from `start` to `end` (None: the line's end); None inside one item collection."""
    low = point(start)
    half = (low + (WHOLE if end is None else point(end))) // 2
    return half.to_bytes(HASH_BYTES, "big") if half > low else None
