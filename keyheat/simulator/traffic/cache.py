"""A read-through cache in front of a table.

A key that is asked for λ times a second is read when its item has expired and it is asked for again, so every
ttl + 1 / λ seconds:

    reads per second of the table = λ / (1 + λ x ttl)
"""

from functools import lru_cache

import numpy as np

from keyheat.scenario.spec.part import CacheSpec
from keyheat.simulator.masses import Floats, Masses, thinned


def missed(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    """The part of the reads that reach the table, and which keys those are of."""
    return _missed(keys, spec, float(f"{reads_per_s:.3g}"))  # a rate that changes little is the same one


@lru_cache(maxsize=4)
def _missed(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    """The cache is taken to hold the most used keys, as many as there is room for."""
    kept = np.zeros_like(keys.shares)
    kept[np.argsort(-keys.shares)[: spec.items]] = 1.0
    even_kept = min(1.0, max(0, spec.items - len(kept)) / keys.distinct)
    named = _hits(reads_per_s * keys.shares * spec.ttl_s)
    (even,) = _hits(np.array([reads_per_s * keys.even / keys.distinct * spec.ttl_s]))
    return thinned(keys, 1.0 - kept * named, 1.0 - even_kept * float(even))


def _hits(reads: Floats) -> Floats:
    """The part of the reads of a key that its item answers, of so many reads within its time to live."""
    return np.asarray(reads / (1 + reads))
