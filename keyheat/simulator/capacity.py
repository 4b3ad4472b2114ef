r"""The capacity of a simulated table: what it starts with, its timeline, and auto scaling.

    utilisation
    100 % |        ____                consumed / provisioned, minute by minute
          |    __ /    \
     70 % |---/-----------\--- target: above it for 2 minutes on end -> more capacity
          |__/             \
     50 % |-----------------\- target - 20 points: below it for 15 minutes on end -> less
          |                  \______

The new capacity is the one at which the consumption would be the target again. Throttled requests consume
nothing, so a table that throttles is given at most 1 / target of what it has, step by step. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/AutoScaling.html (the two minutes and the
fifteen), https://repost.aws/knowledge-center/dynamodb-auto-scaling (the 20 points) and
https://docs.aws.amazon.com/autoscaling/application/APIReference/API_TargetTrackingScalingPolicyConfiguration.html
(cooldowns). AWS does not publish the sum: that adding goes by the last minute, and taking away by the highest
of the fifteen, is our reading.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import CapacityHistory, IndexCapacity, TableCapacity
from keyheat.model.table import TableModel
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import (
    CapacityPair,
    ChangeSpec,
    IndexSpec,
    ScalingSpec,
    TableSpec,
    requests_of,
)
from keyheat.simulator.updates import AUTO_SCALING, PAIRS, TIMELINE, TimelineEvent, Updating, only_warms
from keyheat.words import Capacity, Direction


def capacity_of(table: TableSpec) -> TableCapacity:
    """The capacity of a table to be created and of its global indexes; a local index has none of its own."""
    return TableCapacity(
        billing_mode=table.billing_mode,
        indexes=tuple(
            IndexCapacity(name=index.name, **_rates(index)) for index in table.indexes if not index.local
        ),
        has_lsi=any(index.local for index in table.indexes),
        **_rates(table),
    )


def _rates(owner: TableSpec | IndexSpec) -> dict[str, Capacity]:
    stated: dict[str, CapacityPair | None] = {name: getattr(owner, name) for name in PAIRS}
    return {name: pair.rates for name, pair in stated.items() if pair is not None}


@dataclass(frozen=True, slots=True)
class ScalingTarget:
    """The capacity that auto scaling requests, units per second, and its reason."""

    units: int
    because: str


def scale_to(spec: ScalingSpec, minutes: Sequence[float | None], provisioned: float) -> ScalingTarget | None:
    """Return what auto scaling would request after these minutes; None if no alarm is raised.

    `minutes` are consumed units per second, the latest last; None where nothing was consumed, for then there
    is no data, and a table without any traffic is not scaled in.
    """
    return _out(spec, minutes[-limits.SCALE_OUT_MINUTES :], provisioned) or _in(
        spec, minutes[-limits.SCALE_IN_MINUTES :], provisioned
    )


def _out(spec: ScalingSpec, minutes: Sequence[float | None], provisioned: float) -> ScalingTarget | None:
    seen = [units for units in minutes if units is not None]
    if len(seen) < limits.SCALE_OUT_MINUTES or min(seen) <= spec.target * provisioned:
        return None
    units = min(spec.max, math.ceil(seen[-1] / spec.target))
    if units <= provisioned:
        return None
    shares = " and ".join(f"{100 * units / provisioned:.0f} %" for units in seen)
    return ScalingTarget(units, f"{shares} used in two minutes on end, target {100 * spec.target:.0f} %")


def _in(spec: ScalingSpec, minutes: Sequence[float | None], provisioned: float) -> ScalingTarget | None:
    seen = [units for units in minutes if units is not None]
    low = spec.target - limits.SCALE_IN_BELOW
    if not spec.scale_in or len(seen) < limits.SCALE_IN_MINUTES or max(seen) >= low * provisioned:
        return None
    units = max(spec.min, math.ceil(max(seen) / spec.target))
    if units >= provisioned:
        return None
    most = 100 * max(seen) / provisioned
    return ScalingTarget(
        units, f"at most {most:.0f} % used in {len(seen)} minutes on end, below {100 * low:.0f} %"
    )


@dataclass(slots=True)
class Scaler:
    """One scaling policy at work: which minutes it has seen, and which cooldown it is in.

    `delay_s` is how long after the end of a minute its alarms act on it. Times are epoch seconds.
    """

    index: str | None
    side: Direction
    spec: ScalingSpec
    delay_s: float
    seen: int = -1  # the latest minute since the epoch that it has looked at
    out_until_s: float = -inf
    in_until_s: float = -inf
    added: float = field(default=0.0)  # by the addition whose cooldown is going on
    refused: bool = False  # whether its last request was, which is logged once

    def newly_seen(self, now_s: float) -> int | None:
        """Return the latest minute whose data point has arrived, if it is a new one."""
        minute = int((now_s - self.delay_s) // limits.MINUTE_S) - 1
        if minute <= self.seen:
            return None
        self.seen = minute
        return minute

    def look(self, minutes: Sequence[float | None], provisioned: float, now_s: float) -> ScalingTarget | None:
        """Return what to request now. During the cooldown of an addition only a larger one is made."""
        target = scale_to(self.spec, minutes, provisioned)
        if target is None:
            return None
        more = target.units - provisioned
        if more > 0:
            return target if now_s >= self.out_until_s or more > self.added else None
        return target if now_s >= self.in_until_s else None

    def changed(self, more: float, in_force_s: float) -> None:
        """Its request is in force: `more` units were added, or taken away where that is below zero."""
        if more > 0:
            self.added, self.out_until_s = more, in_force_s + self.spec.scale_out_cooldown_s
            self.in_until_s = -inf  # an addition ends the cooldown of a reduction
        else:
            self.in_until_s = in_force_s + self.spec.scale_in_cooldown_s


class CapacityTimeline:
    """Changes the capacity of the scenario's own table: called with it at the start of every second.

    Steps of the scenario come first, in their order; one whose moment has come waits while the table is
    UPDATING, as a script would that waits for the table to be ACTIVE. Auto scaling then sees each minute some
    time after its end, and asks again a minute later where it could not ask.
    """

    __slots__ = ("_requests", "_scale", "_scalers", "_started_s", "_updating")

    def __init__(
        self, scenario: Scenario, *, started_s: float, seed: int, behaviour: Behaviour = DEFAULT
    ) -> None:
        rng = Random(f"timeline {seed}")
        self._started_s = started_s
        self._scale = scenario.local.scale
        self._requests = deque(requests_of(scenario.timeline))
        self._scalers = _scalers(scenario, behaviour, rng)
        self._updating = Updating(
            started_s=started_s,
            behaviour=behaviour,
            rng=rng,
            update_s=scenario.local.update_s,
            history=CapacityHistory.of_new(capacity_of(scenario.table), started_s),
        )

    @property
    def log(self) -> tuple[TimelineEvent, ...]:
        """All requests so far, in order of time, with their results."""
        return tuple(self._updating.log)

    def __call__(self, model: TableModel, now_s: float) -> None:
        """Do what is due at `now_s` (epoch seconds)."""
        self._updating.settle(model, now_s)
        self._ask_due_steps(model, now_s)
        for scaler in self._scalers:
            self._scale_one(scaler, model, now_s)

    def _ask_due_steps(self, model: TableModel, now_s: float) -> None:
        while self._requests and self._started_s + self._requests[0][0] <= now_s:
            at_s, steps = self._requests[0]
            if not (self._updating.idle or only_warms(steps)):
                return
            self._requests.popleft()
            late_s = now_s - self._started_s - at_s
            waited = f"due at {at_s:g} s, while the table was UPDATING" if late_s >= 1 else None
            self._updating.ask(model, steps, now_s, by=TIMELINE, because=waited)

    def _scale_one(self, scaler: Scaler, model: TableModel, now_s: float) -> None:
        minute = scaler.newly_seen(now_s)
        if minute is None or not self._updating.idle or model.capacity.on_demand:
            return
        pair = model.capacity.parts[scaler.index].provisioned
        provisioned = None if pair is None else pair.of(scaler.side)
        assert provisioned is not None, "a provisioned table has both"
        minutes = self._minutes(model, scaler, minute)
        target = scaler.look(minutes, provisioned, now_s)
        if target is not None:
            self._ask_for(scaler, model, target, provisioned, now_s)

    def _ask_for(
        self, scaler: Scaler, model: TableModel, target: ScalingTarget, provisioned: float, now_s: float
    ) -> None:
        pair = CapacityPair(**{scaler.side.value: target.units})
        step = ChangeSpec(at_s=now_s - self._started_s, index=scaler.index, provisioned=pair)
        refused = self._updating.refusal(model, [step], now_s) is not None
        if not (refused and scaler.refused):  # logged once, tried every minute
            self._updating.ask(
                model,
                [step],
                now_s,
                by=AUTO_SCALING,
                because=target.because,
                done=lambda in_force_s: scaler.changed(target.units - provisioned, in_force_s),
            )
        scaler.refused = refused

    def _minutes(self, model: TableModel, scaler: Scaler, last: int) -> list[float | None]:
        """Consumed units per second, before `scale`, of the minutes that its alarms look at."""
        began = int(-(-self._started_s // limits.MINUTE_S))
        resource = model.resource(scaler.index)
        meter = resource.read.meter if scaler.side is Direction.READ else resource.write.meter
        tallies = meter.consumed_by_minute()
        return [
            tallies[minute].sum / limits.MINUTE_S / self._scale if minute in tallies else None
            for minute in range(max(began, last - limits.SCALE_IN_MINUTES + 1), last + 1)
        ]


def _scalers(scenario: Scenario, behaviour: Behaviour, rng: Random) -> tuple[Scaler, ...]:
    table = scenario.table
    owners = [(None, table.auto_scaling), *((index.name, index.auto_scaling) for index in table.indexes)]
    return tuple(
        Scaler(index, Direction(side), spec, rng.uniform(*behaviour.alarm_delay_s))
        for index, scaling in owners
        if scaling is not None
        for side, spec in scaling.sides().items()
    )
