"""The budget of an open loop: what is started is what was asked for, whatever an arrival comes to cost.

A trace as an arrival schedule: rows come due at their times, in parts, and late ones are dropped.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pytest

from keyheat.load.pacer import DROPPED, LATE, OpenLoop, OpenPacer, TraceSchedule
from keyheat.load.record.record import Record
from keyheat.load.schedule import DROPPED_AFTER_S, Schedule, even, exponential
from keyheat.scenario import shape
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.trace import TraceRow

MINUTE_S = 60.0
RAMP = shape.ramp(0.0, 200.0, duration_s=MINUTE_S)
STEADY = shape.constant(100.0, duration_s=MINUTE_S)


def starts(schedule: Schedule, cost: Callable[[], float] = even) -> list[float]:
    """When arrivals of a minute start, where there is always a user, and what each costs is known at once."""
    schedule.begin(0.0)
    times: list[float] = []
    while schedule.due_s < MINUTE_S:
        times.append(schedule.due_s)
        paid, real = schedule.take(), cost()
        schedule.settle(real - paid)
        schedule.learn(real)
    return times


@pytest.mark.parametrize("made", [STEADY, RAMP, shape.sine(10.0, 190.0, period_s=30, duration_s=MINUTE_S)])
def test_even_arrivals_follow_the_shape(made: LoadShape) -> None:
    times = starts(Schedule(made, even))
    assert len(times) == pytest.approx(made.total(MINUTE_S), abs=1)
    for number, at_s in enumerate(times, start=1):
        assert made.total(at_s) == pytest.approx(number, abs=1e-6)


def test_random_arrivals_are_a_poisson_process_of_the_shapes_rate() -> None:
    times = starts(Schedule(RAMP, exponential(Random(7))))
    gaps = [RAMP.total(b) - RAMP.total(a) for a, b in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(1.0, rel=0.05)
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(1.0, rel=0.15)
    assert sum(gap > 1 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)  # 1 / e


def test_processes_share_the_arrivals_evenly() -> None:
    parts = [starts(Schedule(STEADY, even, part, 3)) for part in range(3)]
    whole = sorted(at_s for times in parts for at_s in times)
    assert whole == pytest.approx(starts(Schedule(STEADY, even)), abs=1e-9)
    assert {len(times) for times in parts} <= {1_999, 2_000}
    assert not Schedule(STEADY, even, 3, 3).has_share


def test_what_costs_more_delays_the_next_at_once_and_what_costs_less_never_reaches_into_the_past() -> None:
    schedule = Schedule(STEADY, even)
    schedule.begin(0.0)
    schedule.take()
    due_s = schedule.due_s
    schedule.settle(9.0)
    assert schedule.due_s == pytest.approx(due_s + 0.09)
    schedule.settle(-9.0)
    assert schedule.due_s == pytest.approx(due_s + 0.09)
    before_s = schedule.due_s
    for _ in range(18):
        schedule.take()
    assert schedule.due_s == pytest.approx(before_s + 0.09)  # half of each gap was paid already


def test_arrivals_that_waited_too_long_are_dropped_and_counted() -> None:
    schedule = Schedule(STEADY, even)
    schedule.begin(0.0)
    assert schedule.drop(DROPPED_AFTER_S) == 0
    assert schedule.drop(10.0) == (10.0 - DROPPED_AFTER_S) * 100 - 1
    assert schedule.due_s == pytest.approx(10.0 - DROPPED_AFTER_S)
    assert schedule.drop(10.0) == 0


def test_after_the_last_that_is_asked_for_nothing_is_due() -> None:
    schedule = Schedule(shape.steps([(10.0, 1.0), (0.0, 1.0)]), even)
    schedule.begin(0.0)
    for _ in range(10):
        schedule.take()
    assert schedule.due_s == float("inf")


def rows(*times_s: float) -> Iterator[TraceRow]:
    return (TraceRow(at_s, "GetItem", f"key-{number}", None, None) for number, at_s in enumerate(times_s))


class World:
    """A clock that goes on only while somebody sleeps, and the arrivals of a trace in it."""

    def __init__(self, schedule: TraceSchedule, started_s: float = 100.0) -> None:
        self.now_s = started_s
        self.record = Record()
        self.arrivals = OpenLoop(
            schedule, self.record, started_s=started_s, clock=lambda: self.now_s, sleep=self.sleep
        )
        self.pace = OpenPacer(self.arrivals)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def next_row(self) -> tuple[str, float]:
        """Wait for a row; gives its key and when it was had."""
        self.pace.wait()
        assert self.pace.row is not None
        return self.pace.row.key, round(self.now_s - 100.0, 6)


def test_a_row_that_waited_for_a_second_is_dropped_and_counted_and_one_that_waited_less_is_late() -> None:
    world = World(TraceSchedule(rows(0.0, 0.1, 0.5, 1.9, 9.0), speed=1.0))
    world.next_row()
    world.now_s += 2.0  # a slow answer
    assert world.next_row() == ("key-3", 2.0)
    assert world.record.counted == {LATE: 0, DROPPED: 2}
    for _look in range(2):
        world.arrivals.account()
        assert world.record.health.demand == 4, "what was asked for is the rows that came up"
    assert world.pace.begin(world.now_s, 1.0) == pytest.approx(101.9)
    assert world.record.counted[LATE] == 1


def test_after_the_last_row_nothing_is_due_and_a_process_without_a_part_has_nothing() -> None:
    schedule = TraceSchedule(rows(0.0), speed=1.0)
    schedule.begin(0.0)
    schedule.take()
    assert schedule.due_s == float("inf")
    assert schedule.drop(1e9) == 0
    parts = [TraceSchedule(rows(0.0, 1.0), speed=1.0, worker=part, workers=3) for part in range(3)]
    assert [part.due_s for part in parts] == [0.0, 1.0, float("inf")]
    assert all(part.has_share for part in parts)
    assert not TraceSchedule(rows(0.0), speed=1.0, worker=3, workers=3).has_share


def test_the_trace_starts_when_the_first_user_is_there_at_its_speed() -> None:
    world = World(TraceSchedule(rows(0.0, 1.0, 1.0, 4.0), speed=2.0))
    world.now_s += 7.0
    assert [world.next_row() for _ in range(4)] == [
        ("key-0", 7.0), ("key-1", 7.5), ("key-2", 7.5), ("key-3", 9.0),
    ]  # fmt: skip
