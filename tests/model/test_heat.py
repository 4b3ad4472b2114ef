"""Split for heat: after minutes, at the observed distribution, and only where it helps."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import TableCapacity
from keyheat.model.splits import PartitionHeat, collection_of, position, split_point
from keyheat.model.table import TableModel


def clock(n: int) -> bytes:
    return n.to_bytes(8, "big")


def shuffled(pk: str, count: int, seed: int = 1) -> list[bytes]:
    rng = Random(seed)
    return [position(pk.encode(), rng.randbytes(8)) for _ in range(count)]


HOT_ITEM = [position(b"hot", b"one")] * 256
GROWING = [position(b"2026-01-01", clock(n)) for n in range(256)]
JITTERED = [position(b"2026-01-01", clock(n + Random(n).randrange(20))) for n in range(256)]
RANDOM_SORT = shuffled("one", 256)
TWO_DATES = [position(pk, clock(n)) for n in range(128) for pk in (b"2026-01-01#0", b"2026-01-01#1")]


@pytest.mark.parametrize(
    ("case", "positions", "has_lsi", "splits"),
    [
        ("one hot item", HOT_ITEM, False, False),
        ("a sort key that only grows", GROWING, False, False),
        ("a growing sort key, slightly out of order", JITTERED, False, False),
        ("a sort key that only grows, in a table with a local index", GROWING, True, False),
        ("random sort keys under one partition key", RANDOM_SORT, False, True),
        ("random sort keys under one partition key, with a local index", RANDOM_SORT, True, False),
        ("two growing collections: between them", TWO_DATES, False, True),
        ("two growing collections, with a local index: between them", TWO_DATES, True, True),
        ("one item that takes nearly all", [*HOT_ITEM[:250], *RANDOM_SORT[:6]], False, False),
        ("nothing observed", [], False, False),
        ("one request", HOT_ITEM[:1], False, False),
    ],
)
def test_a_split_only_where_it_helps(case: str, positions: list[bytes], has_lsi: bool, splits: bool) -> None:
    at = split_point(positions, has_lsi=has_lsi, behaviour=DEFAULT)
    assert (at is not None) == splits, case


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.binary(max_size=2)), max_size=60), st.booleans()
)
def test_a_split_leaves_heat_on_both_sides_and_respects_collections(
    requests: list[tuple[str, bytes]], has_lsi: bool
) -> None:
    positions = [position(pk.encode(), sort) for pk, sort in requests]
    at = split_point(positions, has_lsi=has_lsi, behaviour=DEFAULT)
    if at is not None:
        below = sum(p < at for p in positions)
        assert min(below, len(positions) - below) >= DEFAULT.split_least_share * len(positions)
        assert not has_lsi or at == collection_of(at)


def test_a_partition_bears_heat_for_minutes() -> None:
    rng = Random(3)
    for _ in range(50):
        heat = PartitionHeat.cold(DEFAULT, rng)
        seconds = next(s for s in range(10_000) if heat.refused(RANDOM_SORT[s % 256], float(s), DEFAULT))
        assert 239 <= seconds <= 601


def test_a_partition_that_cools_forgets_its_heat() -> None:
    behaviour = Behaviour(split_heat_s=(5.0, 5.0), heat_memory_s=60)
    heat = PartitionHeat.cold(behaviour, Random(1))
    for now_s in (0, 1, 2, 3, 64, 65, 66, 67):
        assert not heat.refused(HOT_ITEM[0], float(now_s), behaviour)
    assert heat.refused(HOT_ITEM[0], 68.0, behaviour)


T0 = 1_800_000_020.0
SCALE = 0.01  # a partition writes 10 units per second
MINUTES = 60


def write(at: Callable[[bytes], bytes], *, per_s: float, seconds: float) -> tuple[TableModel, list[bool]]:
    """An on-demand table after these writes, and which were served; `at` makes a position of random bytes."""
    model, rng = TableModel(TableCapacity(billing_mode="PAY_PER_REQUEST"), now_s=T0, scale=SCALE), Random(11)
    return model, [
        model.admit_write(at(rng.randbytes(8)), 1.0, T0 + number / per_s) is None
        for number in range(int(per_s * seconds))
    ]


def under_one_key(sort_key: bytes) -> bytes:
    return position(b"one", sort_key)


def test_random_sort_keys_split_within_minutes_and_the_throttles_end() -> None:
    model, served = write(under_one_key, per_s=14, seconds=30 * MINUTES)
    assert model.partition_count() > 4
    assert not all(served[: 14 * 4 * MINUTES]), "it throttles at first"
    assert all(served[-14 * 5 * MINUTES :]), "and no longer in the end"


def test_a_partition_near_its_ceiling_splits_before_it_throttles() -> None:
    model, served = write(under_one_key, per_s=9, seconds=11 * MINUTES)
    assert all(served)
    assert model.partition_count() == 5


def test_an_on_demand_table_grows_past_its_peak_within_minutes() -> None:
    model, served = write(position, per_s=60, seconds=20 * MINUTES)
    assert sum(served[: 60 * MINUTES]) < 0.72 * 60 * MINUTES, "4,000 of 6,000 writes per second"
    assert sum(served[-60 * MINUTES :]) > 0.95 * 60 * MINUTES
    assert model.warm_throughput()[1] >= 7_000
