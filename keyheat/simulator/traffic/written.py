"""What a load has written so far, in the mean: whether a key has an item, and how many a collection has.

Requests fall on keys at random, so after N writes a key with the share p of them has a number of items that
is Poisson distributed with the mean N x p. What a read costs follows from that number, rounded up.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil, sqrt

import numpy as np

from keyheat.model.resources import Cause
from keyheat.simulator.flow import Answer
from keyheat.simulator.masses import Floats, Masses

MOST_GROUPS = 64  # of keys that are used about equally
FEW = 400.0  # items, of which each number has its own probability; beyond, a bell curve stands for them
BELL = np.linspace(-4.0, 4.0, 81)


@dataclass(slots=True)
class Written:
    """Items on the keys of one distribution."""

    keys: Masses
    items: float = 0.0
    _shares: Floats = field(init=False)  # of one key of each group ...
    _parts: Floats = field(init=False)  # ... and of all of its keys

    def __post_init__(self) -> None:
        self._shares, self._parts = _groups(self.keys)

    def told(self, answer: Answer) -> None:
        """Count what a flow of puts has written.

        What partitions refused was meant for keys that have many items anyway, so it counts, too: left out,
        it would be missing on the keys that nothing is refused of.
        """
        self.items += answer.accepted + answer.refused.get((None, Cause.KEY_RANGE), 0)

    def mean(self, of: Callable[[Floats], Floats], part: float = 1.0, coming: float = 0.0) -> float:
        """The mean of a function of how many items the next key has; `part` of them, where it reads less.

        `coming`: items that will be written meanwhile; half of them are there in the mean.
        """
        items = (self.items + coming / 2) * part
        found = [_poisson_mean(of, items * share) for share in self._shares.tolist()]
        return float(np.dot(self._parts, found))

    def there(self, coming: float = 0.0) -> float:
        """How probably the next key has an item.

        With `coming`: in the mean of the next so many requests, each of which leaves one where there is none.
        """
        return 1.0 - float(np.dot(self._parts, _still_missing(self._shares, self.items, coming)))

    def missing(self, coming: float) -> Masses:
        """Of the next so many requests, those on keys without an item: each key can be found so only once."""
        named = self.keys.shares * _still_missing(self.keys.shares, self.items, coming)
        even = self.keys.even
        if even:
            (of_even,) = _still_missing(np.array([even / self.keys.distinct]), self.items, coming)
            even *= float(of_even)
        total = float(named.sum()) + even
        return replace(self.keys, shares=named / total, even=even / total) if total > 0 else self.keys

    def different(self) -> float:
        """How many different keys have an item."""
        counts = self._parts / np.maximum(self._shares, 1e-300)
        return float(-np.dot(counts, np.expm1(-self.items * self._shares)))


def _still_missing(shares: Floats, items: float, coming: float) -> Floats:
    """How probably keys have no item yet, in the mean of the next so many requests."""
    now = np.exp(-items * shares)
    if not coming:
        return np.asarray(now)
    asked_for = coming * shares
    fading = np.divide(-np.expm1(-asked_for), asked_for, out=np.ones_like(asked_for), where=asked_for > 0)
    return np.asarray(now * fading)


def _groups(keys: Masses) -> tuple[Floats, Floats]:
    """Keys that are used about equally, as the share of one of them and that of all together."""
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


def _poisson_mean(of: Callable[[Floats], Floats], mean: float) -> float:
    """The mean of a function of a Poisson distributed number."""
    if mean > FEW:
        numbers: Floats = np.rint(mean + BELL * sqrt(mean))
        weights = np.exp(-(BELL**2) / 2)
    else:
        numbers = np.arange(ceil(mean + 8 * sqrt(mean) + 8), dtype=np.float64)
        steps = np.log(max(mean, 1e-12)) - np.log(np.maximum(numbers, 1.0))
        steps[0] = 0.0
        weights = np.exp(np.cumsum(steps) - mean)
    return float(np.dot(weights, of(numbers)) / weights.sum())
