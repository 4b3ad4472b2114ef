"""Whatever the order of requests and however long each takes: no item is lost to readers, one cooldown has
at most one increment, and the history stays short."""

from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from keyheat.sharding.metadata import Shards
from tests.sharding.world import KEY, POLICY, SKEW_S, World

pytestmark = pytest.mark.slow


class Watch:
    """Looks at the metadata after every step."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._last: Shards | None = None
        self.heights: set[int] = set()

    def look(self) -> None:
        item = self._world.client.items.get(KEY)
        if item is None:
            return
        shards, last = Shards.from_item(item), self._last
        self._last = shards
        self.heights.add(shards.number)
        assert 1 <= shards.number <= shards.to_read <= POLICY.max_shards
        assert len(shards.history) <= POLICY.history
        if last is None or shards == last:
            return
        assert shards.updated_us > last.updated_us, "the lock has every value once"
        if shards.number > last.number:
            assert shards.number == last.number + 1
            assert shards.updated_s - last.updated_s >= POLICY.cooldown_s - 2 * SKEW_S


class AnyOrder(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 1_000))
    def begin(self, seed: int) -> None:
        self.world = World(seed)
        self.watch = Watch(self.world)

    @rule(actor=st.integers(0, 3), times=st.integers(1, 20))
    def one_goes(self, actor: int, times: int) -> None:
        for _ in range(times):
            self.world.go(actor)
            self.watch.look()

    @rule(seed=st.integers(0, 2**32), seconds=st.sampled_from((0.0, 0.03, 0.1, 0.3)))
    def everybody_goes(self, seed: int, seconds: float) -> None:
        rng = Random(seed)
        for _ in range(200):
            self.world.go(rng.randrange(4))
            self.watch.look()
            self.world.now_s += seconds
            if rng.random() < 0.05:
                self.world.expire(rng.randrange(5))

    @rule(seconds=st.sampled_from((1.0, 3.0, 9.0, 14.0)))
    def time_passes(self, seconds: float) -> None:
        self.world.now_s += seconds

    @rule(hot=st.booleans())
    def weather(self, hot: bool) -> None:
        self.world.hot = hot

    @rule(actor=st.integers(0, 3))
    def one_is_killed(self, actor: int) -> None:
        self.world.kill(actor)

    @rule(shard=st.integers(0, 4))
    def expire(self, shard: int) -> None:
        self.world.expire(shard)

    @invariant()
    def metadata_hold(self) -> None:
        if hasattr(self, "watch"):
            self.watch.look()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.end()


AnyOrder.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),  # shorter failures would take minutes to find
)
TestAnyOrder = AnyOrder.TestCase


def test_long_lives_see_everything_happen() -> None:
    """The same world for long enough that every rare thing comes to pass, and more than once."""
    rng = Random(7)
    world = World(7)
    watch = Watch(world)
    for _ in range(30_000):
        world.go(rng.choice((0, 0, 1, 1, 2, 3, 3)))
        watch.look()
        dice = rng.random()
        if dice < 0.05:
            world.now_s += rng.choice((0.1, 0.5, 2.0, 8.5))
        elif dice < 0.07:
            world.hot = not world.hot
        elif dice < 0.1:
            world.expire(rng.randrange(5))
        elif dice < 0.101:
            world.kill(rng.randrange(4))
    world.end()
    happened = world.counted
    for name in ("increments", "conflicts", "cooling", "backing_off", "shrinks", "forgotten", "confirmed"):
        assert happened[f"shards.{name}"] > 10, happened
    assert happened["shards.at_most"] > 0 or max(watch.heights) < POLICY.max_shards
    assert world.reads > 250
    assert len(world.acknowledged) > 500
