"""What the parts of one simulated load test share: scenario, keys, rates, what is written and counted.

Requests fall on keys at random, so after N writes a key with the share p of them has a number of items that
is Poisson distributed with the mean N x p. What a read costs follows from that number, rounded up.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, fsum, sqrt
from pathlib import Path
from random import Random
from weakref import WeakKeyDictionary

import numpy as np

from keyheat.model.resources import Cause
from keyheat.scenario.keys import DateKey, KeyPattern, shard_keys
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.spec.load import LoadSpec
from keyheat.scenario.spec.tables import TableSpec
from keyheat.scenario.trace import TraceKeys, read_trace
from keyheat.simulator.dryrun.combinations import Combination, crossed
from keyheat.simulator.flow import FlowAnswer
from keyheat.simulator.masses import (
    Floats,
    Masses,
    Within,
    masses_of,
    masses_of_shares,
    thinned,
)

LOOKS = 20  # within a second, while users are being started


def asked(shape: LoadShape, load: LoadSpec, at_s: float) -> float:
    """What the load asks for within a second, in the target's unit; the last second may be a shorter one."""
    return max(0.0, shape.total(min(at_s + 1.0, load.duration_s)) - shape.total(at_s))


def asked_of_users(shape: LoadShape, load: LoadSpec, at_s: float) -> float:
    """The same, as far as there are users: those of a closed loop are the load."""
    return asked(shape, load, at_s) * (1.0 if load.open_loop else spawned_share(load, at_s))


def spawned_share(load: LoadSpec, at_s: float) -> float:
    """The part of the users that is there, in the mean of a second.

    Locust starts them in groups of as many as come within a second, the first group at once.
    """
    group = max(1, floor(load.spawn_per_s))
    if load.users <= group * (1 + floor(at_s * load.spawn_per_s / group)):
        return 1.0
    looks = [at_s + (look + 0.5) / LOOKS for look in range(LOOKS)]
    there = [min(load.users, group * (1 + floor(look * load.spawn_per_s / group))) for look in looks]
    return fsum(there) / LOOKS / load.users


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

    def told(self, answer: FlowAnswer) -> None:
        """Count what a flow of puts has written.

        What partitions refused was meant for keys that have many items anyway, so it counts, too: left out,
        it would be missing on the keys that nothing is refused of.
        """
        self.items += answer.accepted + answer.refused.get((None, Cause.KEY_RANGE), 0)

    def means(
        self, functions: Sequence[Callable[[Floats], Floats]], part: float = 1.0, coming: float = 0.0
    ) -> list[float]:
        """The means of functions of how many items the next key has; `part` of them, where it reads less.

        `coming`: items that will be written meanwhile; half of them are there in the mean.
        """
        items = (self.items + coming / 2) * part
        drawn = [_poisson(items * share) for share in self._shares.tolist()]
        every = np.concatenate([numbers for numbers, _weights in drawn] or [np.empty(0)])
        ends = np.cumsum([len(numbers) for numbers, _weights in drawn]).tolist()
        sums = [weights.sum() for _numbers, weights in drawn]
        found = []
        for of in functions:
            values = of(every)
            of_groups = [
                float(np.dot(weights, values[end - len(weights) : end]) / total)
                for (_numbers, weights), end, total in zip(drawn, ends, sums, strict=True)
            ]
            found.append(float(np.dot(self._parts, of_groups)))
        return found

    def there(self, coming: float = 0.0) -> float:
        """How probably the next key has an item.

        With `coming`: in the mean of the next so many requests, each of which leaves one where there is none.
        """
        return 1.0 - float(np.dot(self._parts, _still_missing(self._shares, self.items, coming)))

    def found(self, coming: float, asked: Masses | None = None) -> tuple[float, Masses]:
        """Of the next so many requests, the part on keys with an item, and which keys those are.

        `asked`: the same keys, where some of them are asked for more seldom than items are left on them.
        """
        named, even = self._lacking(coming)
        return thinned(asked or self.keys, 1.0 - named, 1.0 - even)

    def missing(self, coming: float) -> tuple[float, Masses]:
        """Those on keys without an item: each key can be found so only once."""
        return thinned(self.keys, *self._lacking(coming))

    def _lacking(self, coming: float) -> tuple[Floats, float]:
        """How probably each named key has no item yet, and one of the others."""
        each_other = np.array([self.keys.even / self.keys.distinct])
        (even,) = _still_missing(each_other, self.items, coming)
        return _still_missing(self.keys.shares, self.items, coming), float(even)

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


