"""The items that are written: exactly as many bytes as the scenario says, or draws.

The JSON of an item is joined from fragments that never change and from a key, a sort key and filler that do,
which is many times cheaper than building a dictionary.
"""

from collections.abc import Mapping
from random import Random

import orjson

from tablemodel.scenario import Scenario
from tablemodel.sizes import FixedSize
from tablemodel.units import text_bytes

FILLER = "filler"
INDEXED_VALUES = 1_000  # values of an attribute that only an index is keyed by
INDEXED_DIGITS = len(str(INDEXED_VALUES - 1))

Attributes = Mapping[str, str | None]
"""String attributes that a load test chooses; None: the item has none of that name (a sparse index)."""
NONE: Attributes = {}


class ItemTooSmall(ValueError):
    """The item's size has no room for its own keys."""


class ItemTemplate:
    """Makes the items of one scenario, and the bodies of PutItem."""

    def __init__(self, scenario: Scenario) -> None:
        table = scenario.table
        keys = [name for name in (table.partition_key, table.sort_key) if name]
        strings = (
            (one.partition_key, one.sort_key if one.sort_key_type == "S" else None) for one in table.indexes
        )
        indexed = {name for pair in strings for name in pair if name}
        self._indexed = {
            name: (b'},%b:{"S":"' % orjson.dumps(name), text_bytes(name) + INDEXED_DIGITS)
            for name in sorted(indexed - set(keys))
        }
        self._size = scenario.load.item_size()
        self._fixed_bytes = self._size.least if isinstance(self._size, FixedSize) else None
        self._names_bytes = sum(text_bytes(name) for name in (*keys, FILLER))
        self._filler = b"x" * self._size.most
        self._head = b'{%b:{"S":' % orjson.dumps(table.partition_key)
        self._put_head = b'{"TableName":%b,"ReturnConsumedCapacity":"%b","Item":%b' % (
            orjson.dumps(table.name),
            b"INDEXES" if table.indexes else b"TOTAL",
            self._head,
        )
        self._sort_head = b'},%b:{"S":' % orjson.dumps(table.sort_key) if table.sort_key else b""

    def draw_size(self, rng: Random) -> int:
        """The size of the next item in bytes."""
        return self._fixed_bytes or self._size.draw(rng)

    def put(
        self, key: str, sort_key: str, rng: Random, size: int | None = None, attributes: Attributes = NONE
    ) -> bytes:
        """The body of a PutItem of an item as `item` makes it. Raises `ItemTooSmall`."""
        return self._joined(self._put_head, b'"}}}', key, sort_key, rng, size, attributes)

    def item(
        self, key: str, sort_key: str, rng: Random, size: int | None = None, attributes: Attributes = NONE
    ) -> bytes:
        """The JSON of an item of exactly `size` bytes, or of a size that is drawn.

        `sort_key` is left out where the table has none. An attribute that an index is keyed by has a random
        value unless `attributes` gives it one. Raises `ItemTooSmall`.
        """
        return self._joined(self._head, b'"}}', key, sort_key, rng, size, attributes)

    def least_bytes(self, key: str, sort_key: str | None) -> int:
        """How many bytes an item with these keys has at least: one byte fills it."""
        used = self._names_bytes + text_bytes(key) + (text_bytes(sort_key or "") if self._sort_head else 0)
        return used + sum(weight for _, weight in self._indexed.values()) + 1

    def filler(self, key: str, sort_key: str, size: int) -> str:
        """What fills an item with these keys up to a size; random attributes of indexes not counted."""
        used = self._names_bytes + text_bytes(key) + (text_bytes(sort_key) if self._sort_head else 0)
        return "x" * max(1, size - used)

    def _joined(
        self,
        head: bytes,
        tail: bytes,
        key: str,
        sort_key: str,
        rng: Random,
        size: int | None,
        attributes: Attributes,
    ) -> bytes:
        parts = [head, orjson.dumps(key)]
        used = self._names_bytes + text_bytes(key)
        if self._sort_head:
            parts += (self._sort_head, orjson.dumps(sort_key))
            used += text_bytes(sort_key)
        if self._indexed:
            used += self._add_indexed(parts, rng, attributes)
        if attributes:
            used += _add(parts, attributes)
        room = (size or self.draw_size(rng)) - used
        if room <= 0:
            raise ItemTooSmall(f"an item with the key {key!r} needs more than the item_bytes of the load")
        if room > len(self._filler):  # a trace may ask for more than the scenario's own sizes do
            self._filler = b"x" * room
        parts += (b'},"filler":{"S":"', self._filler[:room], tail)
        return b"".join(parts)

    def _add_indexed(self, parts: list[bytes], rng: Random, attributes: Attributes) -> int:
        """Random values of the attributes of indexes that nobody has chosen; gives their bytes."""
        used = 0
        for name, (head, weight) in self._indexed.items():
            if name not in attributes:
                parts.append(b'%b%0*d"' % (head, INDEXED_DIGITS, rng.randrange(INDEXED_VALUES)))
                used += weight
        return used


def _add(parts: list[bytes], attributes: Attributes) -> int:
    """The attributes that the load test has chosen; gives their bytes."""
    used = 0
    for name, value in attributes.items():
        if value is not None:
            parts.append(b'},%b:{"S":%b' % (orjson.dumps(name), orjson.dumps(value)))
            used += text_bytes(name) + text_bytes(value)
    return used
