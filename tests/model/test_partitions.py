"""Partitions: how many, where they divide, and that splitting loses no key."""

from bisect import bisect_right
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.partitions import PartitionKind, Partitions, provisioned_partitions, warm_partitions
from keyheat.model.splits import collection_of, even_boundaries, middle, point, position
from keyheat.words import Capacity, Direction

WRITE = Direction.WRITE
IMPATIENT = Behaviour(split_heat_s=(1.0, 3.0))
KEYS = [position(f"key-{n}".encode(), sort) for n in range(200) for sort in (b"", b"\x01", b"\xff")]

splits = st.lists(
    st.one_of(
        st.tuples(st.just("heat"), st.integers(0, 9), st.binary(max_size=3)),
        st.tuples(st.just("size"), st.integers(0, 199), st.binary(max_size=3)),
        st.tuples(st.just("spread"), st.integers(1, 40), st.just(b"")),
    ),
    max_size=40,
)


def make(count: int, behaviour: Behaviour = DEFAULT, *, has_lsi: bool = False, seed: int = 1) -> Partitions:
    kind = PartitionKind(behaviour=behaviour, scale=1.0, has_lsi=has_lsi)
    return Partitions(count, kind, now_s=0.0, rng=Random(seed))


@pytest.mark.parametrize(
    ("read", "write", "count"),
    [
        (1, 1, 1), (1_000, 500, 1), (1_000, 1_000, 2), (5_000, 2_000, 4), (5, 1_500, 2), (5, 3_200, 4),
        (5, 10_000, 11), (None, None, 1), (3_000, None, 1),
    ],
)  # fmt: skip
def test_a_new_provisioned_table_has_partitions_for_its_setting(
    read: float | None, write: float | None, count: int
) -> None:
    assert provisioned_partitions(Capacity(read, write)) == count


@pytest.mark.parametrize(
    ("read", "write", "count"), [(12_000, 4_000, 4), (1, 1, 1), (12_001, 1, 5), (40_000, 40_000, 40)]
)
def test_warm_throughput_takes_partitions_for_the_larger_side(read: float, write: float, count: int) -> None:
    assert warm_partitions(Capacity(read, write)) == count


@given(count=st.integers(1, 2_000))
def test_partitions_divide_the_line_evenly(count: int) -> None:
    starts = [0, *(point(at) for at in even_boundaries(count)), 1 << 64]
    widths = [after - before for before, after in pairwise(starts)]
    assert len(widths) == count
    assert max(widths) - min(widths) <= 1


@settings(max_examples=60)
@given(splits=splits, count=st.integers(1, 9), has_lsi=st.booleans())
def test_splits_keep_every_key_in_order_on_exactly_one_partition(
    splits: list[tuple[str, int, bytes]], count: int, has_lsi: bool
) -> None:
    partitions = make(count, IMPATIENT, has_lsi=has_lsi)
    now_s = 0.0
    for kind, number, sort in splits:
        before, boundaries = len(partitions), set(partitions.boundaries)
        at = position(f"key-{number}".encode(), sort)
        now_s += 1.0
        if kind == "heat":
            partitions.refused(at, now_s, WRITE)
            partitions.refused(KEYS[number], now_s, WRITE)
        elif kind == "size":
            partitions.grown(at, limits.PARTITION_BYTES / 2, now_s)
        else:
            partitions.spread(number, now_s)
        assert len(partitions) >= before
        assert boundaries <= set(partitions.boundaries), "a boundary was lost: partitions never merge"
        assert len(partitions.boundaries) == len(partitions) - 1
        assert list(partitions.boundaries) == sorted(set(partitions.boundaries))
        assert not has_lsi or all(collection_of(at) == at for at in partitions.boundaries)
    numbers = [partitions.number(at) for at in sorted(KEYS)]
    assert numbers == sorted(numbers)
    assert numbers == [bisect_right(partitions.boundaries, at) for at in sorted(KEYS)]


def test_four_partitions_that_must_become_six_become_eight() -> None:
    partitions = make(4)
    partitions.spread(6, 0.0)
    assert partitions.boundaries == tuple(even_boundaries(8))
    partitions.spread(8, 0.0)
    assert len(partitions) == 8


def test_a_partition_splits_at_ten_gigabytes_and_each_half_keeps_half() -> None:
    partitions = make(1)
    at = position(b"any")
    partitions.grown(at, limits.PARTITION_BYTES - 1, 0.0)
    assert len(partitions) == 1
    partitions.grown(at, 1, 0.0)
    assert len(partitions) == 2
    assert partitions.at(at).size_bytes == limits.PARTITION_BYTES / 2
    partitions.grown(at, -limits.PARTITION_BYTES, 0.0)
    assert partitions.at(at).size_bytes == 0


def test_a_split_hands_no_partition_more_than_its_parent_held() -> None:
    partitions = make(1)
    at = position(b"any")
    assert partitions.at(at).write.take(1_400, 0.0)
    partitions.spread(2, 0.0)
    assert partitions.at(b"\x00" * 8).write.held(0.0) == 100
    assert partitions.at(b"\xff" * 8).write.held(0.0) == 100


def test_the_middle_of_one_hash_does_not_exist() -> None:
    assert middle(b"\x00" * 8, b"\x00" * 7 + b"\x01") is None
    assert middle(b"", None) == b"\x80" + b"\x00" * 7
    assert middle(position(b"a"), position(b"a", b"sort")) is None
