"""Values that all parts of one simulated load test share: scenario, keys, rates, written items, counts.

How many items keys have after a number of writes: requests fall on keys at random, so after N writes the
number of items of a key with the share p is Poisson distributed with the mean N x p. The cost of a read
follows from that number, rounded up.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil, floor, fsum, inf, sqrt
from pathlib import Path
from random import Random
from weakref import WeakKeyDictionary

import numpy as np

from keyheat.model.resources import Cause
from keyheat.scenario.keys import DateKey, KeyPattern, shard_keys
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.spec.part import CacheSpec
from keyheat.scenario.spec.tables import TableSpec
from keyheat.scenario.spec.tasks import LoadSpec
from keyheat.scenario.trace import TraceKeys, read_trace
from keyheat.simulator.flow import FlowAnswer
from keyheat.simulator.loadtest import KEY, PATTERN, Combination, KeyLaw, crossed
from keyheat.simulator.masses import (
    MOST_NAMED,
    Floats,
    Masses,
    Within,
    even_masses,
    masses_of,
    masses_of_shares,
    thinned,
)

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


LOOKS = 20  # within a second, while users are being started


def spawned_share(load: LoadSpec, at_s: float) -> float:
    """Return the part of the users that is there, as the mean of a second.

    Locust starts them in groups of as many as come within a second, the first group at once.
    """
    group = max(1, floor(load.spawn_per_s))
    if load.users <= group * (1 + floor(at_s * load.spawn_per_s / group)):
        return 1.0
    looks = [at_s + (look + 0.5) / LOOKS for look in range(LOOKS)]
    there = [min(load.users, group * (1 + floor(look * load.spawn_per_s / group))) for look in looks]
    return fsum(there) / LOOKS / load.users


HALF_S = 0.5  # a second is represented by its middle


@dataclass(slots=True)
class TrafficSetting:
    """One simulated run of a load test. Distributions are made once, for they are compared by identity."""

    scenario: Scenario
    rng: Random
    folder: Path
    counts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """What the load test counts, `group.what`, as `counted` of a run's manifest has it."""
    at_s: float = field(default=0.0, init=False)  # this second, from the start of the run
    due: float = field(default=0.0, init=False)  # in it, in the target's unit
    coming: float = field(default=0.0, init=False)  # requests in it, as far as the scenario can say
    _pattern: KeyPattern = field(init=False)
    _shape: LoadShape = field(init=False)
    _masses: dict[str, Masses] = field(default_factory=dict, init=False)
    _placed: WeakKeyDictionary[Masses, dict[Within, Masses]] = field(
        default_factory=WeakKeyDictionary, init=False
    )
    _written: dict[int | str, Written] = field(default_factory=dict, init=False)
    _families: dict[int, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._pattern = self.scenario.keys.pattern(folder=self.folder)
        self._shape = self.load.rate_shape()

    def begin(self, at_s: float) -> None:
        """A second begins, the last of which may be shorter; in a closed loop some users may be missing."""
        load, total = self.load, self._shape.total
        there = 1.0 if load.open_loop else spawned_share(load, at_s)
        self.at_s = at_s
        self.due = max(0.0, total(min(at_s + 1.0, load.duration_s)) - total(at_s)) * there
        self.coming = self.due if load.target_unit == "requests" else self.due / load.mean_write_units

    @property
    def table(self) -> TableSpec:
        return self.scenario.table

    @property
    def load(self) -> LoadSpec:
        return self.scenario.load

    @property
    def keys(self) -> Masses:
        """What the scenario's pattern draws in this second."""
        return self.now("keys", self._drawn)

    def now(self, name: str, make: Callable[[], Masses]) -> Masses:
        """Make a distribution from the pattern's keys, which change with its days."""
        return self.once(f"{name} {self._period}", make)

    def once(self, name: str, make: Callable[[], Masses]) -> Masses:
        """Make a distribution on its first use."""
        if name not in self._masses:
            self._masses[name] = make()
        return self._masses[name]

    def keys_of(self, law: KeyLaw) -> Masses:
        """The keys of a law; the same law gives the same value."""
        if law.attribute is not None:
            return self.values_of(law.attribute)
        if law == PATTERN:
            return self.keys
        if law.owners is not None:
            return self.once(repr(law), lambda: self._of_owners(law, law.owners or 1))
        if law.texts and KEY in law.texts[0][0]:
            return self.now(repr(law), lambda: composed(self.keys, law.texts))
        masses = self.once(repr(law), lambda: _seen(law))
        if law.family:
            self._families[id(masses.points)] = law.family  # keys that look alike are keys of the same items
        return masses

    def _of_owners(self, law: KeyLaw, owners: int) -> Masses:
        """One key for each user; all users send equally often."""
        texts, weights = zip(*law.texts, strict=True)
        drawn = self.rng.choices(texts, weights, k=owners)
        used = Counter(text.replace(KEY, self._pattern.draw(self.rng, 0.0)) for text in drawn)
        return masses_of_shares({key: float(count) for key, count in used.items()})

    def values_of(self, name: str) -> Masses:
        """The values that items have of an attribute; of a timestamp the one that all have now."""
        spec = self.scenario.attribute_values[name]

        def shares() -> Mapping[str, float]:
            return spec.shares or dict.fromkeys(shard_keys("now", spec.shards), 1.0)

        if isinstance(spec, Combination) and spec.crosses_key:
            return self.now(f"values of {name}", lambda: crossed(self.keys, shares()))
        return self.once(f"values of {name}", lambda: masses_of_shares(shares()))

    def placed(self, keys: Masses, within: Within) -> Masses:
        """The same keys, with the requests in another place within each of them."""
        if keys.within == within:
            return keys
        placed = self._placed.setdefault(keys, {})
        if within not in placed:
            placed[within] = replace(keys, within=within)
        return placed[within]

    def written(self, keys: Masses) -> Written:
        """What is written to keys, in whatever places within them."""
        points_id = id(keys.points)  # shared by all that differ only in the place within a collection
        name = self._families.get(points_id, points_id)
        if name not in self._written:
            self._written[name] = Written(keys)
        return self._written[name]

    @property
    def _period(self) -> int:
        """Which of the pattern's days it is; of a pattern without days it is always the same."""
        day_s = self._pattern.day_s if isinstance(self._pattern, DateKey) else inf
        return int((self.at_s + HALF_S) // day_s)

    def _drawn(self) -> Masses:
        if isinstance(self._pattern, TraceKeys):
            rows = read_trace(self._pattern.path, has_sort_key=True)  # their times are the load's own
            return masses_of_shares(Counter(row.key for row in rows))
        return masses_of(self._pattern, at_s=self.at_s + HALF_S)


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


def _seen(law: KeyLaw) -> Masses:
    distinct = inf if law.distinct is None else law.distinct
    if not law.texts:
        return even_masses(distinct=distinct)
    shares = dict(law.texts)
    return masses_of_shares(shares, even=max(0.0, 1.0 - sum(shares.values())), distinct=distinct)


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
