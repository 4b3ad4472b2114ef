"""The distribution of a flow's requests over the key space: named keys, and an even rest."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from keyheat.model.splits import key_point
from keyheat.scenario.keys import (
    DateKey,
    HotKeys,
    KeyPattern,
    Sequence,
    Uniform,
    Weighted,
    Zipf,
)

Within = Literal["point", "random", "rising"]
"""Inside one item collection: one item only; sort keys at random; sort keys that only ever grow."""

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

MOST_NAMED: Final = 100_000
"""Keys that are placed one by one; rarer ones are spread evenly, as a hash nearly does."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class Masses:
    """A distribution over positions. Values are shared and never changed: compare them by identity.

    `points` are the hashes of the named keys (uint64, sorted), `shares` their parts of the requests; `even`
    is the part spread evenly over the whole line by keys too many to name. `shares.sum() + even == 1`.
    `name(n)` is the partition key of `points[n]`.
    """

    points: npt.NDArray[np.uint64]
    shares: Floats
    even: float
    name: Callable[[int], str]
    within: Within = "point"
    distinct: float = np.inf  # keys that the even part is made of


def even_masses(*, distinct: float = np.inf) -> Masses:
    """Keys too many to name, used evenly."""
    return Masses(
        points=np.empty(0, np.uint64),
        shares=np.empty(0),
        even=1.0,
        name=_nameless,
        distinct=distinct,
    )


def masses_of_shares(
    shares: Mapping[str, float], *, even: float = 0.0, within: Within = "point", distinct: float = np.inf
) -> Masses:
    """Keys in proportion to their shares, beside an `even` part of all requests.

    Raises `ValueError` where there is nothing, or less than nothing, to share out.
    """
    keys = list(shares)
    parts = np.array([shares[key] for key in keys], np.float64)
    if not 0.0 <= even <= 1.0 or (parts < 0).any() or (even < 1.0 and not parts.sum() > 0):
        raise ValueError(f"shares have to be at least 0 and not all 0, even from 0 to 1: {even=}, {shares=}")
    return _placed(len(keys), keys.__getitem__, parts, even=even, within=within, distinct=distinct)


def thinned(keys: Masses, named: Floats, even: float) -> tuple[float, Masses]:
    """Keep a part of the requests of each named key, and of the even ones.

    Returns the part of all requests that is kept, and the keys of those.
    """
    shares, rest = keys.shares * named, keys.even * even
    kept = float(shares.sum()) + rest
    return kept, replace(keys, shares=shares / kept, even=rest / kept) if kept > 0 else keys


TOP_KEYS: Final = 64
"""Keys of a flow whose uses are followed one by one: three times as many as are shown."""
_most_used: WeakKeyDictionary["Masses", tuple[Places, tuple[str, ...]]] = WeakKeyDictionary()


def most_used(keys: Masses) -> tuple[Places, tuple[str, ...]]:
    """Return the numbers and the names of the most used keys; empty if all are too many to name."""
    named = _most_used.get(keys)
    if named is None:
        count = min(TOP_KEYS, len(keys.shares))
        numbers = np.argpartition(-keys.shares, count - 1)[:count] if count else np.empty(0, np.int64)
        named = _most_used[keys] = numbers, tuple(map(keys.name, numbers.tolist()))
    return named


def masses_of(pattern: KeyPattern, *, at_s: float = 0.0) -> Masses:
    """Return the keys that a pattern draws `at_s` seconds into the run.

    Up to `MOST_NAMED` keys are named; of more, the most used ones, and the rest is even. Raises `TypeError`
    for a pattern that has no such law, as the keys of a trace.
    """
    if isinstance(pattern, Sequence):  # no key of it comes twice
        return even_masses()
    assert isinstance(pattern, Hashable), "all others stay as they are"
    return _of_law(pattern, at_s)


@lru_cache(maxsize=2)
def _of_law(pattern: KeyPattern, at_s: float) -> Masses:
    """The masses of a pattern that stays the same. A search simulates one scenario many times, and to hash a
    hundred thousand keys takes as long as a minute of their load."""
    count, spelt, parts, even = _law(pattern, at_s, MOST_NAMED)
    return _placed(count, spelt, parts, even=even, distinct=float(getattr(pattern, "keys", np.inf)))


Spelt = Callable[[int], str]
Law = tuple[int, Spelt, Floats, float]
"""How many keys are named; the name of each; their parts, in proportion; and the even part of all."""


def _law(pattern: KeyPattern, at_s: float, most: int) -> Law:
    match pattern:
        case Uniform(keys=keys, prefix=prefix):
            named = keys if keys <= most else 0
            return named, _numbered(prefix), np.full(named, 1 / keys), 0.0 if named else 1.0
        case HotKeys():
            return _hot_and_others(pattern, most)
        case Zipf(exponent=exponent, keys=keys, prefix=prefix):
            named = min(keys, most)
            parts = np.arange(1, named + 1, dtype=np.float64) ** -exponent * pattern.share(1)
            even = max(0.0, 1.0 - float(parts.sum())) if named < keys else 0.0
            return named, _numbered(prefix), parts, even
        case Weighted(names=names, weights=weights):
            parts = np.array(weights, np.float64)
            return len(names), names.__getitem__, parts / parts.sum(), 0.0
        case DateKey(day_s=day_s):
            key = pattern.period(int(at_s // day_s))
            return 1, lambda _number: key, np.ones(1), 0.0
        case _:
            raise TypeError(f"{type(pattern).__name__} does not say how often each key is used")


def _hot_and_others(pattern: HotKeys, most: int) -> Law:
    """The hot keys first, then the others; others too many to name are even."""
    hot, others, share = pattern.hot_keys or 1, pattern.others, pattern.share
    parts = np.full(hot, share / hot)
    if hot + others > most:
        return hot, pattern.hot_name, parts, 1.0 - share
    other = _numbered(pattern.prefix)
    parts = np.concatenate([parts, np.full(others, (1.0 - share) / others)])
    return len(parts), lambda n: pattern.hot_name(n) if n < hot else other(n - hot), parts, 0.0


def _numbered(prefix: str) -> Spelt:
    return lambda number: f"{prefix}-{number}"


def _nameless(number: int) -> str:
    raise IndexError(f"no key is named here, so none has the number {number}")


def _placed(
    count: int, spelt: Spelt, parts: Floats, *, even: float, distinct: float, within: Within = "point"
) -> Masses:
    """Masses with the keys in order of their hashes; of the names only the order is kept."""
    hashes = (key_point(spelt(number).encode()) for number in range(count))
    points = np.fromiter(hashes, np.uint64, count)
    order = np.argsort(points, kind="stable").astype(np.int32)
    total = float(parts.sum())
    shares = parts[order] * ((1.0 - even) / total) if total else parts
    return Masses(
        points=points[order],
        shares=shares,
        even=even if total else 1.0,
        name=lambda number: spelt(int(order[number])),
        within=within,
        distinct=distinct,
    )
