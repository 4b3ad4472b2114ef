"""On-demand maxima: held to the unit by what fits into a second of them, and past by what does not."""

from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.behaviour import DEFAULT
from keyheat.model.bucket import TokenBucket
from keyheat.model.nodes import Caller, MaximumBucket

NODES = DEFAULT.maximum_nodes


def maximum(rate: float, caller: Caller | None = None) -> MaximumBucket:
    large = {"large_units": rate, "recovery_s": 1.0, "ready_s": [0.0] * NODES}
    return MaximumBucket(rate, rate, rate, 0.0, caller=caller or Caller(), **large)


def test_a_connection_stays_with_its_node() -> None:
    caller = Caller(3)
    bucket = maximum(1, caller)
    assert bucket.take(351, 0.0)
    assert not bucket.take(351, 0.5)
    caller.connection = 4
    assert bucket.take(351, 0.5)
    caller.connection = 3 + NODES
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
    for _ in range(NODES):
        assert bucket.take(351, 0.0)
    raised = bucket.resized(rate=100, depth=100, now_s=0.5)
    assert raised.large_units == 100
    assert not raised.allows(351, 0.5)
    assert maximum(1).resized(rate=400, depth=400, now_s=0.0).take(1, 0.0)
