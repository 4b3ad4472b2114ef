"""A trace as an arrival schedule: rows come due at their times, in parts, and late ones are dropped."""

from collections.abc import Iterator

import pytest

from keyheat.load.pacer import DROPPED, LATE, OpenLoop, OpenPacer, TraceSchedule
from keyheat.load.record.record import Record
from keyheat.scenario.trace import TraceRow


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


def test_each_row_has_its_time() -> None:
    world = World(TraceSchedule(rows(0.0, 0.5, 0.5, 2.0), speed=1.0))
    assert [world.next_row() for _ in range(4)] == [
        ("key-0", 0.0), ("key-1", 0.5), ("key-2", 0.5), ("key-3", 2.0),
    ]  # fmt: skip


def test_the_trace_starts_when_the_first_user_is_there() -> None:
    world = World(TraceSchedule(rows(0.0, 1.0), speed=1.0))
    world.now_s += 7.0
    assert [world.next_row()[1] for _ in range(2)] == [7.0, 8.0]


def test_a_row_that_waited_for_a_second_is_dropped_and_counted_and_one_that_waited_less_is_late() -> None:
    world = World(TraceSchedule(rows(0.0, 0.1, 0.5, 1.9, 9.0), speed=1.0))
    world.next_row()
    world.now_s += 2.0  # a slow answer
    assert world.next_row() == ("key-3", 2.0)
    assert world.record.counted == {LATE: 0, DROPPED: 2}
    assert world.pace.begin(world.now_s, 1.0) == pytest.approx(101.9)
    assert world.record.counted[LATE] == 1


def test_what_was_asked_for_is_the_rows_that_came_up() -> None:
    world = World(TraceSchedule(rows(0.0, 0.1, 0.5, 1.9, 9.0), speed=1.0))
    world.next_row()
    world.now_s += 2.0
    world.next_row()
    world.arrivals.account()
    assert world.record.health.demand == 4
    world.arrivals.account()
    assert world.record.health.demand == 4


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_several_processes_share_the_rows_without_losing_one(parts: int) -> None:
    found: list[str] = []
    for part in range(parts):
        schedule = TraceSchedule(rows(*(n / 10 for n in range(10))), speed=1.0, worker=part, workers=parts)
        world = World(schedule)
        while schedule.due_s < float("inf"):
            found.append(world.next_row()[0])
    assert sorted(found) == [f"key-{number}" for number in range(10)]


def test_after_the_last_row_nothing_is_due_and_a_process_without_a_part_has_nothing() -> None:
    schedule = TraceSchedule(rows(0.0), speed=1.0)
    schedule.begin(0.0)
    schedule.take()
    assert schedule.due_s == float("inf")
    assert schedule.drop(1e9) == 0
    spare = TraceSchedule(rows(0.0), speed=1.0, worker=2, workers=2)
    assert not spare.has_share
    assert spare.due_s == float("inf")


def test_twice_the_speed_is_half_the_time() -> None:
    world = World(TraceSchedule(rows(0.0, 1.0, 4.0), speed=2.0))
    assert [world.next_row()[1] for _ in range(3)] == [0.0, 0.5, 2.0]
