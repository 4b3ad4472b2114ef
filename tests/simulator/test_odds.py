"""The arithmetic of a second: how much fits through shared limits, and who gets what of a bucket's rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.model.bucket import TokenBucket
from keyheat.simulator.odds import Odds, fill, hovering, shared_out

demands = st.integers(0, 50).map(float)


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    flows, partitions, limits = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    requests = [[draw(demands) for _ in range(partitions)] for _ in range(flows)]
    most = [draw(st.floats(0, 2)) for _ in range(partitions)]
    weights = [[draw(st.sampled_from([0.0, 0.5, 1.0, 4.0])) for _ in range(flows)] for _ in range(limits)]
    rooms = [draw(st.floats(0, 200)) for _ in range(limits)]
    return tuple(np.array(each) for each in (requests, most, weights, rooms))


@pytest.mark.slow
@given(problem=problems())
def test_every_limit_is_kept_and_one_of_them_is_reached(problem: tuple[np.ndarray, ...]) -> None:  # type: ignore[type-arg]
    requests, most, weights, rooms = problem
    found = fill(*problem)
    used = weights @ (requests @ np.minimum(most, found.x))
    assert (used <= rooms + 1e-6).all()
    assert 0.0 <= found.x <= 1.0
    if found.limits:
        assert used[list(found.limits)] == pytest.approx(rooms[list(found.limits)], abs=1e-6)
        more = weights @ (requests @ np.minimum(most, found.x + 1e-3))
        assert (more[list(found.limits)] > rooms[list(found.limits)] - 1e-6).all()
    else:
        assert found.x == 1.0


def test_a_limit_of_nothing_lets_nothing_pass() -> None:
    found = fill(np.array([[10.0]]), np.array([1.0]), np.array([[1.0]]), np.array([0.0]))
    assert (found.x, found.limits) == (0.0, (0,))


def test_limits_that_are_alike_are_reached_together() -> None:
    found = fill(np.array([[10.0, 10.0]]), np.ones(2), np.ones((2, 1)), np.array([5.0, 5.0]))
    assert (found.x, found.limits) == (0.25, (0, 1))


@pytest.mark.parametrize(
    ("units", "rates"),
    [
        ((1, 10), (1.5, 0.05)),
        ((1, 10), (0.5, 0.1)),
        ((1 / 3, 1), (3.6, 0.6)),
        ((1, 2, 4, 8), (0.3, 0.2, 0.1, 0.1)),
    ],
)
def test_sizes_are_served_as_by_a_bucket_that_is_asked_one_by_one(
    units: tuple[float, ...], rates: tuple[float, ...]
) -> None:
    sizes, per_unit = np.array(units, float), np.array(rates)
    found = hovering(sizes, per_unit[:, None])
    rng = np.random.default_rng(1)
    count = 60_000
    moments_s = np.cumsum(rng.exponential(1 / per_unit.sum(), count)).tolist()
    kinds = rng.choice(len(sizes), size=count, p=per_unit / per_unit.sum())
    bucket = TokenBucket(1.0, 1e9, 0.0, 0.0)
    served = [bucket.take(float(sizes[kind]), at_s) for kind, at_s in zip(kinds, moments_s, strict=True)]
    for kind in range(len(sizes)):
        assert np.mean(np.array(served)[kinds == kind]) == pytest.approx(found.chances[kind, 0], abs=0.02)
    assert (sizes * per_unit) @ found.chances[:, 0] == pytest.approx(1.0, abs=0.01)


def test_a_bucket_with_enough_serves_all_sizes() -> None:
    found = hovering(np.array([1.0, 5.0]), np.array([[0.2, 0.2], [0.1, 0.3]]))
    assert found.chances[:, 0].tolist() == [1.0, 1.0]
    assert found.chances[1, 1] < found.chances[0, 1] < 1.0


@pytest.mark.slow
@given(
    wanted=st.lists(st.floats(1, 100), min_size=3, max_size=3),
    odds=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    part=st.floats(0.05, 0.95),
)
def test_a_room_is_shared_out_exactly(wanted: list[float], odds: list[float], part: float) -> None:
    units = np.array([1.0, 2.0, 4.0])
    asked = np.array(wanted)[:, None]
    room = np.array([part * asked.sum()])
    shared = shared_out(units, np.array(odds)[:, None], asked, room)
    assert (shared * asked).sum() == pytest.approx(room[0], rel=1e-4)
    assert ((shared >= 0) & (shared <= 1)).all()


def test_odds_are_worked_out_again_once_the_load_has_changed() -> None:
    odds, units = Odds(), np.array([1.0, 10.0])
    earned = np.array([100.0])
    before, _room = odds.of("x", units, np.array([[100.0], [5.0]]), earned, earned)
    same, _room = odds.of("x", units, np.array([[101.0], [5.0]]), earned, earned)
    assert np.array_equal(before, same)
    after, _room = odds.of("x", units, np.array([[300.0], [5.0]]), earned, earned)
    assert after[0, 0] < before[0, 0]
    spare, _room = odds.of("x", units, np.array([[300.0], [5.0]]), earned + 1_000, earned)
    assert spare.min() == 1.0
