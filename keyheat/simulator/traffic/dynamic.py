"""Keys that get one shard more when their partitions throttle, as `[dynamic_sharding]` says.

   last change                  cooldown ends        the writers' turn
---|------- cooling ------------|--- backing off ----|--- an error: one shard more --->

All writers are one process, and share what they know. The most used keys are followed one by one; of keys
that are too rare to be throttled for themselves there may be many, and those keep their one shard.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import fsum
from random import Random

import numpy as np

from keyheat.model.resources import Cause
from keyheat.scenario.keys import shard_keys
from keyheat.scenario.spec.keys import ShardingSpec
from keyheat.simulator.flow import FlowAnswer
from keyheat.simulator.masses import Masses, even_masses, masses_of_shares
from keyheat.simulator.traffic.operations import put, query
from keyheat.simulator.traffic.setting import TrafficSetting, on_shards
from keyheat.simulator.traffic.users import LoadTest, QueryCost, TaskRequest, Users, UserTask
from keyheat.words import Direction

FOLLOWED = 50  # keys, the most used ones
NEWEST = 25  # items of a read
METADATA_UNITS = 1.0  # of one read or write of a key's number of shards
COUNTED = (
    "shards.increments", "shards.conflicts", "shards.cooling", "shards.capacity_asked",
    "metadata.read_units", "metadata.write_units",
)  # fmt: skip


def sharded_dynamically(setting: TrafficSetting) -> LoadTest:
    """Writers who shard keys as they need it."""
    spec = setting.scenario.dynamic_sharding
    assert spec is not None, "users say so only of a scenario that has it"
    for name in COUNTED:  # what did not happen is said, too: runs are compared by it
        setting.counts[name] = 0.0
    if spec.max_write_units is not None:
        raise setting.lack(
            "the simulator's writers do not ask for capacity: say it as a [[timeline]] step, or as "
            "[table.auto_scaling] @ $.dynamic_sharding.max_write_units"
        )
    return _Growing.of(setting, spec).users


@dataclass(slots=True)
class _Key:
    """One key, and what its writers know of it."""

    name: str
    share: float
    cooled_s: float  # from then on its number of shards may change again
    shards: int = 1
    turn_s: float | None = None  # when the writers may try; None: they saw no error
    errors: int = 0  # of its partitions, since somebody looked
    before: float = 0.0  # the part of this second in which it had one shard less

    def grow(self, now_s: float, spec: ShardingSpec, rng: Random) -> bool:
        """One shard more, where it throttles and the writers' turn comes in the second from `now_s` on."""
        throttled, self.errors, self.before = self.errors > 0, 0, 0.0
        if not throttled or self.shards >= spec.max_shards:
            return False
        # A turn that was not used for a whole cooldown was for another burst of errors.
        if self.turn_s is None or now_s > self.turn_s + spec.cooldown_s:
            backoff_s = rng.uniform(spec.backoff_low_s, spec.backoff_high_s)
            self.turn_s = max(now_s, self.cooled_s) + backoff_s
        if self.turn_s >= now_s + 1.0:
            return False
        grows_s = max(self.turn_s, now_s)
        self.shards, self.before = self.shards + 1, grows_s - now_s
        self.cooled_s, self.turn_s = grows_s + spec.cooldown_s, None
        return True

    def numbers(self) -> Iterator[tuple[int, float]]:
        """How many shards it has within this second, and in which part of it."""
        if self.before:
            yield self.shards - 1, self.before
        yield self.shards, 1.0 - self.before


