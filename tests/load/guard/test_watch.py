"""The watch stops a run at a cap, less than a second of load beyond it, and when a rule is broken."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from keyheat.load.guard.budget import Caps
from keyheat.load.guard.watch import LOOK_S, LoadWatch, Rules
from keyheat.load.record.attempt import Attempt, ConsumedUnits
from keyheat.load.record.record import Record
from keyheat.scenario.spec.part import AbortSpec

START_S = 1_000.5
Rate = Callable[[float], float]


@dataclass
class World:
    """Workers that consume at a rate and send a piece each second, each at its own moment of it."""

    consumed_by: Callable[[float], float]  # units of one worker, so many seconds after the start
    phases: tuple[float, ...] = (0.0,)
    every_s: float = 1.0
    stops_s: float | None = None
    now_s: float = START_S
    record: Record = field(default_factory=Record)

    def clock(self) -> float:
        return self.now_s

    def consumed(self) -> ConsumedUnits:
        units = 0.0
        for phase in self.phases:
            elapsed_s = self.now_s - START_S
            if self.every_s:
                elapsed_s = max(0.0, (elapsed_s - phase) // self.every_s * self.every_s + phase)
            units += self.consumed_by(elapsed_s)
        return ConsumedUnits(units, 0.0)

    def total(self, stopped_s: float) -> float:
        """What all of them have consumed if they stop then."""
        return len(self.phases) * self.consumed_by(stopped_s - START_S)


def steady(per_s: float) -> Rate:
    return lambda elapsed_s: per_s * elapsed_s


def watch_of(
    world: World,
    caps: Caps,
    *,
    rules: AbortSpec | None = None,
    duration_s: float | None = None,
) -> LoadWatch:
    return LoadWatch(
        caps, world, lambda: None, rules=rules and Rules(rules), duration_s=duration_s,
        consumed=world.consumed,
    )  # fmt: skip


def run(world: World, watch: LoadWatch, until_s: float = 1_000.0) -> float:
    """Look until it stops, or for so long; gives when that was."""
    while world.now_s < START_S + until_s and (wait_s := watch.look(world.now_s)) is not None:
        world.now_s += wait_s
    return world.now_s


RAMP = {
    "steady": steady(13_500.0),
    "growing": lambda elapsed_s: 200.0 * elapsed_s**2,
    "falling": lambda elapsed_s: 200_000.0 * (1 - 0.98**elapsed_s),
    "slow": steady(37.0),
}


@pytest.mark.parametrize("load", RAMP)
@pytest.mark.parametrize("phases", [(0.1, 0.7), (0.0, 0.0), (0.9,)])
def test_a_cap_is_exceeded_by_less_than_a_second_of_all_workers(load: str, phases: tuple[float, ...]) -> None:
    """The master's look, by pieces that are up to a second old; each worker looks at its own part beside."""
    world = World(RAMP[load], phases)
    cap = len(phases) * RAMP[load](20.0)
    watch = watch_of(world, Caps(units=cap))
    decided_s = run(world, watch)
    assert watch.stopped is not None
    assert watch.stopped.rule == "max_units"
    a_second = len(phases) * (RAMP[load](21.0) - RAMP[load](20.0))
    assert cap - 2 * a_second <= world.total(decided_s) <= cap + a_second


@pytest.mark.parametrize("load", RAMP)
def test_in_one_process_it_is_nearly_exact(load: str) -> None:
    world = World(RAMP[load], every_s=0.0)
    cap = RAMP[load](20.0)
    watch = watch_of(world, Caps(units=cap))
    stopped_s = run(world, watch)
    a_look = LOOK_S * (RAMP[load](21.0) - RAMP[load](20.0))
    assert cap - 1.1 * a_look <= world.total(stopped_s) <= cap + 0.1 * a_look
    assert watch.stopped is not None
    assert watch.stopped.at_s == pytest.approx(stopped_s - START_S)


