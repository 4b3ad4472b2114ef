"""Key patterns: which partition key the next request touches; and the suffixes that shard a key.

A pattern is a value; drawing takes the random source and the time as arguments, so the same seed draws the
same keys under any clock. `draw` gives one key, `draw_many` an array for a simulator.
"""

from hashlib import md5
from random import Random

from keyheat.scenario.patterns.base import KeyPattern, Keys
from keyheat.scenario.patterns.dates import DateKey
from keyheat.scenario.patterns.even import HotKey, HotSet, Uniform
from keyheat.scenario.patterns.sequence import Sequence
from keyheat.scenario.patterns.traced import TraceKeys
from keyheat.scenario.patterns.zipf import Zipf

__all__ = [
    "DateKey", "HotKey", "HotSet", "KeyPattern", "Keys", "Sequence", "TraceKeys", "Uniform", "Zipf",
    "calculated_suffix", "random_suffix", "shard_key", "shard_keys",
]  # fmt: skip


def shard_key(key: str, shard: int) -> str:
    """The partition key of one shard of a key; shards count from 0."""
    return f"{key}#{shard}"


def random_suffix(key: str, shards: int, rng: Random) -> str:
    """The key of one shard chosen at random: even writes, but a reader must ask every shard."""
    return shard_key(key, rng.randrange(shards))


def calculated_suffix(key: str, attribute: str, shards: int) -> str:
    """The key of the shard that `attribute` falls on: a reader who knows the attribute asks one shard."""
    digest = md5(f"{key}{attribute}".encode(), usedforsecurity=False).digest()
    return shard_key(key, int.from_bytes(digest[:8], "big") % shards)


def shard_keys(key: str, shards: int) -> tuple[str, ...]:
    """Every shard of a key, in order: what a reader of the whole collection asks."""
    return tuple(shard_key(key, shard) for shard in range(shards))
