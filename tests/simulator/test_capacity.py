"""Auto scaling: minutes in, a capacity out; and the changes of a simulated table's capacity over time."""

from collections.abc import Callable
from typing import Any

import pytest

from keyheat.model.behaviour import DEFAULT
from keyheat.model.table import TableModel
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import ScalingSpec
from keyheat.simulator.capacity import TIMELINE, CapacityTimeline, Scaler, capacity_of, scale_to
from keyheat.words import Capacity, Direction
from tests.make import a_scenario

START_S = 1_790_000_000.0 // 86_400 * 86_400  # 00:00 UTC
SPEC = ScalingSpec(min=50, max=1_000)
DEMANDED_PARTS = 20  # requests a second, on even positions


@pytest.mark.parametrize(
    ("seen", "provisioned", "units"),
    [
        ([80.0, 90.0], 100, 129),  # above 70 % twice: as much as makes the last minute 70 %
        ([90.0, 70.0], 100, None),  # the target itself is not above it
        ([500.0, 10.0], 100, None),  # one minute alone
        ([900.0, None], 100, None),  # no data is no breach
        ([900.0, 950.0], 100, 1_000),  # never more than the maximum
        ([900.0, 950.0], 1_000, None),
        ([*[40.0] * 15], 100, 58),  # below 50 % for 15 minutes
        ([*[40.0] * 14], 100, None),
        ([*[40.0] * 14, 50.0], 100, None),  # 50 % is not below it
        ([44.0, *[30.0] * 14], 100, 63),  # by the highest of the fifteen
        ([*[2.0] * 15], 100, 50),  # never less than the minimum
        ([*[None] * 15], 100, None),  # a table without traffic stays as it is
        ([*[40.0] * 14, None], 100, None),
    ],
)
def test_what_minutes_ask_for(seen: list[float | None], provisioned: float, units: int | None) -> None:
    found = scale_to(SPEC, seen, provisioned)
    assert (found.units if found else None) == units


def test_cooldowns_hold_back_all_but_a_larger_addition() -> None:
    spec = ScalingSpec(min=5, max=1_000, scale_out_cooldown_s=300, scale_in_cooldown_s=900)
    scaler = Scaler(None, Direction.WRITE, spec, 60.0)
    scaler.asked = 30.0
    scaler.changed(1_000.0)  # 30 more
    assert scaler.look([95.0, 91.0], 100, 1_200.0) is None  # 30 more once again
    assert scaler.look([95.0, 98.0], 100, 1_200.0) is not None  # 40 more
    assert scaler.look([95.0, 91.0], 100, 1_300.0) is not None
    scaler.asked = -10.0
    scaler.changed(2_000.0)
    assert scaler.look([10.0] * 15, 100, 2_899.0) is None
    assert scaler.look([10.0] * 15, 100, 2_900.0) is not None
    scaler.asked = 5.0
    scaler.changed(2_000.0)  # an addition ends the cooldown of a reduction
    assert scaler.look([10.0] * 15, 100, 2_001.0) is not None


def scenario(*steps: dict[str, Any], update_s: float | None = None, **table: Any) -> Scenario:
    own = {"name": "orders", "provisioned": {"read": 5, "write": 100}, **table}
    load, local = {"duration_s": 86_400}, {"update_s": update_s}
    return a_scenario(table=own, load=load, timeline=list(steps), local=local)


