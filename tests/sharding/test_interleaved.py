"""Whatever the order of requests and however long each takes: no item is lost to readers, one cooldown has
at most one increment, and the history stays short."""

from random import Random

import pytest

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


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_long_lives_see_everything_happen(seed: int) -> None:
    """Long enough that every rare thing comes to pass, and more than once."""
    rng, world = Random(seed), World(seed)
    watch = Watch(world)
    for _ in range(25_000):
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
