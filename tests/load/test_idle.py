"""Connections that wait take turns, so that a load is spread over them however soon answers come."""

from itertools import count

import pytest

from keyheat.load.transport.signed import IDLE_S, SPREAD, Idle


def used(idle: Idle, seconds: list[float]) -> list[int]:
    """The connection that each of these requests goes over, where every answer comes at once."""
    numbers, found = count(), []
    for now_s in seconds:
        taken = idle.take(now_s)
        found.append(next(numbers) if taken is None else taken[0])
        idle.add(found[-1], now_s)
    return found


def test_a_load_is_spread_over_all_connections_alike() -> None:
    turns = used(Idle(SPREAD), [number / 200 for number in range(10 * SPREAD)])
    assert turns == [*range(SPREAD)] * 10


@pytest.mark.parametrize(
    ("every_s", "connections"), [(IDLE_S / 2, 1), (IDLE_S / 8, 4), (IDLE_S / 100, SPREAD)]
)
def test_where_requests_are_rare_no_connection_idles_too_long(every_s: float, connections: int) -> None:
    turns = used(Idle(SPREAD), [number * every_s for number in range(100)])
    assert len(set(turns)) == connections
    assert connections * every_s < IDLE_S


def test_a_connection_in_use_is_nobody_elses() -> None:
    idle: Idle[str] = Idle(2)
    idle.add("first", 0.0)
    idle.add("second", 0.0)
    assert [idle.take(0.1), idle.take(0.1)] == [("first", 0.0), None]
    idle.add("first", 0.2)
    assert sorted(idle.emptied()) == ["first", "second"]
    assert idle.take(0.3) is None
