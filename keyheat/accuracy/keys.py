"""Where the requests of a random scenario fall: even keys, a hot key, a hot set, Zipf, dates, shards."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import numpy as np

from keyheat.model.keyspace import point, position
from keyheat.simulator.masses import Masses, Within

NAMED: Final = 200  # keys of a Zipf distribution that are told apart; the rest lies evenly


def even() -> Masses:
    """Keys too many to name, evenly used."""
    return keys([], even=1.0)


def hot_key(name: str, share: float, within: Within = "point") -> Masses:
    """One key with a share of all requests."""
    return keys([(name, share)], even=1 - share, within=within)


def hot_set(name: str, count: int, share: float, within: Within = "point") -> Masses:
    """A few keys that take a share evenly among them: also one key with so many suffixes."""
    named = [(f"{name}-{number}", share / count) for number in range(count)]
    return keys(named, even=1 - share, within=within)


def zipf(name: str, count: int, exponent: float) -> Masses:
    """`count` keys, the k-th most used in proportion to 1 / k^exponent."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares = weights / weights.sum()
    named = [(f"{name}-{rank}", float(share)) for rank, share in enumerate(shares[:NAMED])]
    return keys(named, even=max(0.0, 1 - sum(share for _, share in named)))


def keys(named: Sequence[tuple[str, float]], *, even: float, within: Within = "point") -> Masses:
    """Named keys with their shares, and the share of all others."""
    placed = sorted((point(position(name.encode())), name, share) for name, share in named)
    return Masses(
        points=np.array([at for at, _, _ in placed], dtype=np.uint64),
        shares=np.array([share for _, _, share in placed], dtype=np.float64),
        even=even,
        name=_names(tuple(name for _, name, _ in placed)),
        within=within,
    )


def _names(names: tuple[str, ...]) -> Callable[[int], str]:
    return lambda number: names[number]


def some_keys(rng: Random, name: str, hottest: float) -> tuple[Masses, str]:
    """Keys of a random kind whose most used one takes at most the share `hottest`, and what they are."""
    kind = rng.choice(("even", "even", "hot key", "hot set", "zipf", "sharded"))
    share = hottest * rng.uniform(0.2, 0.9)
    if kind == "hot key":
        return hot_key(name, share), f"a key with {share:.1%}"
    if kind == "hot set":
        count = rng.randint(3, 40)
        taken = min(0.9, share * count)
        return hot_set(name, count, taken), f"{count} keys with {taken:.0%}"
    if kind == "zipf":
        exponent = rng.uniform(0.4, 1.1)
        found = zipf(name, 10_000, exponent)
        if found.shares.max() <= hottest:
            return found, f"Zipf keys, exponent {exponent:.2f}"
    if kind == "sharded":
        count = rng.randint(2, 20)
        if 1 / count <= hottest:
            return hot_set(name, count, 1.0), f"one key in {count} shards"
    return even(), "even keys"
