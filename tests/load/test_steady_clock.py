"""A wall clock that is set while a load is under way changes no rate of it, and is said."""

import ast
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from keyheat.load.clock import NOTABLE_JUMP_S, SteadyClock, jump_words
from keyheat.load.pacer import DROPPED, ClosedLoop, ClosedPacer, OpenLoop, OpenPacer
from keyheat.load.record.record import Record
from keyheat.load.schedule import Schedule, even
from keyheat.scenario import shape

ROOT = Path(__file__).parents[2]
NOON_S = 1_795_000_000.0
PER_S, SECONDS = 50.0, 20.0
RATE = shape.constant(PER_S, duration_s=2 * SECONDS)


@dataclass
class Machine:
    """A machine's two clocks; at some time somebody sets the one on the wall."""

    passed_s: float = 0.0
    set_at_s: float = SECONDS / 2
    by_s: float = 0.0

    def wall(self) -> float:
        return NOON_S + self.passed_s + (self.by_s if self.passed_s >= self.set_at_s else 0.0)

    def monotonic(self) -> float:
        return 7.0 + self.passed_s

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds

    def clock(self) -> SteadyClock:
        return SteadyClock(self.wall, self.monotonic)


@pytest.mark.parametrize("by_s", [3_600.0, -3_600.0, 5.0, 0.3])
def test_time_goes_on_and_the_jump_is_known(by_s: float) -> None:
    machine = Machine(by_s=by_s)
    clock = machine.clock()
    machine.sleep(3.0)
    assert (clock(), clock.jump_s) == (NOON_S + 3.0, 0.0)
    machine.sleep(10.0)
    assert clock() == pytest.approx(NOON_S + 13.0)
    assert clock.jump_s == pytest.approx(by_s if abs(by_s) > NOTABLE_JUMP_S else 0.0)


@pytest.mark.parametrize("by_s", [3_600.0, -3_600.0])
def test_an_open_loop_neither_stops_nor_drops(by_s: float) -> None:
    machine, record = Machine(by_s=by_s), Record()
    clock = machine.clock()
    arrivals = OpenLoop(
        Schedule(RATE, even), record, started_s=clock(), clock=clock, sleep=machine.sleep
    )  # fmt: skip
    pace, sent = OpenPacer(arrivals, clock=clock), 0
    while machine.passed_s < SECONDS:
        pace.wait()
        pace.begin(clock(), 1.0)
        sent += 1
    assert sent == pytest.approx(PER_S * SECONDS, abs=2)
    assert record.counted[DROPPED] == 0


@pytest.mark.parametrize("by_s", [3_600.0, -3_600.0])
def test_a_closed_loop_keeps_its_pace(by_s: float) -> None:
    machine, record = Machine(by_s=by_s), Record()
    clock = machine.clock()
    loop = ClosedLoop(RATE, record, users=1, started_s=clock(), clock=clock)
    pace, sent = ClosedPacer(loop, Random(1)), 0
    while machine.passed_s < SECONDS:
        machine.sleep(pace.wait())
        pace.begin(clock(), 1.0)
        sent += 1
    loop.close()
    assert sent == pytest.approx(PER_S * SECONDS, abs=2)
    assert record.health.missed == 0
    assert record.health.asked == pytest.approx(PER_S * SECONDS, abs=2)


def test_what_is_said_of_it() -> None:
    assert jump_words(3_600.0).startswith("the wall clock jumped forward by 3,600 s during the load")
    assert jump_words(-5.2).startswith("the wall clock jumped back by 5 s")


BY_THE_WALL = {"signed.py": 1, "run.py": 1}
"""A signature has the time of day, and a run ends before a minute of CloudWatch does."""


def wall_clock_calls(path: Path) -> int:
    """How often a module asks the wall clock for the time."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return sum(ast.unparse(call.func) in ("time", "time.time") for call in calls)


def test_no_part_of_a_load_goes_by_the_wall_clock() -> None:
    paths = list((ROOT / "keyheat" / "load").rglob("*.py"))
    assert {path.name: number for path in paths if (number := wall_clock_calls(path))} == BY_THE_WALL