def _poisson(mean: float) -> tuple[Floats, Floats]:
    """What a Poisson distributed number may be, and how probably, in proportion."""
    if mean > FEW:
        return np.rint(mean + BELL * sqrt(mean)), BELL_WEIGHTS
    count = ceil(mean + 8 * sqrt(mean) + 8)
    steps = np.log(max(mean, 1e-12)) - LOGS[:count]
    steps[0] = 0.0
    return NUMBERS[:count], np.exp(np.cumsum(steps) - mean)


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
    coming: float = field(default=0.0, init=False)  # requests in it, as far as the scenario can say
    _pattern: KeyPattern = field(init=False)
    _shape: LoadShape = field(init=False)
    _made: dict[str, Masses] = field(default_factory=dict, init=False)
    _placed: WeakKeyDictionary[Masses, dict[Within, Masses]] = field(
        default_factory=WeakKeyDictionary, init=False
    )
    _written: dict[int | str, Written] = field(default_factory=dict, init=False)
    _families: dict[int, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._pattern = self.scenario.keys.pattern(folder=self.folder)
        self._shape = self.load.rate_shape()

    def begin(self, at_s: float) -> None:
        """A second begins."""
        self.at_s = at_s
        asked = asked_of_users(self._shape, self.load, at_s)
        self.coming = asked if self.load.target_unit == "requests" else asked / self.load.mean_write_units

    @property
    def table(self) -> TableSpec:
        return self.scenario.table

    @property
    def load(self) -> LoadSpec:
        return self.scenario.load

    @property
    def at_the_end(self) -> Within:
        """Where new items go within their collection: sort keys are times, so there is always a later one."""
        return "rising" if self.table.sort_key else "point"

    @property
    def keys(self) -> Masses:
        """What the scenario's pattern draws in this second."""
        return self.now("keys", self._drawn)

    def draw_key(self) -> str:
        """One key, as the pattern draws it when the run begins."""
        return self._pattern.draw(self.rng, 0.0)

    def now(self, name: str, make: Callable[[], Masses]) -> Masses:
        """A distribution that is made of what the pattern draws, and so is another one tomorrow."""
        return self.once(f"{name} {self._period}", make)

    def once(self, name: str, make: Callable[[], Masses]) -> Masses:
        """A distribution that is made when it is first asked for."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

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
        known = self._placed.setdefault(keys, {})
        if within not in known:
            known[within] = replace(keys, within=within)
        return known[within]

    def written(self, keys: Masses) -> Written:
        """What is written to keys, in whatever places within them."""
        place = id(keys.points)  # shared by all that differ only in the place within a collection
        name = self._families.get(place, place)
        if name not in self._written:
            self._written[name] = Written(keys)
        return self._written[name]

    def group(self, keys: Masses, family: str) -> None:
        """Take keys that look alike for those of the same items, however each request draws them."""
        self._families[id(keys.points)] = family

    @property
    def _period(self) -> int:
        """Which of the pattern's days it is; of a pattern without days it is always the same."""
        day_s = self._pattern.day_s if isinstance(self._pattern, DateKey) else float("inf")
        return int((self.at_s + HALF_S) // day_s)

    def _drawn(self) -> Masses:
        if isinstance(self._pattern, TraceKeys):
            return masses_of_shares(_used(self._pattern))
        return masses_of(self._pattern, at_s=self.at_s + HALF_S)


def _used(pattern: TraceKeys) -> Counter[str]:
    """How often each key of a trace is used, for loads that take the keys and have times of their own."""
    rows = read_trace(pattern.path, has_sort_key=True, least=lambda _key, _sort_key: 0)
    return Counter(row.key for row in rows)
