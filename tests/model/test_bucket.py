"""Token buckets: what they earn, what they may spend, and what asking costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.bucket import TOLERANCE_UNITS, TokenBucket, refilled

amounts = st.floats(0.001, 10_000)
gaps = st.floats(0, 100)
requests = st.lists(st.tuples(gaps, st.floats(0.5, 500)), max_size=60)


@pytest.mark.parametrize(
    ("tokens", "elapsed_s", "held"),
    [(0, 0, 0), (0, 2, 20), (95, 2, 100), (100, 9, 100), (-40, 2, -20), (50, -3, 50)],
)
def test_refill_is_rate_times_time_up_to_the_depth(tokens: float, elapsed_s: float, held: float) -> None:
    assert refilled(tokens, rate=10, depth=100, elapsed_s=elapsed_s) == held


@given(rate=amounts, depth=amounts, requests=requests)
def test_take_never_spends_more_than_depth_and_refill_and_one_large_request(
    rate: float, depth: float, requests: list[tuple[float, float]]
) -> None:
    bucket = TokenBucket.full(rate=rate, depth=depth, now_s=0)
    now_s = spent = 0.0
    for gap_s, units in requests:
        now_s += gap_s
        spent += units if bucket.take(units, now_s) else 0
        largest = max((units for _, units in requests), default=0)
        allowed = max(depth, largest) + rate * now_s
        assert spent <= allowed * (1 + 1e-9) + TOLERANCE_UNITS


def test_a_request_larger_than_the_depth_needs_a_full_bucket_and_leaves_a_debt() -> None:
    bucket = TokenBucket.full(rate=1, depth=300, now_s=0)
    assert bucket.take(400, 0)
    assert bucket.held(0) == -100
    assert not bucket.take(1, 100)
    assert not bucket.take(400, 399)
    assert bucket.take(400, 400)


def test_a_change_of_capacity_keeps_what_was_saved() -> None:
    bucket = TokenBucket.full(rate=10, depth=3_000, now_s=0)
    assert bucket.take(1_000, 0)
    assert bucket.resized(rate=20, depth=6_000, now_s=10) == TokenBucket(20, 6_000, 2_100, 10)
    assert bucket.resized(rate=1, depth=300, now_s=10).tokens == 300
