"""Split for heat: after minutes, at the observed distribution, and only where it helps."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.splits import PartitionHeat, collection_of, position, split_point


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
