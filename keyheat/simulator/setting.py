"""Values that all parts of one simulated load test share: scenario, keys, rates, written items, counts.

It knows what requests cost: puts by item size, and the index entries that writes put, rewrite or move.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import floor, fsum, inf
from pathlib import Path
from random import Random
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from keyheat.model import limits
from keyheat.model.units import write_units
from keyheat.scenario.keys import DateKey, KeyPattern, shard_keys
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.sizes import ItemSize, UnitCost, unit_cost
from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.scenario.spec.tasks import LoadSpec
from keyheat.scenario.trace import TraceKeys, read_trace
from keyheat.simulator.flow import IndexFlow
from keyheat.simulator.loadtest import KEY, PATTERN, Combination, IndexKey, KeyLaw, RequestKind
from keyheat.simulator.masses import (
    MOST_NAMED,
    Masses,
    Within,
    even_masses,
    masses_of,
    masses_of_shares,
)
from keyheat.simulator.written import Written

SMALL_ITEM: Final = write_units(0, 1)  # keys and a number or two: one write unit
ENTRY_BYTES: Final = 100  # of an index that does not hold the whole item: the keys of both
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
            texts = tuple((f"{KEY}+{value}", share) for value, share in shares().items())
            return self.now(f"values of {name}", lambda: composed(self.keys, texts))
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

    def put_cost(self, size: ItemSize, there: float = 0.0) -> UnitCost:
        """The table's units of a put, the entries of its local indexes among them."""
        cost = unit_cost(size, limits.WRITE_UNIT_BYTES, there=round(there, 2))
        local = fsum(_entry_units(index, size) for index in self.table.indexes if index.local)
        if not local:
            return cost
        return UnitCost(cost.units + local, tuple((units + local, share) for units, share in cost.sizes))

    def entries(
        self,
        keys: Masses,
        size: ItemSize,
        there: float = 0.0,
        attributes: Iterable[tuple[str, IndexKey]] = (),
    ) -> Iterator[IndexFlow]:
        """The entries of one put in each global index; `attributes` are index keys that the load test sets.

        Only items that have the key of an index make an entry in it.
        """
        of = dict(attributes)
        for index in self.table.indexes:
            attribute = of.get(index.partition_key)
            share = attribute.present if attribute else 1.0
            if share and not index.local and index.enters_items:
                writes = 1.0 + there  # a moved entry is deleted first, an unchanged one costs nothing
                if (index.partition_key, index.sort_key) == (self.table.partition_key, self.table.sort_key):
                    writes = 1.0 - there if size.least == size.most else 1.0
                yield IndexFlow(
                    index=index.name,
                    units=_entry_units(index, size) * writes * share,
                    keys=self.index_keys(attribute) if attribute else self._entry_keys(index, keys),
                )

    def _entry_keys(self, index: IndexSpec, keys: Masses) -> Masses:
        name, table = index.partition_key, self.table
        if name == table.sort_key and name != table.partition_key:
            return self.once("new values", even_masses)
        copied = name == table.partition_key or self.scenario.attribute_values[name].copy_of is not None
        return self.placed(keys if copied else self.values_of(name), "random" if index.sort_key else "point")

    def moved(self, kind: RequestKind, keys: Masses, there: float) -> Iterator[IndexFlow]:
        """Entries whose keys an update changes are deleted and put anew; whole ones are rewritten.

        Entries whose keys it removes are deleted.
        """
        touched = {name: self.index_keys(each) for name, each in kind.attributes}
        removed = dict(kind.removed)
        moving, indexes = set(), self.table.indexes
        for index in indexes:
            by = {index.partition_key, index.sort_key}
            if index.local or not by & (touched.keys() | removed.keys()):
                continue
            moving.add(index.name)
            units = own_units(kind) if index.projection == "ALL" else SMALL_ITEM
            if gone := [each for name, each in kind.removed if name in by]:
                head = removed.get(index.partition_key)
                yield IndexFlow(
                    index=index.name,
                    units=units * max(each.present for each in gone),
                    keys=self.index_keys(head) if head else self._entry_keys(index, keys),
                )
                continue
            yield IndexFlow(
                index=index.name, units=units * (1 + there), keys=touched.get(index.partition_key, keys)
            )
        if kind.key.written:
            stay = {index.name for index in indexes if index.projection == "ALL"} - moving
            size = self.load.item_size()
            yield from (entry for entry in self.entries(keys, size) if entry.index in stay)

    def index_keys(self, attribute: IndexKey) -> Masses:
        """The keys of an index that a load test sets."""
        return self.placed(self.keys_of(attribute.key), attribute.within)

    def _owner_of(self, kind: RequestKind) -> TableSpec | IndexSpec:
        """The table or index that a request reads."""
        table = self.table
        return next((index for index in table.indexes if index.name == kind.index), table)

    def is_single(self, kind: RequestKind) -> bool:
        """Whether a partition key of what is read has one item at most."""
        owner = self._owner_of(kind)
        return (owner.partition_key, owner.sort_key) == (self.table.partition_key, None)

    def item_bytes_of(self, kind: RequestKind) -> float:
        """The mean size of an item that a read finds."""
        owner, whole = self._owner_of(kind), self.load.mean_item_bytes
        return whole if getattr(owner, "projection", "ALL") == "ALL" else min(ENTRY_BYTES, whole)

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


def _entry_units(index: IndexSpec, size: ItemSize) -> float:
    """Units of one entry of an index, put or deleted."""
    return unit_cost(size, limits.WRITE_UNIT_BYTES).units if index.projection == "ALL" else SMALL_ITEM


def own_units(kind: RequestKind) -> float:
    """Write units of an item whose size is not the scenario's."""
    return write_units(0, round(kind.own_bytes or 1))
