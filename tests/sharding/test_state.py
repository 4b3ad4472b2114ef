"""The metadata item: what is written comes back, the lock always moves on, readers' bound is never lost."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from keyheat.sharding.metadata import MetadataError, Shards

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
