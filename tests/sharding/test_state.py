"""What writers know: the metadata item, whose lock always moves on, the limit of a refusal, and turns."""

from itertools import product
from random import Random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from keyheat.sharding.client import SPELLINGS, Limit, throttle_of
from keyheat.sharding.knowledge import Knowledge, KnownShards, Policy, ShardStep
from keyheat.sharding.metadata import MetadataError, Shards
from tests.sharding.memory import PARTITION, TABLE, client_error, throttled

NOW_S = 1_763_715_701.101882


def test_an_item_is_what_the_playbook_says() -> None:
    shards = Shards.first(NOW_S).changed(2, NOW_S + 60, keep=5)
    assert shards.to_item() == {
        "number_of_shards": {"N": "2"},
        "last_updated": {"N": "1763715761.101882"},
        "shard_history": {"SS": ["1763715701.101882:1", "1763715761.101882:2"]},
    }


@given(st.lists(st.sampled_from((-3600.0, -1.0, 0.0, 0.0, 0.25)), min_size=1, max_size=20))
def test_the_lock_never_has_the_same_value_twice(steps: list[float]) -> None:
    """Whatever the clocks of those who change it say."""
    shards, seen = Shards.first(NOW_S), {Shards.first(NOW_S).updated_us}
    for turn, step in enumerate(steps):
        shards = shards.changed(1 + turn % 2, NOW_S + step, keep=3)
        assert shards.updated_us > max(seen)
        seen.add(shards.updated_us)


def test_readers_look_as_far_as_there_may_be_items() -> None:
    shards = Shards.first(NOW_S)
    for second, number in enumerate((2, 3, 4, 2, 1, 2, 1), start=1):
        shards = shards.changed(number, NOW_S + second, keep=3)
    assert (shards.number, shards.to_read) == (1, 4)
    shards = shards.forgotten(3, NOW_S + 20, keep=3)
    assert (shards.number, shards.to_read) == (1, 3), "shard 3 was empty, shard 2 was not"
    assert shards.forgotten(0, NOW_S + 21, keep=3).to_read == 1, "what is written to is never forgotten"
    assert shards.remembered(5, NOW_S + 22, keep=3).to_read == 5
    assert shards.remembered(5, NOW_S + 22, keep=3).number == 1


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"number_of_shards": {"N": "1"}, "last_updated": {"N": "1"}},
        {"number_of_shards": {"S": "1"}, "last_updated": {"N": "1"}, "shard_history": {"SS": ["1:1"]}},
        {"number_of_shards": {"N": "0"}, "last_updated": {"N": "1"}, "shard_history": {"SS": ["1:1"]}},
        {"number_of_shards": {"N": "1"}, "last_updated": {"N": "1"}, "shard_history": {"SS": ["1"]}},
        {"number_of_shards": {"N": "1"}, "last_updated": {"N": "x"}, "shard_history": {"SS": ["1:1"]}},
        {"number_of_shards": {"N": "1"}, "last_updated": {"N": "1.0000001"},
         "shard_history": {"SS": ["1:1"]}},
    ],
)  # fmt: skip
def test_an_item_of_another_kind_is_refused(item: dict[str, Any]) -> None:
    with pytest.raises(MetadataError):
        Shards.from_item(item)


INDEX = "IndexWriteKeyRangeThroughputExceeded"
SAYS = {
    (PARTITION,): Limit.PARTITION,
    (TABLE,): Limit.TABLE,
    ("TableWriteAccountLimitExceeded",): Limit.TABLE,
    ("TableWriteMaxOnDemandThroughputExceeded",): Limit.TABLE,
    (INDEX,): Limit.INDEX,
    ("IndexWriteProvisionedThroughputExceeded",): Limit.INDEX,
    (PARTITION, TABLE): Limit.TABLE,
    (PARTITION, INDEX): Limit.INDEX,
    ("TableReadKeyRangeThroughputExceeded",): Limit.UNKNOWN,
    ("SomethingNew",): Limit.UNKNOWN,
    (): Limit.UNKNOWN,
}


@pytest.mark.parametrize(("reasons", "spelt"), list(product(SAYS, SPELLINGS)))
def test_a_limit_is_told_by_the_reasons(reasons: tuple[str, ...], spelt: str) -> None:
    throttle = throttle_of(throttled(*reasons, spelt=spelt).response)
    assert throttle is not None
    assert throttle.limit is SAYS[reasons]


@pytest.mark.parametrize("code", ["ConditionalCheckFailedException", "ValidationException"])
def test_other_errors_are_no_throttles(code: str) -> None:
    assert throttle_of(client_error(code).response) is None


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


@pytest.mark.parametrize(
    ("one", "times_s", "taken"),
    [
        (known(), [100, 5_000], "BACKING_OFF BACKING_OFF"),  # a turn that was not used is drawn anew
        (known(), [100, 110, 110, 110.5], "BACKING_OFF RAISE BACKING_OFF BACKING_OFF"),  # one of the threads
        (known(4), [0, 100, 111], "AT_MOST AT_MOST AT_MOST"),
    ],
)
def test_who_may_raise_the_number(one: KnownShards, times_s: list[float], taken: str) -> None:
    assert steps(one, [T0 + at_s for at_s in times_s]) == [ShardStep[name] for name in taken.split()]


def test_a_clock_that_is_an_hour_ahead_stops_nobody_for_an_hour() -> None:
    ahead = known(updated_s=T0 + 3_600, seen_s=T0)
    assert steps(ahead, [T0 + 59, T0 + 61, T0 + 71])[0] is ShardStep.COOLING
    assert steps(ahead, [T0 + 59, T0 + 61, T0 + 71])[-1] is ShardStep.RAISE


def test_an_answer_that_is_older_than_what_is_known_is_void() -> None:
    newer = known(3, updated_s=T0 + 100)
    assert KnownShards.learned(known(2).shards, newer, read_s=T0 + 101, now_s=T0 + 102) is newer
    knowledge = Knowledge(keys=1)
    for key, number in (("busy", 3), ("other", 2)):
        knowledge.learn(key, known(number).shards, read_s=T0, now_s=T0)
    assert knowledge.most_shards == 3, "of a key that is forgotten, too"


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
