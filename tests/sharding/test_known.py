"""What a writer does about partition errors: cooldown, back-off, turns, and the bound."""

from random import Random

import pytest

from keyheat.sharding.knowledge import KnownShards, Policy, ShardStep
from keyheat.sharding.metadata import Shards

POLICY = Policy(cooldown_s=60, backoff_low_s=1, backoff_high_s=10, max_shards=4)
T0 = 1_000_000.0


def known(number: int = 2, *, updated_s: float = T0, seen_s: float | None = None) -> KnownShards:
    shards = Shards.first(updated_s - 1).changed(number, updated_s, keep=5)
    seen_s = updated_s if seen_s is None else seen_s
    return KnownShards(shards=shards, first_seen_s=seen_s, read_s=seen_s)


def steps(one: KnownShards, times_s: list[float], seed: int = 1) -> list[ShardStep]:
    rng, taken = Random(seed), []
    for now_s in times_s:
        one, step = one.on_partition_error(POLICY, now_s, rng)
        taken.append(step)
    return taken


def test_after_the_cooldown_each_writer_has_its_own_turn() -> None:
    turns = set()
    for seed in range(20):
        taken = steps(known(), [T0 + 59, *(T0 + 60 + tenth / 10 for tenth in range(120))], seed)
        turn = taken.index(ShardStep.RAISE)
        assert set(taken[1:turn]) == {ShardStep.BACKING_OFF}
        assert 10 <= turn - 1 <= 100, "between 1 and 10 s after the cooldown"
        turns.add(turn)
    assert len(turns) > 10


def test_a_turn_that_was_not_used_is_drawn_anew() -> None:
    assert steps(known(), [T0 + 100, T0 + 5_000]) == [ShardStep.BACKING_OFF] * 2


def test_only_one_of_the_threads_that_share_what_they_know_goes() -> None:
    assert steps(known(), [T0 + 100, T0 + 110, T0 + 110, T0 + 110.5]) == [
        ShardStep.BACKING_OFF, ShardStep.RAISE, ShardStep.BACKING_OFF, ShardStep.BACKING_OFF,
    ]  # fmt: skip


def test_a_clock_that_is_an_hour_ahead_stops_nobody_for_an_hour() -> None:
    ahead = known(updated_s=T0 + 3_600, seen_s=T0)
    assert steps(ahead, [T0 + 59, T0 + 61, T0 + 71])[0] is ShardStep.COOLING
    assert steps(ahead, [T0 + 59, T0 + 61, T0 + 71])[-1] is ShardStep.RAISE


def test_an_answer_that_is_older_than_what_is_known_is_void() -> None:
    newer = known(3, updated_s=T0 + 100)
    assert KnownShards.learned(known(2).shards, newer, read_s=T0 + 101, now_s=T0 + 102) is newer


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"backoff_low_s": 11}, "back-off"),
        ({"cache_s": 61, "settle_s": 200}, "cache_s is longer"),
        ({"cache_s": 31}, "settle_s"),
        ({"max_shards": 0, "history": 1}, "max_shards is below 1; history is below 2"),
        ({"cooldown_s": 0, "cache_s": 0}, "cooldown_s"),
        ({"retry_low_s": 2}, "pause"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Policy(**wrong)  # type: ignore[arg-type]


def test_a_key_never_gets_more_than_its_most_shards() -> None:
    assert steps(known(4), [T0, T0 + 100, T0 + 111]) == [ShardStep.AT_MOST] * 3
