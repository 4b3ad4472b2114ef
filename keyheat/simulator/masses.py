"""The distribution of requests over the key space: named keys, and an even rest; and over its partitions.

          boundary     boundary
---|-k1---k2--|-----k3----|----k4---k5---     mass below a boundary: the named keys below it, the even
   partition 0  partition 1  partition 2      part of the line, and of a key that it divides the part of
                                              the sort keys below it
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from keyheat.model.splits import HASH_BYTES, WHOLE, key_point, point
from keyheat.scenario.keys import (
    DateKey,
    HotKeys,
    KeyPattern,
    Sequential,
    Uniform,
    Weighted,
    Zipf,
)

if TYPE_CHECKING:
    from keyheat.model.admission import ResourceModel
    from keyheat.model.table import TableModel

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
    if isinstance(pattern, Sequential):  # no key of it comes twice
        return even_masses()
    assert isinstance(pattern, Hashable), "all others stay as they are"
    return _of_law(pattern, at_s)


@lru_cache(maxsize=2)
def _of_law(pattern: KeyPattern, at_s: float) -> Masses:
    """The masses of a pattern that stays the same. A search simulates one scenario many times, and to hash a
    hundred thousand keys takes as long as a minute of their load."""
    even = 0.0  # part of all
    match pattern:
        case Uniform(keys=keys, prefix=prefix):
            parts, name = np.full(keys if keys <= MOST_NAMED else 0, 1 / keys), _numbered(prefix)
            even = 0.0 if len(parts) else 1.0
        case HotKeys(share=share, others=others):
            hot, name = pattern.hot_keys or 1, pattern.hot_name
            parts = np.full(hot, share / hot)
            if hot + others > MOST_NAMED:
                even = 1.0 - share
            else:
                other = _numbered(pattern.prefix)
                parts = np.concatenate([parts, np.full(others, (1.0 - share) / others)])
                name = lambda n: pattern.hot_name(n) if n < hot else other(n - hot)  # noqa: E731
        case Zipf(exponent=exponent, keys=keys, prefix=prefix):
            named, name = min(keys, MOST_NAMED), _numbered(prefix)
            parts = np.arange(1, named + 1, dtype=np.float64) ** -exponent * pattern.share(1)
            even = max(0.0, 1.0 - float(parts.sum())) if named < keys else 0.0
        case Weighted(names=names, weights=weights):
            parts, name = np.array(weights, np.float64), names.__getitem__
            parts = parts / parts.sum()
        case DateKey(day_s=day_s):
            key = pattern.period(int(at_s // day_s))
            parts, name = np.ones(1), lambda _number: key
        case _:
            raise TypeError(f"{type(pattern).__name__} does not say how often each key is used")
    return _placed(len(parts), name, parts, even=even, distinct=float(getattr(pattern, "keys", np.inf)))


Spelt = Callable[[int], str]


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


SORT_BYTES = 8
"""Length of random sort keys."""


@dataclass(frozen=True, slots=True)
class TopKeys:
    """The most used keys: their names and hashes, their shares, and the partition that each of them is on."""

    names: tuple[str, ...]
    points: tuple[bytes, ...]
    shares: Floats
    partitions: Places


@dataclass(frozen=True, slots=True)
class _Edges:
    """The mass below the beginning of each partition, and at the end: of named keys, and of the even part."""

    named: Floats
    even: Floats
    cumulative: Floats  # the mass of all keys before each named one, and at the end of all
    shares: Floats  # of each partition


class PartitionShares:
    """The shares of the partitions of one resource, until one of them splits."""

    def __init__(self, boundaries: tuple[bytes, ...] = ()) -> None:
        """`boundaries` are where the partitions begin, the first one excepted."""
        self.boundaries = boundaries
        self._points = np.array([point(at) for at in boundaries], np.uint64)  # on the line of keys
        self._edges: WeakKeyDictionary[Masses, _Edges] = WeakKeyDictionary()
        self._top: WeakKeyDictionary[Masses, TopKeys] = WeakKeyDictionary()

    def of(self, masses: Masses) -> Floats:
        """The part of the requests that falls on each partition, in key order."""
        return self._edges_of(masses).shares

    def positions(
        self, masses: Masses, number: int | None, count: int, now_s: float, rng: np.random.Generator
    ) -> list[bytes]:
        """Positions of `count` requests on the `number`-th partition, in order of arrival; None: on any."""
        edges = self._edges_of(masses)
        first, last = (0, -1) if number is None else (number, number + 1)
        named = float(edges.named[last] - edges.named[first])
        even = float(edges.even[last] - edges.even[first])
        places = rng.random(count)
        is_named = rng.random(count) * (named + even) < named
        hashes = np.empty(count, np.uint64)
        below = np.zeros(count)
        at = edges.named[first] + places[is_named] * named  # of the named mass
        if len(at):
            keys = np.searchsorted(edges.cumulative, at, side="right") - 1
            keys = np.clip(keys, 0, len(masses.points) - 1)
            within = (at - edges.cumulative[keys]) / masses.shares[keys]  # the key's own mass
            hashes[is_named], below[is_named] = masses.points[keys], np.clip(within, 0.0, 1.0 - 2.0**-53)
        spread = (edges.even[first] + places[~is_named] * even) / (masses.even or 1.0)
        hashes[~is_named] = np.minimum(spread, 1.0 - 2.0**-53) * WHOLE
        below[~is_named] = rng.random(int((~is_named).sum()))
        suffixes = _suffixes(masses, below, now_s)
        return [
            int(at).to_bytes(HASH_BYTES, "big") + suffix for at, suffix in zip(hashes, suffixes, strict=True)
        ]

    def top(self, masses: Masses) -> TopKeys | None:
        """The most used keys; None where no key is named."""
        if not len(masses.points):
            return None
        top = self._top.get(masses)
        if top is None:
            numbers, names = most_used(masses)
            partitions = np.searchsorted(self._points, masses.points[numbers], side="right")
            points = tuple(int(at).to_bytes(HASH_BYTES, "big") for at in masses.points[numbers])
            top = self._top[masses] = TopKeys(names, points, masses.shares[numbers], partitions)
        return top

    def _edges_of(self, masses: Masses) -> _Edges:
        edges = self._edges.get(masses)
        if edges is None:
            points, cumulative = self._points, np.concatenate([[0.0], np.cumsum(masses.shares)])
            places = np.searchsorted(masses.points, points)
            below = cumulative[places]
            for number, (position, at) in enumerate(zip(places, self.boundaries, strict=True)):
                if position < len(masses.points) and masses.points[position] == points[number]:
                    below[number] += masses.shares[position] * _below_sort_key(masses, at[HASH_BYTES:])
            named = np.concatenate([[0.0], below, cumulative[-1:]])
            even = np.concatenate([[0.0], points / WHOLE, [1.0]]) * masses.even
            parts = np.diff(named) + np.diff(even)
            edges = self._edges[masses] = _Edges(named, even, cumulative, parts / parts.sum())
        return edges


def _below_sort_key(masses: Masses, sort_key: bytes) -> float:
    """The part of one key's items that lies below a boundary inside its collection."""
    if not sort_key or masses.within == "rising":  # what is written next is above all that was
        return 0.0
    if masses.within == "point":
        return 1.0
    head = sort_key[:SORT_BYTES].ljust(SORT_BYTES, b"\0")
    return int.from_bytes(head, "big") / 2.0 ** (8 * SORT_BYTES)


