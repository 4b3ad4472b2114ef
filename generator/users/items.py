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
        indexed = {name for index in table.indexes for name in (index.partition_key, index.sort_key) if name}
        self._indexed = {
            name: (b'},%b:{"S":"' % orjson.dumps(name), text_bytes(name) + INDEXED_DIGITS)
            for name in sorted(indexed - set(keys))
        }
        self._size = scenario.load.item_size()
        self._fixed_bytes = self._size.least if isinstance(self._size, FixedSize) else None
        self._names_bytes = sum(text_bytes(name) for name in (*keys, FILLER))
        self._filler = b"x" * self._size.most
        self._put_head = b'{"TableName":%b,"ReturnConsumedCapacity":"%b","Item":' % (
            orjson.dumps(table.name),
            b"INDEXES" if table.indexes else b"TOTAL",
        )
        self._head = b'{%b:{"S":' % orjson.dumps(table.partition_key)
        self._sort_head = b'},%b:{"S":' % orjson.dumps(table.sort_key) if table.sort_key else b""

    def draw_size(self, rng: Random) -> int:
        """The size of the next item in bytes."""
        return self._fixed_bytes or self._size.draw(rng)

    def put(
        self, key: str, sort_key: str, rng: Random, size: int | None = None, attributes: Attributes = NONE
    ) -> bytes:
        """The body of a PutItem of an item as `item` makes it. Raises `ItemTooSmall`."""
        return b"".join((self._put_head, *self._parts(key, sort_key, rng, size, attributes), b"}"))

    def item(
        self, key: str, sort_key: str, rng: Random, size: int | None = None, attributes: Attributes = NONE
    ) -> bytes:
        """The JSON of an item of exactly `size` bytes, or of a size that is drawn.

        `sort_key` is left out where the table has none. An attribute that an index is keyed by has a random
        value unless `attributes` gives it one. Raises `ItemTooSmall`.
        """
        return b"".join(self._parts(key, sort_key, rng, size, attributes))

    def _parts(
        self, key: str, sort_key: str, rng: Random, size: int | None, attributes: Attributes
    ) -> list[bytes]:
        parts = [self._head, orjson.dumps(key)]
        used = self._names_bytes + text_bytes(key)
        if self._sort_head:
            parts += (self._sort_head, orjson.dumps(sort_key))
            used += text_bytes(sort_key)
        for name, (head, weight) in self._indexed.items():
            if name not in attributes:
                parts.append(b'%b%0*d"' % (head, INDEXED_DIGITS, rng.randrange(INDEXED_VALUES)))
                used += weight
        for name, value in attributes.items():
            if value is not None:
                parts.append(b'},%b:{"S":%b' % (orjson.dumps(name), orjson.dumps(value)))
                used += text_bytes(name) + text_bytes(value)
        room = (size or self.draw_size(rng)) - used
        if room <= 0:
            raise ItemTooSmall(f"an item with the key {key!r} needs more than the item_bytes of the load")
        parts += (b'},"filler":{"S":"', self._filler_of(room), b'"}}')
        return parts

    def _filler_of(self, room: int) -> bytes:
        """So many bytes; a trace may ask for more than the scenario's own sizes do."""
        if room > len(self._filler):
            self._filler = b"x" * room
        return self._filler[:room]
