"""What the writers of one process know of their keys, shared between threads and bounded in memory."""

from random import Random
from threading import Lock

from cachetools import LRUCache

from keyheat.sharding.known import Known, Step
from keyheat.sharding.policy import Policy
from keyheat.sharding.state import Shards

KEYS = 10_000


class Knowledge:
    """The cache of the metadata. Keys that were not used for longest are forgotten, and read again."""

    def __init__(self, *, keys: int = KEYS) -> None:
        self._known: LRUCache[str, Known] = LRUCache(keys)
        self._lock = Lock()  # never held while something is sent

    def of(self, key: str) -> Known | None:
        """What is known of a key, however old."""
        with self._lock:
            return self._known.get(key)

    def learn(self, key: str, shards: Shards, *, read_s: float, now_s: float) -> Known:
        """Take in an answer; gives what is known now."""
        with self._lock:
            known = Known.learned(shards, self._known.get(key), read_s=read_s, now_s=now_s)
            self._known[key] = known
            return known

    def on_partition_error(
        self, key: str, before: Known, policy: Policy, now_s: float, rng: Random
    ) -> tuple[Known, Step]:
        """What to do about a partition error of a write that went by `before`, and by what that was decided:
        an update has to start from there, for what another thread learns meanwhile has its own cooldown."""
        with self._lock:
            known, step = self._known.get(key, before).on_partition_error(policy, now_s, rng)
            self._known[key] = known
            return known, step
