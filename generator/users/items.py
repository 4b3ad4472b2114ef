"""The items that are written: exactly as many bytes as the scenario says.

The JSON of a PutItem is joined from fragments that never change and from a key, a sort key and filler that
do, which is many times cheaper than building a dictionary.
"""

from random import Random

import orjson

from tablemodel.scenario import Scenario

FILLER = "filler"
INDEXED_VALUES = 1_000  # values of an attribute that only an index is keyed by
INDEXED_DIGITS = len(str(INDEXED_VALUES - 1))


class ItemTooSmall(ValueError):
    """The scenario's `item_bytes` has no room for the item's own keys."""


class ItemTemplate:
    """Makes the bodies of PutItem for one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        table = scenario.table
        keys = [name for name in (table.partition_key, table.sort_key) if name]
        indexed = {name for index in table.indexes for name in (index.partition_key, index.sort_key) if name}
        self._indexed = [orjson.dumps(name) for name in sorted(indexed - set(keys))]
        names = [*keys, *sorted(indexed - set(keys)), FILLER]
        values_bytes = INDEXED_DIGITS * len(self._indexed)
        self._room = scenario.load.item_bytes - sum(len(name.encode()) for name in names) - values_bytes
        self._filler = b"x" * max(0, self._room)
        self._head = b'{"TableName":%b,"ReturnConsumedCapacity":"%b","Item":{%b:{"S":' % (
            orjson.dumps(table.name),
            b"INDEXES" if table.indexes else b"TOTAL",
            orjson.dumps(table.partition_key),
        )
        self._sort_head = b'},%b:{"S":' % orjson.dumps(table.sort_key) if table.sort_key else b""

    def put(self, key: str, sort_key: str, rng: Random) -> bytes:
        """The body of a PutItem of exactly the scenario's size.

        `sort_key` is left out where the table has none. Raises `ItemTooSmall`.
        """
        parts = [self._head, orjson.dumps(key)]
        used = _utf8_bytes(key)
        if self._sort_head:
            parts += (self._sort_head, orjson.dumps(sort_key))
            used += _utf8_bytes(sort_key)
        for name in self._indexed:
            parts.append(b'},%b:{"S":"%0*d"' % (name, INDEXED_DIGITS, rng.randrange(INDEXED_VALUES)))
        if used >= self._room:
            raise ItemTooSmall(f"an item with the key {key!r} needs more than the item_bytes of the load")
        parts += (b'},"filler":{"S":"', self._filler[used:], b'"}}}')
        return b"".join(parts)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
