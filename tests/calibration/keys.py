"""Which keys a load asks for."""

from collections.abc import Callable
from random import Random
from typing import Any

from keyheat.model.splits import HASH_BYTES, WHOLE, position

Keys = Callable[[int], bytes]
"""The position of the n-th request."""


def keys_of(found: dict[str, Any], rng: Random) -> Keys:
    """`spread`: all different; `item`: one; `collections`: `count` partition keys with random sort keys;
    `sorted`: `run` items of one partition key after the other; `shuffled`: the same keys at random;
    `shares`: even ranges of the hash line, drawn by these weights.
    """
    kind, count, run = found.get("kind", "spread"), found.get("count", 1), found.get("run", 1)
    shares = found.get("shares", [1])
    many: dict[str, Keys] = {
        "spread": lambda n: position(rng.randbytes(8)),
        "item": lambda n: position(b"one"),
        "collections": lambda n: position(b"key-%d" % (n % count), rng.randbytes(6)),
        "sorted": lambda n: position(b"key-%d" % (n // run), b"%012d" % n),
        "shares": lambda n: _within(rng, rng.choices(range(len(shares)), shares)[0], len(shares)),
        "shuffled": lambda n: position(b"key-%d" % rng.randrange(count), rng.randbytes(6)),
    }
    return many[kind]


def _within(rng: Random, place: int, count: int) -> bytes:
    """A position somewhere in one of `count` even ranges."""
    return int((place + rng.random()) / count * WHOLE).to_bytes(HASH_BYTES, "big")