def _suffixes(masses: Masses, below: Floats, now_s: float) -> Sequence[bytes]:
    """The sort keys of requests, in order of arrival; `below` is the part of the collection under each."""
    if masses.within == "point":
        return [b""] * len(below)
    if masses.within == "rising":
        first = int(now_s * 1e6)
        return [(first + number).to_bytes(SORT_BYTES, "big") for number in range(len(below))]
    return [int(share * 2.0 ** (8 * SORT_BYTES)).to_bytes(SORT_BYTES, "big") for share in below]


class TableShares:
    """A table and its indexes, with the shares of their partitions.

    `names_keys`: whether answers say what the most used keys asked for, which takes a sixth of the time.
    """

    def __init__(self, model: "TableModel", *, names_keys: bool = True) -> None:
        self.model = model
        self.names_keys = names_keys
        self._shares: dict[str | None, tuple[ResourceModel, int, PartitionShares]] = {}

    def shares(self, index: str | None) -> PartitionShares:
        """How requests divide among the partitions that the table or an index has now."""
        resource = self.model.resource(index)
        count = len(resource.partitions)
        cached = self._shares.get(index)
        if cached is None or cached[:2] != (resource, count):
            cached = resource, count, PartitionShares(resource.partitions.boundaries)
            self._shares[index] = cached
        return cached[2]