def test_a_run_that_ends_within_its_budget_is_left_alone() -> None:
    world = World(steady(100.0), every_s=0.0)
    caps = Caps(units=1_003.0, minutes=10 / 60)
    assert run(world, watch_of(world, caps, duration_s=10.0), until_s=10.0) >= START_S + 10.0


def test_the_outcome_says_what_came_back_in_the_end() -> None:
    world = World(steady(100.0), every_s=0.0)
    watch = watch_of(world, Caps(units=1_000.0))
    assert watch.outcome(START_S + 1) is None
    run(world, watch)
    world.record.consumed.add("write", 987.0)
    outcome = watch.outcome(START_S + 10.5)
    assert outcome is not None
    assert watch.stopped is not None
    assert (outcome.seen, outcome.limit, outcome.at_s) == (987.0, 1_000.0, watch.stopped.at_s)


def second_of(world: World, second: int, throttled: int) -> None:
    for number in range(100):
        attempt = Attempt("PutItem", "write", "key", float(second), 0, 1_000)
        if number < throttled:
            world.record.add(attempt._replace(outcome="throttled", units=1.0))
        else:
            world.record.add(attempt._replace(units=1.0))


@pytest.mark.parametrize(
    ("throttled_from", "after_s", "stops_at"), [(0, 0.0, 11), (0, 20.0, 31), (15, 0.0, 22), (None, 0.0, None)]
)
def test_a_rule_is_judged_over_a_whole_window_after_the_beginning(
    throttled_from: int | None, after_s: float, stops_at: int | None
) -> None:
    world = World(steady(0.0))
    rules = AbortSpec(throttle_share=0.5, over_s=10.0, after_s=after_s)
    watch = watch_of(world, Caps(), rules=rules)
    for second in range(1_001, 1_060):
        bad = throttled_from is not None and second > 1_000 + throttled_from
        second_of(world, second, throttled=95 if bad else 0)
        if watch.look(second + 1.0) is None:
            assert second + 1 - 1_000.5 == pytest.approx(watch.stopped.at_s if watch.stopped else 0)
            assert second + 1 - 1_000 == stops_at
            return
    assert stops_at is None


def test_a_budget_that_has_no_room_for_a_request_ends_the_run_between_two_looks() -> None:
    world = World(steady(0.0), now_s=START_S + 0.3)
    world.record.consumed.add("write", 499.0)
    watch = watch_of(world, Caps(units=500.0, dollars=1.0))
    watch.used_up()
    watch.used_up()  # by the next user
    assert watch.stopped is not None
    assert (watch.stopped.rule, watch.stopped.limit, watch.stopped.seen) == ("max_units", 500.0, 499.0)
    assert watch.look(world.now_s) is None


def test_a_load_that_is_being_ended_is_not_stopped_by_its_budget() -> None:
    world = World(steady(100.0), every_s=0.0, now_s=START_S + 100)
    watch = watch_of(world, Caps(units=1.0))
    watch.close()
    assert watch.look(world.now_s) is None
    assert watch.stopped is None


def test_a_budget_that_is_gone_at_the_first_look_ends_the_run_then() -> None:
    world = World(steady(13_500.0), every_s=0.0)
    assert run(world, watch_of(world, Caps(units=100.0))) == pytest.approx(START_S + LOOK_S)


def test_minutes_are_counted_without_a_piece() -> None:
    world = World(steady(0.0))
    watch = watch_of(world, Caps(minutes=1.5))
    assert run(world, watch) == pytest.approx(START_S + 90.0, abs=LOOK_S)
    assert watch.stopped is not None
    assert watch.stopped.limit == 1.5


def test_a_run_of_which_nobody_knows_when_it_ends_is_stopped_by_the_same_budget() -> None:
    world = World(steady(100.0), every_s=0.0)
    assert run(world, watch_of(world, Caps(units=1_003.0, minutes=10 / 60)), until_s=20.0) <= START_S + 10.0
