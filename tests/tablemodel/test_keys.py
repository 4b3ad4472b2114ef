"""Key patterns draw what they promise, one by one and as an array, from a seed."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemodel.keys import (
    DateKey,
    HotKey,
    KeyPattern,
    Uniform,
    build_pattern,
    calculated_suffix,
    random_suffix,
    shard_keys,
)

PATTERNS: list[KeyPattern] = [Uniform(10), HotKey(share=0.9, others=10), DateKey(day_s=20.0)]
seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: type(p).__name__)
def test_one_seed_draws_the_same_keys(pattern: KeyPattern) -> None:
    times = np.linspace(0, 100, 500)
    one, two = (Random(5), Random(5))
    assert [pattern.draw(one, t) for t in times] == [pattern.draw(two, t) for t in times]
    first, second = (pattern.draw_many(np.random.default_rng(5), times) for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: type(p).__name__)
def test_drawn_one_by_one_or_as_an_array_the_shares_agree(pattern: KeyPattern) -> None:
    times = np.linspace(0, 100, 20_000, endpoint=False)
    rng = Random(1)
    single = Counter(pattern.draw(rng, t) for t in times)
    many = Counter(pattern.draw_many(np.random.default_rng(1), times).tolist())
    assert single.keys() == many.keys()
    for key, count in single.items():
        assert many[key] == pytest.approx(count, abs=250)


def test_a_hot_key_takes_its_share() -> None:
    drawn = Counter(HotKey(share=0.9).draw_many(np.random.default_rng(2), np.zeros(50_000)).tolist())
    assert drawn["hot"] / 50_000 == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize(
    ("at_s", "key"), [(0, "2026-01-01"), (19.999, "2026-01-01"), (20, "2026-01-02"), (20 * 31, "2026-02-01")]
)
def test_the_date_rolls_over(at_s: float, key: str) -> None:
    pattern = DateKey(day_s=20.0)
    assert pattern.draw(Random(1), at_s) == key
    assert pattern.draw_many(np.random.default_rng(1), np.array([at_s])).tolist() == [key]


def test_an_empty_array_of_times_draws_nothing() -> None:
    assert [len(p.draw_many(np.random.default_rng(1), np.array([]))) for p in PATTERNS] == [0, 0, 0]


@given(key=st.text(max_size=10), shards=st.integers(1, 50), attribute=st.text(max_size=10), seed=seeds)
def test_a_suffixed_key_is_one_of_the_shard_keys(key: str, shards: int, attribute: str, seed: int) -> None:
    every = shard_keys(key, shards)
    assert len(set(every)) == shards
    assert random_suffix(key, shards, Random(seed)) in every
    assert calculated_suffix(key, attribute, shards) in every
    assert calculated_suffix(key, attribute, shards) == calculated_suffix(key, attribute, shards)


def test_calculated_suffixes_are_even() -> None:
    counts = Counter(calculated_suffix("2026-01-01", f"order-{n}", 8) for n in range(8_000))
    assert len(counts) == 8
    assert min(counts.values()) > 850


def test_a_kind_becomes_its_pattern() -> None:
    assert build_pattern("uniform", keys=3, share=None, day_s=None, first_day=None) == Uniform(3)
    assert build_pattern("hot_key", keys=3, share=0.5, day_s=None, first_day=None) == HotKey(0.5, 3)
    made = build_pattern("date", keys=3, share=None, day_s=9.0, first_day="2026-05-05")
    assert isinstance(made, DateKey)
    assert made.on_day(1) == "2026-05-06"