class Played:
    """A table that is written to second by second, and changed by its timeline."""

    def __init__(self, scenario: Scenario, seed: int = 1) -> None:
        self.timeline = CapacityTimeline(scenario, started_s=START_S, seed=seed)
        self.model = TableModel(capacity_of(scenario.table), now_s=START_S)
        self.throttled_s: list[int] = []  # seconds of the run with a throttle

    def play(self, demand: Callable[[int], float], seconds: int) -> "Played":
        for second in range(seconds):
            now_s = START_S + second
            self.timeline(self.model, now_s)
            units = demand(second) / DEMANDED_PARTS
            for part in range(DEMANDED_PARTS if units else 0):
                position = (part * 2**64 // DEMANDED_PARTS).to_bytes(8, "big") + bytes(8)
                if self.model.admit_write(position, units, now_s + part / DEMANDED_PARTS) is not None:
                    self.throttled_s.append(second)
        return self

    @property
    def write(self) -> float | None:
        return self.model.capacity.provisioned.write


def scaled(least: int = 50, most: int = 4_000, **more: Any) -> dict[str, Any]:
    return {"auto_scaling": {"write": {"min": least, "max": most, **more}}}


def test_a_step_is_answered_minutes_too_late() -> None:
    """Two minutes above the target, the alarm's delay, and UpdateTable's own time; burst lasts 50 s."""
    played = Played(scenario(**scaled())).play(lambda second: 60 if second < 1_200 else 700, 2_400)
    first = played.timeline.log[0]
    assert first.in_force_s is not None
    low_s = 120 + DEFAULT.alarm_delay_s[0] + DEFAULT.update_s[0]
    high_s = 180 + DEFAULT.alarm_delay_s[1] + DEFAULT.update_s[1]
    assert low_s <= first.in_force_s - 1_200 <= high_s
    assert 1_200 + 40 < played.throttled_s[0] < first.in_force_s


def test_steps_hold_after_a_while_and_wait_for_each_other() -> None:
    made = scenario(
        {"at_s": 60, "provisioned": {"write": 300}}, {"at_s": 70, "provisioned": {"write": 200}}, update_s=30
    )
    assert Played(made).play(lambda _second: 0, 90).write == 100
    assert Played(made).play(lambda _second: 0, 91).write == 300
    up, down = Played(made).play(lambda _second: 0, 200).timeline.log
    assert (up.at_s, up.in_force_s, up.by) == (60, 90, TIMELINE)
    assert (down.at_s, down.in_force_s) == (90, 120)
    assert down.because == "due at 70 s, while the table was UPDATING"


def test_a_raise_within_the_warm_throughput_takes_seconds_and_one_beyond_it_minutes() -> None:
    step = {"at_s": 60, "provisioned": {"write": 3_000}}
    (quick,) = Played(scenario(step, warm={"write": 4_000})).play(lambda _second: 0, 600).timeline.log
    (slow,) = Played(scenario(step)).play(lambda _second: 0, 600).timeline.log
    assert quick.in_force_s is not None
    assert slow.in_force_s is not None
    assert 5 <= quick.in_force_s - 60 <= 31
    assert DEFAULT.update_s[0] <= slow.in_force_s - 60 <= 301


def test_a_table_that_was_on_demand_is_so_again_within_seconds() -> None:
    there = {"at_s": 400, "billing_mode": "PAY_PER_REQUEST"}
    back = {"at_s": 10, "billing_mode": "PROVISIONED", "provisioned": {"read": 5, "write": 5}}
    made = scenario(back, there, billing_mode="PAY_PER_REQUEST", provisioned=None)
    events = Played(made).play(lambda _second: 0, 700).timeline.log
    took_s = {event.after: event.in_force_s - event.at_s for event in events if event.what == "billing_mode"}
    assert DEFAULT.update_s[0] <= took_s["PROVISIONED"] <= 301
    assert DEFAULT.update_warm_s[0] <= took_s["PAY_PER_REQUEST"] <= 31
    (new,) = Played(scenario(there)).play(lambda _second: 0, 800).timeline.log
    assert new.in_force_s - new.at_s >= DEFAULT.update_s[0]  # it is not warm for so much


def test_modes_switch_and_pre_warming_disturbs_nobody() -> None:
    made = scenario(
        {"at_s": 10, "billing_mode": "PAY_PER_REQUEST"},
        {"at_s": 20, "warm": {"write": 20_000}},
        {"at_s": 400, "max_on_demand": {"write": 700}},
        {"at_s": 800, "billing_mode": "PROVISIONED", "provisioned": {"read": 5, "write": 50}},
    )
    played = Played(made).play(lambda _second: 0, 400)
    assert played.model.capacity.on_demand
    assert played.model.warm_throughput()[1] == 20_000
    assert played.model.partition_count() >= 20
    played = Played(made).play(lambda _second: 0, 1_200)
    assert (played.model.capacity.billing_mode, played.write) == ("PROVISIONED", 50)
    assert [event.what for event in played.timeline.log] == [
        "billing_mode", "warm.write", "max_on_demand.write", "billing_mode", "provisioned.read",
        "provisioned.write",
    ]  # fmt: skip
    assert all(event.in_force_s is not None for event in played.timeline.log)


TO_AND_FRO = [
    {"at_s": 10 * n + 5 * back, "billing_mode": "PROVISIONED", "provisioned": {"read": 5, "write": 90}}
    if back
    else {"at_s": 10 * n, "billing_mode": "PAY_PER_REQUEST"}
    for n in range(5)
    for back in (0, 1)
]


@pytest.mark.parametrize(
    ("steps", "refused"),
    [
        ([{"at_s": 1, "provisioned": {"write": 90}}, {"at_s": 2, "provisioned": {"write": 90}}],
         ["it changes nothing"]),
        ([{"at_s": 1, "provisioned": {"write": 900}}, {"at_s": 2, "warm": {"write": 1}}],
         ["warm throughput never falls, and warm.write is 900"]),
        ([{"at_s": 10 + n, "provisioned": {"write": 90 - n}} for n in range(5)],
         ["4 decreases today: the next one is allowed 3,613 s into the run"]),
        (TO_AND_FRO[:-1], ["the table was made on demand, or went to that mode, 4 times within a day"]),
    ],
)  # fmt: skip
def test_update_table_refuses_what_dynamodb_does(steps: list[dict[str, Any]], refused: list[str]) -> None:
    played = Played(scenario(*steps, update_s=0)).play(lambda _second: 0, 60)
    wrong = [event for event in played.timeline.log if event.refused]
    assert [event.refused for event in wrong] == refused
    assert all(event.in_force_s is None for event in wrong)
    assert played.write in (87, 90, 900), "what is refused changes nothing"


def test_an_index_is_scaled_by_itself() -> None:
    index = {"name": "by-day", "partition_key": "day", "provisioned": {"read": 5, "write": 400}, **scaled()}
    played = Played(scenario(indexes=[index]))
    for second in range(3_600):
        now_s = START_S + second
        played.timeline(played.model, now_s)
        played.model.resource("by-day").write.meter.accepted(35.0, now_s)
    (event,) = played.timeline.log
    assert (event.index, event.what, event.after) == ("by-day", "provisioned.write", 50)
    assert 900 + DEFAULT.alarm_delay_s[0] <= event.at_s <= 960 + DEFAULT.alarm_delay_s[1]
    assert played.model.capacity.parts["by-day"].provisioned == Capacity(5, 50)
    assert played.write == 100


def test_the_same_seed_changes_capacity_at_the_same_moments() -> None:
    made = scenario({"at_s": 60, "provisioned": {"write": 3_000}})
    first, second, other = (
        Played(made, seed).play(lambda _second: 0, 900).timeline.log for seed in (7, 7, 8)
    )
    assert first == second != other
