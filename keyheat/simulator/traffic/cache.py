"""A read-through cache, as the table meets it: of each key, one read per lifetime, whoever asks how often.

A key that is asked for λ times a second is read when its item has expired and it is asked for again, so every
ttl + 1 / λ seconds:

    reads per second of the table = λ / (1 + λ x ttl)

A cache that holds fewer items than there are keys drops an item before that, once so many others were used
since: about the same time for all keys (H. Che et al., "Hierarchical Web caching systems", IEEE JSAC 20,
2002).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from keyheat.scenario.spec.cache import CacheSpec
from keyheat.simulator.masses import Masses

STEPS = 60  # of halving an interval


@dataclass(slots=True)
class Cached:
    """The cache of one process."""

    spec: CacheSpec
    _asked: tuple[Masses, str] | None = field(default=None, init=False)
    _answer: tuple[float, Masses] = field(init=False)

    def missed(self, keys: Masses, reads_per_s: float) -> tuple[float, Masses]:
        """The part of the reads that reach the table, and which keys those are of."""
        asked = keys, f"{reads_per_s:.2g}"  # a rate that changes little is no other question
        if asked != self._asked:
            self._asked, self._answer = asked, _missed(keys, self.spec, reads_per_s)
        return self._answer


def _missed(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    if reads_per_s <= 0:
        return 1.0, keys
    lifetime_s = min(spec.ttl_s, kept_s(keys, spec.items, reads_per_s))
    named = keys.shares / (1 + reads_per_s * keys.shares * lifetime_s)
    even = keys.even / (1 + reads_per_s * keys.even / keys.distinct * lifetime_s)
    part = float(named.sum() + even)
    return part, replace(keys, shares=named / part, even=even / part)


def kept_s(keys: Masses, items: int, reads_per_s: float) -> float:
    """Seconds after its last use in which an item makes room; infinity where there is room for all."""
    if reads_per_s <= 0 or len(keys.shares) + (keys.distinct if keys.even else 0) <= items:
        return float("inf")

    def used(within_s: float) -> float:
        """How many different keys are asked for meanwhile."""
        named = -np.expm1(-reads_per_s * keys.shares * within_s).sum()
        even = keys.even * reads_per_s * within_s
        if np.isfinite(keys.distinct):
            even = -keys.distinct * np.expm1(-even / keys.distinct)
        return float(named + even)

    low, high = 0.0, 1.0
    while used(high) < items:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if used(middle) < items else (low, middle)
    return high
