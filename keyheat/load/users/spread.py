"""Reads that are spread over a table and its global indexes with the same keys: each is a copy to read from.

Every copy has partitions, and a capacity, of its own. Each is paid for by every write, too.
"""

from typing import Any

from keyheat.load.users.collections import Collected
from keyheat.load.users.places import copies_of
from keyheat.load.users.readers import Reader
from keyheat.scenario.keys import shard_keys


class SpreadReader(Reader):
    """Reads from the table or from one of its copies: at random, or each in its turn."""

    abstract = True
    in_turn = False

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._copies = copies_of(self._table)
        self._turn = self.number  # users begin at different ones

    def next_copy(self) -> str | None:
        """Where the next read goes."""
        if not self.in_turn:
            return self.rng.choice(self._copies)
        self._turn += 1
        return self._copies[self._turn % len(self._copies)]

    def read_item_anywhere(self, key: str, sort_key: str | None = None) -> Collected:
        """One item, eventually consistent: indexes offer nothing else."""
        return self.read_item(key, sort_key, index=self.next_copy(), consistent=False)

    def read_collection_anywhere(self, key: str, *, limit: int | None = None) -> Collected:
        """The collection of a sharded key, all shards of it from the same copy."""
        return self.read_shards(shard_keys(key, self.shards), index=self.next_copy(), limit=limit)
