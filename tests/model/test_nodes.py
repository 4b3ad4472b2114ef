"""Small tables: capacity handed out in chunks to admission nodes, and indexes that rest; on-demand maxima."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.behaviour import DEFAULT
from keyheat.model.bucket import Backlog, Bucket, TokenBucket
from keyheat.model.nodes import Caller, MaximumBucket, NodeBucket, Surroundings, provisioned_bucket
from keyheat.model.resources import TableCapacity
from keyheat.model.splits import position
from keyheat.model.table import TableModel
from keyheat.words import Capacity

CHUNK, NODES = DEFAULT.node_chunk_units, DEFAULT.nodes


def bucket(
    rate: float, caller: Caller | None = None, kept: Bucket | None = None, *, at_s: float = 0.0
) -> Bucket:
    around = Surroundings(behaviour=DEFAULT, scale=1.0, rng=Random(1), account={}, caller=caller or Caller())
    return provisioned_bucket(kept, rate, around, at_s)


def test_a_connection_spends_the_chunk_of_its_node_and_waits_for_the_next() -> None:
    caller = Caller(0)
    small = bucket(5, caller)
    assert [small.take(1, 0.0) for _ in range(110)].count(True) == CHUNK
    caller.connection = 1
    assert small.take(1, 0.0)
    caller.connection = NODES
    assert not small.take(1, DEFAULT.node_grant_s[0] - 0.01)
    assert small.take(1, DEFAULT.node_grant_s[1])


def test_a_node_with_any_token_admits_a_large_request_and_then_owes() -> None:
    small = bucket(1, Caller(0))
    assert small.take(350, 0.0)
    assert not small.allows(1, 0.5)
    assert small.allows(350, 10.0)


@pytest.mark.parametrize("rate", [0.5, 5, 24.9, 25])
@pytest.mark.parametrize("connections", [1, 40])
def test_a_steady_load_below_the_capacity_is_never_refused(rate: float, connections: int) -> None:
    model = TableModel(TableCapacity(provisioned=Capacity(1, rate)), now_s=0.0)
    for number in range(3_000):
        at_s, connection = number / (0.9 * rate), number % connections
        assert model.admit_write(position(b"one"), 1.0, at_s, connection=connection) is None


takes = st.lists(
    st.tuples(st.floats(0, 30), st.sampled_from([1.0, 40.0, 400.0]), st.integers(0, 20)), max_size=120
)


@given(rate=st.floats(0.5, 24), takes=takes)
def test_units_come_from_burst_and_rate_and_the_debt_of_each_node(
    rate: float, takes: list[tuple[float, float, int]]
) -> None:
    caller = Caller()
    small = bucket(rate, caller)
    now_s = spent = 0.0
    for gap_s, units, connection in takes:
        now_s += gap_s
        caller.connection = connection
        asked = small.allows(units, now_s)
        assert small.take(units, now_s) == asked
        spent += units if asked else 0.0
        assert -1e-6 <= small.held(now_s) <= small.depth + 1e-6
    assert spent <= small.depth + rate * now_s + 400 * NODES + 1e-6


def test_what_was_saved_stays_saved_over_changes_of_capacity() -> None:
    small = bucket(5)
    assert [small.take(1, 0.0) for _ in range(200)].count(True) == 200
    large = bucket(1_000, kept=small)
    assert isinstance(large, TokenBucket)
    assert large.held(0.0) == DEFAULT.burst_floor_units - 200
    again = bucket(5, kept=large)
    assert isinstance(again, NodeBucket)
    assert again.tokens == DEFAULT.burst_floor_units - 200
    assert bucket(5, kept=again) is again


def test_an_empty_index_rests_until_it_has_drained_by_so_many_units() -> None:
    index = Backlog(bucket=TokenBucket.full(rate=1, depth=100, now_s=0), rest=(20, 20), rng=Random(1))
    assert [index.take(1, 0.0) for _ in range(101)].count(True) == 100
    assert not index.allows(1, 19.9)
    assert index.held(19.9) == 0
    assert index.held(20.0) == 20
    assert [index.take(1, 20.0) for _ in range(30)].count(True) == 20
    assert not index.take(1, 30.0)


def test_an_index_that_is_spent_without_asking_rests_too() -> None:
    index = Backlog(bucket=TokenBucket.full(rate=1, depth=100, now_s=0), rest=(20, 20), rng=Random(1))
    index.spend(100.5, 0.0)
    assert index.held(20.0) == 0
    index.spend(0.0, 30.0)
    assert index.held(30.0) == pytest.approx(29.5)


MAXIMUM_NODES = DEFAULT.maximum_nodes


def maximum(rate: float, caller: Caller | None = None) -> MaximumBucket:
    large = {"large_units": rate, "recovery_s": 1.0, "ready_s": [0.0] * MAXIMUM_NODES}
    return MaximumBucket(rate, rate, rate, 0.0, caller=caller or Caller(), **large)


def test_a_connection_stays_with_its_node() -> None:
    caller = Caller(3)
    bucket = maximum(1, caller)
    assert bucket.take(351, 0.0)
    assert not bucket.take(351, 0.5)
    caller.connection = 4
    assert bucket.take(351, 0.5)
    caller.connection = 3 + MAXIMUM_NODES
    assert not bucket.take(351, 0.5)


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0.5, 20)), max_size=60))
def test_what_fits_into_a_second_is_held_to_the_unit(asked: list[tuple[float, float]]) -> None:
    bucket, plain, now_s = maximum(20), TokenBucket.full(rate=20, depth=20, now_s=0.0), 0.0
    for pause_s, units in asked:
        now_s += pause_s
        assert bucket.allows(units, now_s) == plain.allows(units, now_s)
        assert bucket.take(units, now_s) == plain.take(units, now_s)
        assert bucket.held(now_s) == plain.held(now_s)


def test_a_changed_maximum_keeps_what_its_nodes_have_spent() -> None:
    bucket = maximum(1)
    for _ in range(MAXIMUM_NODES):
        assert bucket.take(351, 0.0)
    raised = bucket.resized(rate=100, depth=100, now_s=0.5)
    assert raised.large_units == 100
    assert not raised.allows(351, 0.5)
    assert maximum(1).resized(rate=400, depth=400, now_s=0.0).take(1, 0.0)
