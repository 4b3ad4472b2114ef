"""Divide the requests of a second among partitions, and draw positions on one of them.

          boundary     boundary
---|-k1---k2--|-----k3----|----k4---k5---     mass below a boundary: the named keys below it, the even
   partition 0  partition 1  partition 2      part of the line, and of a key that it divides the part of
                                              the sort keys below it
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from keyheat.model.splits import HASH_BYTES, WHOLE, point
from keyheat.simulator.masses import Floats, Masses, Places, most_used

if TYPE_CHECKING:
    from keyheat.model.admission import ResourceModel
    from keyheat.model.table import TableModel

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
    """The shares of the partitions of one resource, worked out again only after a split."""

    __slots__ = ("_edges", "_points", "_top", "boundaries")

    def __init__(self) -> None:
        self.boundaries: tuple[bytes, ...] = ()  # where the partitions begin, the first one excepted
        self._points = np.empty(0, np.uint64)  # of the boundaries, on the line of keys
        self._edges: WeakKeyDictionary[Masses, _Edges] = WeakKeyDictionary()
        self._top: WeakKeyDictionary[Masses, TopKeys] = WeakKeyDictionary()

    def set_boundaries(self, boundaries: tuple[bytes, ...]) -> None:
        """Say where the partitions begin, the first one excepted."""
        self.boundaries = boundaries
        self._points = np.array([point(at) for at in boundaries], np.uint64)
        self._edges.clear()
        self._top.clear()

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
        keys, below[is_named] = _keys_at(
            masses, edges.cumulative, edges.named[first] + places[is_named] * named
        )
        hashes[is_named] = masses.points[keys]
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


def _keys_at(masses: Masses, cumulative: Floats, places: Floats) -> tuple[Places, Floats]:
    """The named key at each place of the named mass, and how far into the key's own mass the place is."""
    if not len(places):
        return np.empty(0, np.int64), places
    keys = np.searchsorted(cumulative, places, side="right") - 1
    keys = np.clip(keys, 0, len(masses.points) - 1)
    return keys, np.clip((places - cumulative[keys]) / masses.shares[keys], 0.0, 1.0 - 2.0**-53)


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

    __slots__ = ("_shares", "model", "names_keys")

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
            shares = PartitionShares() if cached is None else cached[2]
            shares.set_boundaries(resource.partitions.boundaries)
            self._shares[index] = (resource, count, shares)
            return shares
        return cached[2]
