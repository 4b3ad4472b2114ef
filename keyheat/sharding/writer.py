"""Writes to sharded keys, and gives a key one shard more where its partitions are not enough for it."""

from collections.abc import Callable, Mapping
from math import inf
from random import Random
from time import sleep, time
from typing import Any

from botocore.exceptions import ClientError

from keyheat.scenario.keys import shard_key
from keyheat.sharding.client import Limit, Note, Throttle, no_callback, throttle_of
from keyheat.sharding.knowledge import Knowledge, KnownShards, Policy, ShardStep
from keyheat.sharding.metadata import Metadata, Shards

GIVES_UP_S = 30.0
Wait = Callable[[ClientError], None]
"""Waits before a request is sent again, or raises its error."""


def wait_for_capacity(throttle: Throttle) -> None:
    """Do nothing about capacity: auto scaling, or a person, adds it."""


class ShardWriter:
    """Writes items under `key#shard`. Safe to share between threads, as its client has to be.

    It reacts to partition errors by a further shard; to those of the table, which more shards cannot help, by
    `ask_for_capacity`; and to those that name no reason by trying again.
    """

    def __init__(
        self,
        metadata: Metadata,
        policy: Policy,
        *,
        knowledge: Knowledge | None = None,
        ask_for_capacity: Callable[[Throttle], None] = wait_for_capacity,
        note: Note = no_callback,
        rng: Random | None = None,
        clock: Callable[[], float] = time,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        self._metadata = metadata
        self._policy = policy
        self._knowledge = knowledge or Knowledge()
        self._ask_for_capacity = ask_for_capacity
        self._note = note
        self._rng = rng or Random()
        self._clock = clock
        self._pause = pause

    def write(self, key: str, put: Callable[[str], object], *, within_s: float = GIVES_UP_S) -> str:
        """Write to one shard of a key: `put` is given the shard's key, and raises what its client raises.

        Gives the key that was written. A throttled write is tried again for `within_s` seconds (0: only on a
        new shard), then its error is raised; every other error is raised at once.
        """
        wait = self._retries(within_s)
        newest = False
        while True:
            try:
                cached = self._look_up(key)
            except ClientError as error:
                wait(error)
                continue
            shard = cached.shards.number - 1 if newest else self._rng.randrange(cached.shards.number)
            try:
                put(shard_key(key, shard))
            except ClientError as error:
                newest = self._react(key, cached, throttle_of(error.response))
                if not newest:
                    wait(error)
                continue
            self._confirm(key, shard, cached, wait)
            return shard_key(key, shard)

    def _retries(self, within_s: float) -> Wait:
        """Wait before one write is tried again; raise its error where it is no throttle, or time is up.

        The pauses get longer. Each is drawn evenly, so that many writers do not come back at once.
        """
        until_s, longest_s = self._clock() + within_s, self._policy.retry_low_s

        def wait(error: ClientError) -> None:
            nonlocal longest_s
            if throttle_of(error.response) is None or self._clock() >= until_s:
                raise error
            self._pause(self._rng.uniform(0, longest_s))
            longest_s = min(self._policy.retry_high_s, 2 * longest_s)

        return wait

    def _look_up(self, key: str) -> KnownShards:
        """What is known of a key, read again where it is older than `cache_s`.

        Where the metadata table throttles, what is known goes on being good enough for a while.
        """
        cached = self._knowledge.of(key)
        age_s = inf if cached is None else self._clock() - cached.read_s
        if cached is not None and age_s <= self._policy.cache_s:
            return cached
        try:
            return self._read(key)
        except ClientError as error:
            if throttle_of(error.response) is None:
                raise
            self._note("metadata.throttled", 1)
            if cached is None or age_s > self._policy.settle_s / 2:
                raise
            return cached

    def _read(self, key: str) -> KnownShards:
        while True:
            read_s = self._clock()
            shards = self._metadata.read(key)
            if shards is None:
                shards = Shards.first(self._clock())
                if not self._metadata.insert(key, shards):
                    continue  # another writer was faster: read what it wrote
            return self._knowledge.learn(key, shards, read_s=read_s, now_s=self._clock())

    def _react(self, key: str, cached: KnownShards, throttle: Throttle | None) -> bool:
        """React to a throttle; return True if the key has a new shard to write to."""
        if throttle is None:
            return False
        if throttle.limit is Limit.TABLE:
            self._note("shards.capacity_asked", 1)
            self._ask_for_capacity(throttle)
        elif throttle.limit is Limit.PARTITION:
            now_s = self._clock()
            cached, step = self._knowledge.on_partition_error(key, cached, self._policy, now_s, self._rng)
            if step is ShardStep.RAISE:
                return self._add_shard(key, cached.shards, now_s)
            self._note(f"shards.{step}", 1)
        return False

    def _add_shard(self, key: str, before: Shards, now_s: float) -> bool:
        """Try to give a key one more shard; True if it has more than before, whichever writer added it."""
        after = before.changed(before.number + 1, now_s, keep=self._policy.history)
        try:
            if self._metadata.replace(key, before, after):
                self._note("shards.increments", 1)
                self._knowledge.learn(key, after, read_s=now_s, now_s=now_s)
                return True
            self._note("shards.conflicts", 1)
            return self._read(key).shards.number > before.number
        except ClientError as error:
            if throttle_of(error.response) is None:
                raise
            self._note("metadata.throttled", 1)
            return False  # another turn was drawn already

    def _confirm(
        self, key: str, shard: int, cached: KnownShards, wait: Callable[[ClientError], None]
    ) -> None:
        """Make sure that readers look in the shard of a write that took very long.

        Meanwhile the key may have shrunk, and readers found its higher shards empty. Rewriting the metadata,
        even unchanged, stops a process that is about to forget them; only then is the item acknowledged.
        """
        if self._clock() - cached.read_s <= self._policy.settle_s / 2:
            return
        while True:
            try:
                shards = self._read(key).shards
                if shard < shards.number:
                    return
                after = shards.remembered(shard + 1, self._clock(), keep=self._policy.history)
                if self._metadata.replace(key, shards, after):
                    self._note("shards.confirmed", 1)
                    return
            except ClientError as error:
                wait(error)


def put_item(
    client: Any, table: str, item: Mapping[str, Any], *, partition_key: str = "pk"
) -> Callable[[str], object]:
    """The `put` of a plain PutItem: `writer.write(key, put_item(client, "orders", item))`."""
    return lambda key: client.put_item(TableName=table, Item={**item, partition_key: {"S": key}})
