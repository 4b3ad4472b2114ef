"""The watch stops a run at a cap, less than a second of load beyond it, and when a rule is broken.

A stop rule ends a run on enough attempts, over the last seconds, and on nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from keyheat.load.record.attempt import Attempt, ConsumedUnits
from keyheat.load.record.record import Record
from keyheat.load.run.run import LoadRun
from keyheat.load.run.watch import (
    ENOUGH_ACCEPTED,
    ENOUGH_ATTEMPTS,
    KEPT,
    LOOK_S,
    Caps,
    LoadWatch,
    Rules,
    Spending,
)
from keyheat.load.transport.target import target_at
from keyheat.runs.manifest import Stop
from keyheat.scenario.spec.part import AbortSpec
from tests.make import a_plan

START_S = 1_000.5
Rate = Callable[[float], float]


@dataclass
class World:
    """Workers that consume at a rate and send a piece each second, each at its own moment of it."""

    consumed_by: Callable[[float], float]  # units of one worker, so many seconds after the start
    phases: tuple[float, ...] = (0.0,)
    every_s: float = 1.0
    now_s: float = START_S
    record: Record = field(default_factory=Record)
    behind_s: int = 0

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


def watch_of(world: World, caps: Caps, **more: Any) -> LoadWatch:
    return LoadWatch(caps, world, lambda: None, consumed=world.consumed, **more)


def run(world: World, watch: LoadWatch, until_s: float = 1_000.0) -> float:
    """Look until it stops, or for so long; gives when that was."""
    while world.now_s < START_S + until_s and (wait_s := watch.look(world.now_s)) is not None:
        world.now_s += wait_s
    return world.now_s


RAMP = {
    "steady": steady(13_500.0),
    "growing": lambda elapsed_s: 200.0 * elapsed_s**2,
    "falling": lambda elapsed_s: 200_000.0 * (1 - 0.98**elapsed_s),
}


@pytest.mark.parametrize("load", RAMP)
@pytest.mark.parametrize(
    ("phases", "below_s", "beyond_s"),
    [
        pytest.param((0.1, 0.7), 2.0, 1.0, id="two workers, by pieces that are up to a second old"),
        pytest.param((0.9,), 2.0, 1.0, id="one worker"),
        pytest.param(None, 1.1 * LOOK_S, 0.1 * LOOK_S, id="in one process it is nearly exact"),
    ],
)
def test_a_cap_is_exceeded_by_less_than_a_second_of_all_workers(
    load: str, phases: tuple[float, ...] | None, below_s: float, beyond_s: float
) -> None:
    world = World(RAMP[load], phases) if phases else World(RAMP[load], every_s=0.0)
    count = len(world.phases)
    cap, a_second = count * RAMP[load](20.0), count * (RAMP[load](21.0) - RAMP[load](20.0))
    watch = watch_of(world, Caps(units=cap))
    stopped_s = run(world, watch)
    assert watch.stopped is not None
    assert (watch.stopped.rule, watch.stopped.at_s) == ("max_units", pytest.approx(stopped_s - START_S))
    assert cap - below_s * a_second <= world.total(stopped_s) <= cap + beyond_s * a_second


def test_a_run_that_ends_within_its_budget_is_left_alone() -> None:
    world = World(steady(100.0), every_s=0.0)
    caps = Caps(units=1_003.0, minutes=10 / 60)
    assert run(world, watch_of(world, caps, duration_s=10.0), until_s=10.0) >= START_S + 10.0
    being_ended = watch_of(world, Caps(units=1.0))
    being_ended.close()
    assert (being_ended.look(world.now_s), being_ended.stopped) == (None, None)


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


@pytest.mark.parametrize(
    ("throttled_from", "after_s", "stops_at"), [(0, 0.0, 11), (0, 20.0, 31), (15, 0.0, 22), (None, 0.0, None)]
)
def test_a_rule_is_judged_over_a_whole_window_after_the_beginning(
    throttled_from: int | None, after_s: float, stops_at: int | None
) -> None:
    world = World(steady(0.0))
    rules = AbortSpec(throttle_share=0.5, over_s=10.0, after_s=after_s)
    watch = watch_of(world, Caps(), rules=Rules(rules))
    for second in range(1_001, 1_060):
        bad = throttled_from is not None and second > 1_000 + throttled_from
        second_of(world.record, second, accepted=5 if bad else 100, throttled=95 if bad else 0)
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


def test_minutes_are_counted_without_a_piece() -> None:
    world = World(steady(0.0))
    watch = watch_of(world, Caps(minutes=1.5))
    assert run(world, watch) == pytest.approx(START_S + 90.0, abs=LOOK_S)
    assert watch.stopped is not None
    assert watch.stopped.limit == 1.5


RULES = AbortSpec(throttle_share=0.5, error_share=0.1, p99_ms=100.0)


@pytest.mark.parametrize(
    ("counts", "rule"),
    [
        ({"throttled": 101, "accepted": 99}, "throttle_share"),
        ({"throttled": 100, "accepted": 100}, None),
        ({"failed": 21, "accepted": 179}, "error_share"),
        ({"throttled": ENOUGH_ATTEMPTS - 1}, None),
        ({"accepted": ENOUGH_ACCEPTED, "service_us": 101_000}, "p99_ms"),
        ({"accepted": ENOUGH_ACCEPTED - 1, "service_us": 101_000}, None),
        ({}, None),
    ],
)
def test_a_rule_is_broken_by_more_than_it_allows(counts: dict[str, int], rule: str | None) -> None:
    record = Record()
    second_of(record, 5, **counts)
    stop = Rules(RULES).broken(record, 6.0, 30.0, until=6)
    assert (stop and stop.rule) == rule
    assert Rules(AbortSpec()).broken(record, 6.0, 30.0, until=6) is None


WORDS = [
    (Stop(rule="max_dollars", limit=0.5, seen=0.4987, at_s=93.4),
     "stopped by its budget after 93 s: 0.4987 of 0.50 dollars"),
    (Stop(rule="throttle_share", limit=0.5, seen=0.62, at_s=31.0),
     "stopped by its rule throttle_share after 31 s: 62 % of its attempts were throttled, and 50 % may"),
    (Stop(rule="p99_ms", limit=100.0, seen=812.3, at_s=31.0),
     "stopped by its rule p99_ms after 31 s: 1 % of accepted requests took 812 ms or more, "
     "and 100 ms are allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("stop", "words"), WORDS)
def test_a_stop_is_said_in_words(stop: Stop, words: str) -> None:
    assert stop.words == words


def second_of(
    record: Record, second: int, accepted: int = 0, throttled: int = 0, failed: int = 0, service_us: int = 1
) -> None:
    """A second in which so many attempts were made, on two operations."""
    outcomes = ["accepted"] * accepted + ["throttled"] * throttled + ["error"] * failed
    for number, outcome in enumerate(outcomes):
        operation = ("PutItem", "GetItem")[number % 2]
        attempt = Attempt(operation, "write", "key", float(second), 0, service_us)
        record.add(attempt._replace(outcome=outcome, units=1.0, reason="timeout"))


def test_only_the_last_seconds_count() -> None:
    over_s = 60.0
    record, rules = Record(), Rules(AbortSpec(over_s=over_s, throttle_share=0.45, p99_ms=2.0))
    change = int(over_s) * 2
    for second in range(change + int(over_s) + 1):
        slow = second >= change
        second_of(
            record, second, accepted=10, throttled=10 if slow else 0, service_us=9_000 if slow else 1_000
        )
        timed, p99_us = rules.timed(record, second + 1.0)
        stop = rules.broken(record, second + 1.0, 1.0, until=second + 1)
        if second == change - 1:
            assert stop is None
            assert p99_us == pytest.approx(1_000, rel=0.01)
    assert stop is not None
    assert (stop.rule, stop.seen) == ("throttle_share", 0.5)
    assert timed == pytest.approx(10 * over_s, abs=10 * max(1, over_s / KEPT))
    assert p99_us == pytest.approx(9_000, rel=0.01)
    assert len(rules._then) <= KEPT + 2


def test_a_run_at_its_cap_sends_no_more_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """To end a load takes Locust a while, in which its users would go on."""
    world, order = World(steady(0.0)), list[str]()
    sender: Any = SimpleNamespace(
        record=world.record, clock=world.clock, behind_s=0,
        stop=lambda: order.append("sends no more"), watch=lambda: None,
    )  # fmt: skip
    monkeypatch.setattr("keyheat.load.run.run.start_load", lambda *_order, **_clock: sender)
    run = LoadRun(
        a_plan(), SimpleNamespace(), users=1, duration_s=None, spending=Spending(Caps(units=100.0)),  # type: ignore[arg-type]
        end_load=lambda: order.append("ends"),
    )  # fmt: skip
    run.target = target_at("http://127.0.0.1:8000")
    run._begin_load(SimpleNamespace(), distributed=False)
    gevent.killall(run._greenlets)
    run.watch.look(world.now_s)
    assert order == []
    world.record.consumed = ConsumedUnits(101.0, 0.0)
    run.watch.look(world.now_s)
    assert order == ["sends no more", "ends"]
