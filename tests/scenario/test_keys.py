"""Key patterns draw what they promise, from a seed."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.scenario.keys import (
    NUMBERS_PER_WORKER,
    DateKey,
    Sequential,
    Zipf,
    calculated_suffix,
    random_suffix,
    shard_keys,
)


@pytest.mark.parametrize("exponent", [0.01, 0.5, 0.99, 1.0, 1 + 1e-9, 1.2, 3.0, 8.0])
@pytest.mark.parametrize("keys", [1, 2, 7, 1_000])
def test_zipf_draws_each_rank_as_often_as_the_law_says(exponent: float, keys: int) -> None:
    pattern, count, rng = Zipf(exponent, keys), 8_000, Random(3)
    drawn = Counter(pattern.draw(rng, 0.0) for _ in range(count))
    weights = np.arange(1, keys + 1, dtype=float) ** -exponent
    weights /= weights.sum()
    assert {int(key.removeprefix("key-")) for key in drawn} <= set(range(keys))
    common = [rank for rank in range(keys) if weights[rank] * count >= 5]
    squares = sum(
        (drawn[f"key-{rank}"] - weights[rank] * count) ** 2 / (weights[rank] * count) for rank in common
    )
    assert squares < len(common) + 6 * len(common) ** 0.5 + 10
    assert pattern.share(1) == pytest.approx(weights[0], rel=1e-9)
    assert pattern.share(keys) == pytest.approx(weights[-1], rel=1e-9)


def test_a_sequence_gives_each_number_once_and_two_processes_have_none_in_common() -> None:
    pattern = Sequential("order")
    assert [pattern.draw(Random(1), 0.0) for _ in range(7)] == [f"order-{n}" for n in range(1, 8)]
    first, second = (Sequential.of_worker(worker).draw(Random(1), 0.0) for worker in (0, 1))
    assert (first, second) == ("key-1", f"key-{NUMBERS_PER_WORKER + 1}")


@pytest.mark.parametrize(
    ("pattern", "at_s", "key"),
    [
        (DateKey(day_s=20.0), 19.999, "2026-01-01"),
        (DateKey(day_s=20.0), 20, "2026-01-02"),
        (DateKey(day_s=20.0), 20 * 31, "2026-02-01"),
        (DateKey(day_s=20.0, rounded_to="hour", prefix="device"), 20 * 25, "device-2026-01-02T01"),
        (DateKey(day_s=20.0, rounded_to="minute", prefix="device"), 20 * 61, "device-2026-01-01T01:01"),
    ],
)
def test_the_date_rolls_over(pattern: DateKey, at_s: float, key: str) -> None:
    assert pattern.draw(Random(1), at_s) == key


@given(
    key=st.text(max_size=10),
    shards=st.integers(1, 50),
    attribute=st.text(max_size=10),
    seed=st.integers(0, 2**32),
)
def test_a_suffixed_key_is_one_of_the_shard_keys(key: str, shards: int, attribute: str, seed: int) -> None:
    every = shard_keys(key, shards)
    assert len(set(every)) == shards
    assert random_suffix(key, shards, Random(seed)) in every
    assert calculated_suffix(key, attribute, shards) in every
    assert calculated_suffix(key, attribute, shards) == calculated_suffix(key, attribute, shards)
