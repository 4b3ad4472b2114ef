"""How many items keys have after a number of writes; what a query of them costs, and what a cache answers.

Requests fall on keys at random, so after N writes the number of items of a key with the share p is Poisson
distributed with the mean N x p. The cost of a read follows from that number, rounded up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from keyheat.model import limits
from keyheat.model.resources import Cause
from keyheat.scenario.spec.part import CacheSpec
from keyheat.simulator.flow import FlowAnswer
from keyheat.simulator.masses import Floats, Masses, thinned

MOST_GROUPS = 64  # of keys that are used about equally
FEW = 400.0  # items, of which each number has its own probability; beyond, a bell curve stands for them
BELL = np.linspace(-4.0, 4.0, 81)
BELL_WEIGHTS = np.exp(-(BELL**2) / 2)
NUMBERS = np.arange(ceil(FEW + 8 * sqrt(FEW) + 8), dtype=np.float64)
LOGS = np.log(np.maximum(NUMBERS, 1.0))


@dataclass(slots=True)
class Written:
    """Items on the keys of one distribution."""

    keys: Masses
    items: float = 0.0
    _shares: Floats = field(init=False)  # of one key of each group ...
    _parts: Floats = field(init=False)  # ... and of all of its keys

    def __post_init__(self) -> None:
        self._shares, self._parts = _groups(self.keys)

    def on_answer(self, answer: FlowAnswer) -> None:
        """Count what a flow of puts has written.

        What partitions refused was meant for keys that have many items anyway, so it counts, too: left out,
        it would be missing on the keys that nothing is refused of.
        """
        self.items += answer.accepted + answer.refused.get((None, Cause.KEY_RANGE), 0)

    def means(
        self, functions: Sequence[Callable[[Floats], Floats]], read_share: float = 1.0, coming: float = 0.0
    ) -> list[float]:
        """The means of functions of how many items the next key has; `part` of them, where it reads less.

        `coming`: items that will be written meanwhile; half of them are there in the mean.
        """
        items = (self.items + coming / 2) * read_share
        drawn = [_poisson(items * share) for share in self._shares.tolist()]
        every = np.concatenate([numbers for numbers, _weights in drawn] or [np.empty(0)])
        ends = np.cumsum([len(numbers) for numbers, _weights in drawn]).tolist()
        sums = [weights.sum() for _numbers, weights in drawn]
        means = []
        for of in functions:
            values = of(every)
            of_groups = [
                float(np.dot(weights, values[end - len(weights) : end]) / total)
                for (_numbers, weights), end, total in zip(drawn, ends, sums, strict=True)
            ]
            means.append(float(np.dot(self._parts, of_groups)))
        return means

    def there(self, coming: float = 0.0) -> float:
        """Return the probability that the next key has an item.

        With `coming`: the mean over that many next requests, each of which leaves an item.
        """
        return 1.0 - float(np.dot(self._parts, _still_missing(self._shares, self.items, coming)))

    def present(self, coming: float, reread: Masses | None = None) -> tuple[float, Masses]:
        """Return the part of the `coming` requests on keys with an item, and those keys.

        `reread`: the same keys, where some of them are asked for more seldom than items are left on them.
        """
        named, even = self._lacking(coming)
        return thinned(reread or self.keys, 1.0 - named, 1.0 - even)

    def missing(self, coming: float) -> tuple[float, Masses]:
        """The same for keys without an item: each key is found empty only once."""
        return thinned(self.keys, *self._lacking(coming))

    def _lacking(self, coming: float) -> tuple[Floats, float]:
        """How probably each named key has no item yet, and one of the others."""
        each_other = np.array([self.keys.even / self.keys.distinct])
        (even,) = _still_missing(each_other, self.items, coming)
        return _still_missing(self.keys.shares, self.items, coming), float(even)


def _still_missing(shares: Floats, items: float, coming: float) -> Floats:
    """Return the probability that keys have no item yet, as the mean over `coming` requests."""
    now = np.exp(-items * shares)
    if not coming:
        return np.asarray(now)
    asked_for = coming * shares
    fading = np.divide(-np.expm1(-asked_for), asked_for, out=np.ones_like(asked_for), where=asked_for > 0)
    return np.asarray(now * fading)


def _groups(keys: Masses) -> tuple[Floats, Floats]:
    """Group keys that are used about equally: the share of one of them, and of all together."""
    used, counts = np.unique(keys.shares[keys.shares > 0], return_counts=True)
    shares: Floats = used.astype(np.float64)
    parts: Floats = shares * counts
    if len(shares) > MOST_GROUPS:
        steps = np.geomspace(shares[0], shares[-1] * (1 + 1e-9), MOST_GROUPS + 1)
        group = np.searchsorted(steps, shares, side="right")
        weighed = np.bincount(group, parts * shares).astype(np.float64)
        weight = np.bincount(group, parts).astype(np.float64)
        shares, parts = weighed[weight > 0] / weight[weight > 0], weight[weight > 0]
    if keys.even:
        shares, parts = np.append(shares, keys.even / keys.distinct), np.append(parts, keys.even)
    return shares, parts


def _poisson(mean: float) -> tuple[Floats, Floats]:
    """Return the values of a Poisson distributed number, and their weights."""
    if mean > FEW:
        return np.rint(mean + BELL * sqrt(mean)), BELL_WEIGHTS
    count = ceil(mean + 8 * sqrt(mean) + 8)
    steps = np.log(max(mean, 1e-12)) - LOGS[:count]
    steps[0] = 0.0
    return NUMBERS[:count], np.exp(np.cumsum(steps) - mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCost:
    """A query's pages and units, as functions of how many items match it."""

    item_bytes: float
    limit: float = np.inf
    consistent: bool = False
    first_page: bool = False  # the reader does not follow further pages

    def items(self, matching: Floats) -> Floats:
        """Items that are read."""
        most = max(1.0, limits.PAGE_BYTES // self.item_bytes) if self.first_page else np.inf
        return np.minimum(matching, min(self.limit, most))

    def pages(self, matching: Floats) -> Floats:
        """Requests: a page ends at 1 MB."""
        if self.first_page:
            return np.ones_like(matching)
        return 1.0 + np.floor(self.items(matching) * self.item_bytes / limits.PAGE_BYTES)

    def units(self, matching: Floats) -> Floats:
        """Read units of all pages: of each, the bytes rounded up to 4 KB, and at least one of those."""
        pages = self.pages(matching)
        of_page = np.ceil(self.items(matching) * self.item_bytes / pages / limits.READ_UNIT_BYTES)
        whole = pages * np.maximum(of_page, 1.0)
        return whole if self.consistent else whole * limits.EVENTUAL_READ_FACTOR


def cached(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    """The part of the reads that reach the table, and their keys.

    A read-through cache reads an item that λ requests a second ask for when it has expired and is asked for,
    so every ttl + 1 / λ seconds: reads per second of the table = λ / (1 + λ x ttl).
    """
    return _cached(keys, spec, float(f"{reads_per_s:.3g}"))  # a rate that changes little is the same one


@lru_cache(maxsize=4)
def _cached(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    """The cache is taken to hold the most used keys, as many as there is room for."""
    kept = np.zeros_like(keys.shares)
    kept[np.argsort(-keys.shares)[: spec.items]] = 1.0
    even_kept = min(1.0, max(0, spec.items - len(kept)) / keys.distinct)
    (even,) = _hits(np.array([reads_per_s * keys.even / keys.distinct * spec.ttl_s]))
    return thinned(
        keys, 1.0 - kept * _hits(reads_per_s * keys.shares * spec.ttl_s), 1.0 - even_kept * float(even)
    )


def _hits(reads: Floats) -> Floats:
    """The part of the reads of a key that its item answers, of this many within its time to live."""
    return np.asarray(reads / (1 + reads))