@dataclass(slots=True)
class _Growing:
    """The writers and the reader of keys whose shards become more."""

    setting: TrafficSetting
    spec: ShardingSpec
    keys: list[_Key]
    others: Masses | None  # each on its one shard
    others_share: float
    _anywhere: Masses = field(default_factory=even_masses, init=False)  # in the metadata's own table

    @classmethod
    def of(cls, setting: TrafficSetting, spec: ShardingSpec) -> "_Growing":
        """Follow the most used keys; they are created with their first item, which is a change, too."""
        keys = setting.keys
        order = np.argsort(-keys.shares, kind="stable").tolist()
        named = [(keys.name(number), float(keys.shares[number])) for number in order]
        followed, rest = named[:FOLLOWED], dict(named[FOLLOWED:])
        others_share = fsum(rest.values()) + keys.even
        others = None
        if rest:
            others = on_shards(masses_of_shares(rest, even=keys.even / others_share), 1)
        elif keys.even:
            others = even_masses(distinct=keys.distinct)
        made = [_Key(name, share, cooled_s=spec.cooldown_s) for name, share in followed]
        return cls(setting, spec, made, others, others_share)

    def users(self) -> list[Users]:
        """Writers, who look up a key's shards now and then, and one reader, who does every time."""
        grown = sum([key.grow(self.setting.at_s, self.spec, self.setting.rng) for key in self.keys])
        counts = self.setting.counts
        counts["shards.increments"] += grown
        counts["shards.ended_with"] = max([1, *(key.shards for key in self.keys)])
        writers = UserTask([*self._puts(), self._metadata("GetItem", self._look_ups())])
        reader = UserTask([self._metadata("GetItem", 1.0), *self._queries()])
        changes = (self._metadata("UpdateItem", grown),)
        return [Users((writers,), aside=changes), Users((reader,), fixed_count=1)]

    def _puts(self) -> Iterator[TaskRequest]:
        for key in self.keys:
            for number, part in key.numbers():
                item = put(self.setting, self._on(key, number))
                told = partial(self._told, key, item)
                yield replace(item, requests=key.share * part, told=told)
        if self.others is not None:
            yield replace(put(self.setting, self.others), requests=self.others_share)

    def _told(self, key: _Key, item: TaskRequest, answer: FlowAnswer) -> None:
        """Errors of the key's partitions are counted; those of the table no shard can help."""
        item.told(answer)
        of_table = {cause: count for (index, cause), count in answer.refused.items() if index is None}
        errors = of_table.pop(Cause.KEY_RANGE, 0)
        key.errors += errors
        if self.setting.at_s < key.cooled_s:
            self.setting.counts["shards.cooling"] += errors
        self.setting.counts["shards.capacity_asked"] += sum(of_table.values())

    def _queries(self) -> Iterator[TaskRequest]:
        """The newest items of a key, from each of its shards."""
        load = self.setting.load
        cost = QueryCost(item_bytes=load.mean_item_bytes, limit=NEWEST, consistent=True)
        for key in self.keys:
            newest = query(self.setting, self._on(key, key.shards), cost, shards=key.shards)
            yield replace(newest, requests=newest.requests * key.share)
        if self.others is not None:
            newest = query(self.setting, self.others, cost)
            yield replace(newest, requests=newest.requests * self.others_share)

    def _on(self, key: _Key, number: int) -> Masses:
        """The shards of a key, used evenly."""
        return self.setting.once(
            f"{key.name} on {number}",
            lambda: masses_of_shares(dict.fromkeys(shard_keys(key.name, number), 1.0)),
        )

    def _look_ups(self) -> float:
        """Reads of the metadata for each write: of a key that is written λ times a second, one in every
        cache_s + 1 / λ seconds."""
        kept = self.setting.coming * self.spec.cache_s
        return fsum(key.share / (1 + kept * key.share) for key in self.keys) + self.others_share

    def _metadata(self, operation: str, times: float) -> TaskRequest:
        reads = operation == "GetItem"
        name = "metadata.read_units" if reads else "metadata.write_units"

        def told(answer: FlowAnswer) -> None:
            self.setting.counts[name] += answer.units

        return TaskRequest(
            operation=operation,
            direction=Direction.READ if reads else Direction.WRITE,
            keys=self._anywhere,
            units=METADATA_UNITS,
            requests=times,
            table=self.spec.table,
            told=told,
        )
