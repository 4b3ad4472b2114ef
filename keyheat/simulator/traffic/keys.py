"""Where the keys of a load test lie: the laws of its keys, as masses; and which reads a cache answers.

A read-through cache reads an item that λ requests a second ask for when it has expired and is asked for, so
every ttl + 1 / λ seconds: reads per second of the table = λ / (1 + λ x ttl).
"""

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from keyheat.scenario.spec.part import CacheSpec
from keyheat.simulator.dryrun.requests import KEY, PATTERN, KeyLaw
from keyheat.simulator.masses import MOST_NAMED, Floats, Masses, even_masses, masses_of_shares, thinned

if TYPE_CHECKING:
    from keyheat.simulator.traffic.setting import TrafficSetting


def masses_of_law(setting: "TrafficSetting", law: KeyLaw) -> Masses:
    """Return the keys of a law; the same law gives the same value."""
    if law.attribute is not None:
        return setting.values_of(law.attribute)
    if law == PATTERN:
        return setting.keys
    if law.owners is not None:
        return setting.once(repr(law), lambda: _of_owners(setting, law, law.owners or 1))
    if law.texts and KEY in law.texts[0][0]:
        return setting.now(repr(law), lambda: composed(setting.keys, law.texts))
    masses = setting.once(repr(law), lambda: _seen(law))
    if law.family:
        setting.group(masses, law.family)
    return masses


@lru_cache(maxsize=2)
def composed(keys: Masses, texts: tuple[tuple[str, float], ...]) -> Masses:
    """Each key in each of these texts, by their shares; kept as those of a pattern are.

    The most used keys are named, the rest is even, as `masses_of` has it.
    """
    distinct = keys.distinct * len(texts)
    named = np.argsort(-keys.shares, kind="stable")[: max(1, MOST_NAMED // len(texts))]
    shares = {
        text.replace(KEY, keys.name(number)): float(keys.shares[number]) * share
        for number in named.tolist()
        for text, share in texts
    }
    if not shares:
        return even_masses(distinct=distinct)
    rest = 1.0 - float(keys.shares[named].sum()) - keys.even if len(named) < len(keys.shares) else 0.0
    return masses_of_shares(shares, even=keys.even + max(0.0, rest), distinct=distinct)


def _of_owners(setting: "TrafficSetting", law: KeyLaw, owners: int) -> Masses:
    """One key for each user; all users send equally often."""
    texts, weights = zip(*law.texts, strict=True)
    drawn = (text.replace(KEY, setting.draw_key()) for text in setting.rng.choices(texts, weights, k=owners))
    return masses_of_shares({key: float(count) for key, count in Counter(drawn).items()})


def _seen(law: KeyLaw) -> Masses:
    distinct = float("inf") if law.distinct is None else law.distinct
    if not law.texts:
        return even_masses(distinct=distinct)
    shares = dict(law.texts)
    return masses_of_shares(shares, even=max(0.0, 1.0 - sum(shares.values())), distinct=distinct)


def cached(keys: Masses, spec: CacheSpec, reads_per_s: float) -> tuple[float, Masses]:
    """The part of the reads that reach the table, and their keys."""
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
