"""Writers, a shrinker and a reader of one key, who take turns at every single request, in any order.

Each actor is a greenlet that runs the package's own code; before every request it hands over, and whoever
drives the world says who goes on, how much time passes, and whether partitions are hot.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

from greenlet import GreenletExit, getcurrent, greenlet  # type: ignore[import-untyped]

from keyheat.scenario.keys import shard_key
from keyheat.sharding import Knowledge, Metadata, Policy, ShardReader, ShardShrinker, ShardWriter
from tests.sharding.memory import PARTITION, MemoryClient, throttled

KEY = "hot"
SKEW_S = 1.0
POLICY = Policy(
    cooldown_s=10, backoff_low_s=0, backoff_high_s=3, cache_s=2, settle_s=8, max_shards=5, history=3
)


class World:
    """Two writers, a shrinker that also forgets, and a reader, around one metadata item."""

    def __init__(self, seed: int) -> None:
        self.now_s = 1_000.0
        self.hot = True
        self.counted: Counter[str] = Counter()
        self.shards: dict[str, set[int]] = {}  # the items of each shard, as the table holds them
        self.acknowledged: set[int] = set()
        self.expired: set[int] = set()
        self.reads = 0
        self.client = MemoryClient(self._hand_over)
        self._rng = Random(seed)
        self._items = 0
        clocks: list[Callable[[], float]] = [lambda: self.now_s + SKEW_S, lambda: self.now_s - SKEW_S]
        self._jobs = [*(self._writing(clock) for clock in clocks), self._shrinking, self._reading]
        self.actors = [greenlet(job) for job in self._jobs]
        self._killed: list[greenlet] = []

    def go(self, actor: int) -> None:
        """Let one actor make its next request, and run up to the one after it."""
        self.actors[actor].switch()

    def kill(self, actor: int) -> None:
        """Between two of its requests; another one begins anew, and knows nothing."""
        self._killed.append(self.actors[actor])
        self.actors[actor] = greenlet(self._jobs[actor])

    def expire(self, shard: int) -> None:
        """All items of a shard are deleted."""
        items = self.shards.get(shard_key(KEY, shard), set())
        self.expired |= items
        items.clear()

    def end(self) -> None:
        for actor in (*self.actors, *self._killed):
            actor.throw(GreenletExit)

    def _hand_over(self) -> None:
        getcurrent().parent.switch()

    def _note(self, name: str, number: float) -> None:
        self.counted[name] += int(number)

    def _metadata(self) -> Metadata:
        return Metadata(self.client, "metadata", note=self._note)

    def _writing(self, clock: Callable[[], float]) -> Callable[[], None]:
        def write() -> None:
            writer = ShardWriter(
                self._metadata(), POLICY, knowledge=Knowledge(), note=self._note, clock=clock,
                rng=Random(self._rng.random()), pause=lambda _s: self._hand_over(),
            )  # fmt: skip
            while True:
                self._items += 1
                item = self._items
                writer.write(KEY, lambda shard, item=item: self._put(shard, item), within_s=1e9)  # type: ignore[misc]
                self.acknowledged.add(item)

        return write

    def _put(self, shard: str, item: int) -> None:
        self._hand_over()
        if self.hot:
            raise throttled(PARTITION)
        self.shards.setdefault(shard, set()).add(item)

    def _shrinking(self) -> None:
        shrinker = ShardShrinker(self._metadata(), POLICY, note=self._note, clock=lambda: self.now_s)
        while True:
            shrinker.shrink(KEY, self._rng.randint(1, 3))
            shrinker.forget(KEY, self._is_empty)

    def _is_empty(self, shard: str) -> bool:
        self._hand_over()
        return not self.shards.get(shard)

    def _reading(self) -> None:
        reader = ShardReader(self.client, "items", self._metadata())
        while True:
            wanted = set(self.acknowledged)
            found: set[int] = set()
            for shard in reader.shard_keys(KEY):
                self._hand_over()
                found |= self.shards.get(shard, set())
            missing = wanted - found - self.expired
            assert not missing, f"acknowledged before the read began, and not found: {missing}"
            self.reads += 1
