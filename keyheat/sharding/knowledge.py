"""What the writers of one process know of their keys, shared between threads and bounded in memory.

   last change                  cooldown ends        this writer's turn
---|------- cooling ------------|--- backing off ----|--- raise ------->
   errors: just retry             errors: just retry   an error: update, if nothing changed since
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from threading import Lock

from cachetools import LRUCache

from keyheat.sharding.metadata import Shards

LEAST_HISTORY = 2  # the highest number ever used, and the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers of dynamic sharding; all writers, readers and shrinkers of a table use the same ones.

    Raises `ValueError` where they contradict each other.
    """

    cooldown_s: float = 60.0
    """After a change, a key's number of shards is left alone for so long: its effect has to show first."""

    backoff_low_s: float = 1.0
    backoff_high_s: float = 10.0
    """Many writers see the same error at once: each waits so long after the cooldown, drawn evenly."""

    cache_s: float = 5.0
    """For so long a writer goes by what it knows of a key, without reading the metadata again."""

    max_shards: int = 100
    """A key never gets more shards than this: each one is a query for every reader."""

    history: int = 20
    """Entries of `shard_history`; beyond them the oldest is dropped, but never the highest."""

    settle_s: float = 60.0
    """Higher shards are only forgotten when the last change is so long ago that no writer goes by an older
    one. A write that took half as long is confirmed first, so that clocks may differ by the other half."""

    retry_low_s: float = 0.05
    retry_high_s: float = 1.0
    """The pause before a throttled write is tried again: drawn up to `retry_low_s`, doubled each time."""

    def __post_init__(self) -> None:
        if wrong := self._contradictions():
            raise ValueError("; ".join(wrong))

    def _contradictions(self) -> list[str]:
        checks = [
            (self.cooldown_s > 0, "cooldown_s has to be above 0"),
            (0 <= self.backoff_low_s <= self.backoff_high_s, "the back-off is not a span of seconds"),
            (0 <= self.cache_s <= self.cooldown_s, "cache_s is longer than cooldown_s"),
            (2 * self.cache_s <= self.settle_s, "settle_s is less than twice cache_s"),
            (self.max_shards >= 1, "max_shards is below 1"),
            (self.history >= LEAST_HISTORY, f"history is below {LEAST_HISTORY}"),
            (0 <= self.retry_low_s <= self.retry_high_s, "the pause of a retry is not a span of seconds"),
        ]
        return [message for holds, message in checks if not holds]


class ShardStep(StrEnum):
    COOLING = "cooling"  # the last change is too new: retry
    BACKING_OFF = "backing_off"  # it is another writer's turn first: retry
    AT_MOST = "at_most"  # the key has as many shards as it may have: retry
    RAISE = "raise"  # try to give the key one shard more


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownShards:
    """The shards of a key as one writer last read them, and when it may try to raise their number."""

    shards: Shards
    first_seen_s: float
    read_s: float  # when the last read of them began
    try_at_s: float | None = None  # None: no error was seen

    @classmethod
    def learned(
        cls, shards: Shards, before: "KnownShards | None", *, read_s: float, now_s: float
    ) -> "KnownShards":
        """What is known after a read that began at `read_s`; an answer older than what is known is void."""
        if before is None or shards.updated_us > before.shards.updated_us:
            return cls(shards=shards, first_seen_s=now_s, read_s=read_s)
        if shards.updated_us < before.shards.updated_us:
            return before
        return replace(before, read_s=max(read_s, before.read_s))

    def cooled_s(self, policy: Policy) -> float:
        """When the cooldown ends. A change that claims to be of the future is as old as our knowing of it:
        one clock that is ahead must not stop everybody's growth."""
        return min(self.shards.updated_s, self.first_seen_s) + policy.cooldown_s

    def on_partition_error(
        self, policy: Policy, now_s: float, rng: Random
    ) -> tuple["KnownShards", ShardStep]:
        """What to do about a partition error at `now_s`, and what is known after it.

        After `RAISE` the next turn is drawn at once, so that of the threads that share what they know only
        one goes.
        """
        if self.shards.number >= policy.max_shards:
            return self, ShardStep.AT_MOST
        cooled_s = self.cooled_s(policy)
        shards_known = self._with_turn(max(now_s, cooled_s), policy, now_s, rng)
        if now_s < cooled_s:
            return shards_known, ShardStep.COOLING
        assert shards_known.try_at_s is not None
        if now_s < shards_known.try_at_s:
            return shards_known, ShardStep.BACKING_OFF
        return replace(shards_known, try_at_s=now_s + _backoff(policy, rng)), ShardStep.RAISE

    def _with_turn(self, from_s: float, policy: Policy, now_s: float, rng: Random) -> "KnownShards":
        """A turn that was drawn and not used for a whole cooldown was for another burst of errors."""
        if self.try_at_s is not None and now_s <= self.try_at_s + policy.cooldown_s:
            return self
        return replace(self, try_at_s=from_s + _backoff(policy, rng))


def _backoff(policy: Policy, rng: Random) -> float:
    return rng.uniform(policy.backoff_low_s, policy.backoff_high_s)


KEYS = 10_000


class Knowledge:
    """The cache of the metadata. Keys that were not used for longest are forgotten, and read again."""

    def __init__(self, *, keys: int = KEYS) -> None:
        self._known: LRUCache[str, KnownShards] = LRUCache(keys)
        self._lock = Lock()  # never held while something is sent
        self.most_shards = 0
        """Of one key, as far as was learned."""

    def of(self, key: str) -> KnownShards | None:
        with self._lock:
            return self._known.get(key)

    def learn(self, key: str, shards: Shards, *, read_s: float, now_s: float) -> KnownShards:
        """Take in an answer; gives what is known now."""
        with self._lock:
            shards_known = KnownShards.learned(shards, self._known.get(key), read_s=read_s, now_s=now_s)
            self._known[key] = shards_known
            self.most_shards = max(self.most_shards, shards_known.shards.number)
            return shards_known

    def on_partition_error(
        self, key: str, before: KnownShards, policy: Policy, now_s: float, rng: Random
    ) -> tuple[KnownShards, ShardStep]:
        """What to do about a partition error of a write that went by `before`, and by what that was decided:
        an update has to start from there, for what another thread learns meanwhile has its own cooldown."""
        with self._lock:
            shards_known, step = self._known.get(key, before).on_partition_error(policy, now_s, rng)
            self._known[key] = shards_known
            return shards_known, step
