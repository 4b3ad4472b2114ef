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

While an UpdateTable is under way, the old capacity holds and no other change is accepted; pre-warming alone
does not block other changes. AWS publishes only rough durations: see `Behaviour`. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from random import Random
from typing import Any, Final, TypeVar

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import (
    NO_THROUGHPUT,
    ON_DEMAND_START,
    BillingMode,
    CapacityHistory,
    IndexCapacity,
    TableCapacity,
    decreased,
    highest,
    next_decrease_s,
    recent_switches_s,
    switches_to_on_demand,
    switches_to_provisioned,
)
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
from keyheat.words import Capacity, Direction

PAIRS: Final = ("provisioned", "max_on_demand", "warm")
TIMELINE: Final = "timeline"
AUTO_SCALING: Final = "auto scaling"
Part = TypeVar("Part", TableCapacity, IndexCapacity)


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


def _rates(stated: TableSpec | IndexSpec | ChangeSpec | None) -> dict[str, Capacity]:
    return {name: pair.rates for name in PAIRS if (pair := getattr(stated, name, None)) is not None}


def applied(before: TableCapacity, steps: Sequence[ChangeSpec]) -> TableCapacity:
    """The capacity after one UpdateTable of these steps; what they do not name stays as it is."""
    mode = next((step.billing_mode for step in steps if step.billing_mode), before.billing_mode)
    step_of = {step.index: step for step in steps}
    indexes = tuple(_changed(index, step_of.get(index.name), mode) for index in before.indexes)
    return replace(_changed(before, step_of.get(None), mode), billing_mode=mode, indexes=indexes)


def _changed(before: Part, step: ChangeSpec | None, mode: BillingMode) -> Part:
    """The table or an index after its step; a mode has no use for the other one's rates."""
    rates = _rates(step)

    def merged(name: str) -> Capacity | None:
        was: Capacity | None = getattr(before, name)
        if (new := rates.get(name)) is None:
            return was
        old = was or NO_THROUGHPUT
        return Capacity(*(old.of(side) if new.of(side) is None else new.of(side) for side in Direction))

    return replace(
        before,
        provisioned=merged("provisioned") if mode == "PROVISIONED" else None,
        max_on_demand=merged("max_on_demand") if mode == "PAY_PER_REQUEST" else None,
        warm=highest(before.warm or NO_THROUGHPUT, rates["warm"]) if "warm" in rates else before.warm,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One change of capacity while a load runs: when it was requested, by whom, and when it took effect."""

    at_s: float  # seconds into the run when UpdateTable was asked
    by: str  # TIMELINE or AUTO_SCALING
    index: str | None  # None: the table itself
    what: str  # "provisioned.write", "billing_mode", "max_on_demand.read", "warm.write" ...
    before: float | str | None
    after: float | str | None
    in_force_s: float | None = None  # seconds into the run from which it held; None: not until the run's end
    because: str | None = None  # the numbers that auto scaling went by
    refused: str | None = None  # why UpdateTable said no; then nothing changed

    def to_json(self) -> dict[str, Any]:
        """The event as `run.json` keeps it, in `timeline`."""
        return {
            "at_s": round(self.at_s, 3),
            "by": self.by,
            "index": self.index,
            "what": self.what,
            "from": self.before,
            "to": self.after,
            "in_force_s": None if self.in_force_s is None else round(self.in_force_s, 3),
            "because": self.because,
            "refused": self.refused,
        }


def events_of(before: TableCapacity, steps: Sequence[ChangeSpec], **about: Any) -> Iterator[TimelineEvent]:
    """An event for each field that a request names; `before` is the table as described."""
    for step in steps:
        if step.billing_mode is not None:
            yield TimelineEvent(
                index=None, what="billing_mode", before=before.billing_mode, after=step.billing_mode, **about
            )
        for name in PAIRS:
            old: Capacity = getattr(before.parts[step.index], name) or NO_THROUGHPUT
            new: CapacityPair | None = getattr(step, name)
            for side in Direction if new is not None else ():
                units: int | None = getattr(new, side)
                if units is not None:
                    what = f"{name}.{side}"
                    yield TimelineEvent(
                        index=step.index, what=what, before=old.of(side), after=units, **about
                    )


def only_warms(steps: Sequence[ChangeSpec]) -> bool:
    """Return whether a request only pre-warms, which disturbs no other change."""
    return not any(step.billing_mode or step.provisioned or step.max_on_demand for step in steps)


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
    seen = [units for units in minutes[-limits.SCALE_OUT_MINUTES :] if units is not None]
    if len(seen) == limits.SCALE_OUT_MINUTES and min(seen) > spec.target * provisioned:
        units = min(spec.max, ceil(seen[-1] / spec.target))
        shares = " and ".join(f"{100 * units / provisioned:.0f} %" for units in seen)
        because = f"{shares} used in two minutes on end, target {100 * spec.target:.0f} %"
        return ScalingTarget(units, because) if units > provisioned else None
    seen = [units for units in minutes[-limits.SCALE_IN_MINUTES :] if units is not None]
    low = spec.target - limits.SCALE_IN_BELOW
    if not spec.scale_in or len(seen) < limits.SCALE_IN_MINUTES or max(seen) >= low * provisioned:
        return None
    units, most = max(spec.min, ceil(max(seen) / spec.target)), 100 * max(seen) / provisioned
    because = f"at most {most:.0f} % used in {len(seen)} minutes on end, below {100 * low:.0f} %"
    return ScalingTarget(units, because) if units < provisioned else None


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
    asked: float = 0.0  # units that its request under way adds, or takes away below zero
    added: float = 0.0  # by the addition whose cooldown is going on
    refused: bool = False  # whether its last request was, which is logged once

    def look(self, minutes: Sequence[float | None], provisioned: float, now_s: float) -> ScalingTarget | None:
        """Return what to request now. During the cooldown of an addition only a larger one is made."""
        target = scale_to(self.spec, minutes, provisioned)
        if target is None:
            return None
        more = target.units - provisioned
        if more > 0:
            return target if now_s >= self.out_until_s or more > self.added else None
        return target if now_s >= self.in_until_s else None

    def changed(self, in_force_s: float) -> None:
        """What it asked for is in force."""
        if self.asked > 0:
            self.added, self.out_until_s = self.asked, in_force_s + self.spec.scale_out_cooldown_s
            self.in_until_s = -inf  # an addition ends the cooldown of a reduction
        else:
            self.in_until_s = in_force_s + self.spec.scale_in_cooldown_s


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that was accepted, and is not in force yet."""

    steps: Sequence[ChangeSpec]
    ends_s: float
    events: range  # which lines of the log it is
    scaler: Scaler | None  # that asked for it


class CapacityTimeline:
    """Changes the capacity of the scenario's own table: called with it at the start of every second.

    Steps of the scenario come first, in their order; one whose moment has come waits while the table is
    UPDATING, as a script would that waits for the table to be ACTIVE. Auto scaling then sees each minute some
    time after its end, and asks again a minute later where it could not ask.
    """

    def __init__(
        self, scenario: Scenario, *, started_s: float, seed: int, behaviour: Behaviour = DEFAULT
    ) -> None:
        self.log: list[TimelineEvent] = []
        """All requests so far, in order of time, with their results."""
        self._rng = Random(f"timeline {seed}")
        self._started_s, self._local, self._behaviour = started_s, scenario.local, behaviour
        self._requests = deque(requests_of(scenario.timeline))
        table = scenario.table
        owners = [(None, table.auto_scaling), *((index.name, index.auto_scaling) for index in table.indexes)]
        self._scalers = [
            Scaler(index, Direction(side), spec, self._rng.uniform(*behaviour.alarm_delay_s))
            for index, scaling in owners
            if scaling is not None
            for side, spec in scaling.sides().items()
        ]
        self._history = CapacityHistory.of_new(capacity_of(table), started_s)
        self._change: _Change | None = None  # under way; the table is ACTIVE without one
        self._warming: list[_Change] = []

    def __call__(self, model: TableModel, now_s: float) -> None:
        """Do what is due at `now_s` (epoch seconds)."""
        for change in [*self._warming, *([self._change] if self._change else [])]:
            if now_s >= change.ends_s:
                self._put_into_force(model, change, now_s)
        while self._requests and self._started_s + self._requests[0][0] <= now_s:
            at_s, steps = self._requests[0]
            if self._change is not None and not only_warms(steps):
                break
            self._requests.popleft()
            late_s = now_s - self._started_s - at_s
            waited = f"due at {at_s:g} s, while the table was UPDATING" if late_s >= 1 else None
            self._ask(model, steps, now_s, waited)
        for scaler in self._scalers:
            minute = int((now_s - scaler.delay_s) // limits.MINUTE_S) - 1
            if minute > scaler.seen:  # its data point has arrived
                scaler.seen = minute
                if self._change is None and not model.capacity.on_demand:
                    self._scale(scaler, model, now_s)

    def _scale(self, scaler: Scaler, model: TableModel, now_s: float) -> None:
        pair = model.capacity.parts[scaler.index].provisioned
        provisioned = None if pair is None else pair.of(scaler.side)
        assert provisioned is not None, "a provisioned table has both"
        target = scaler.look(self._minutes(model, scaler), provisioned, now_s)
        if target is not None:
            units = CapacityPair(**{scaler.side.value: target.units})
            step = ChangeSpec(at_s=now_s - self._started_s, index=scaler.index, provisioned=units)
            scaler.asked = target.units - provisioned
            self._ask(model, [step], now_s, target.because, scaler)

    def _minutes(self, model: TableModel, scaler: Scaler) -> list[float | None]:
        """Consumed units per second, before `scale`, of the minutes that its alarms look at."""
        began = int(-(-self._started_s // limits.MINUTE_S))
        resource = model.resource(scaler.index)
        meter = resource.read.meter if scaler.side is Direction.READ else resource.write.meter
        tallies = meter.consumed_by_minute()
        return [
            tallies[minute].sum / limits.MINUTE_S / self._local.scale if minute in tallies else None
            for minute in range(max(began, scaler.seen - limits.SCALE_IN_MINUTES + 1), scaler.seen + 1)
        ]

    def _ask(
        self,
        model: TableModel,
        steps: Sequence[ChangeSpec],
        now_s: float,
        because: str | None,
        scaler: Scaler | None = None,
    ) -> None:
        """UpdateTable of these steps, which are of one moment; the table is ACTIVE, or they only pre-warm.

        A refusal changes nothing. It is logged; that of a scaler once, and it is tried again every minute.
        """
        before = _described(model)
        after, first = applied(before, steps), len(self.log)
        by = TIMELINE if scaler is None else AUTO_SCALING
        events = list(events_of(before, steps, at_s=now_s - self._started_s, by=by, because=because))
        refused = self._refusal(before, after, events, now_s)
        again = scaler is not None and scaler.refused
        if scaler is not None:
            scaler.refused = refused is not None
        if refused is not None:
            self.log += [] if again else [replace(event, refused=refused) for event in events]
            return
        self.log += [event for event in events if event.before != event.after]
        self._history.note(before, after, now_s)
        ends_s = now_s + self._takes_s(before, after)
        change = _Change(steps, ends_s, range(first, len(self.log)), scaler)
        if only_warms(steps):
            self._warming.append(change)
        else:
            self._change = change
        if ends_s <= now_s:
            self._put_into_force(model, change, now_s)

    def _refusal(
        self, before: TableCapacity, after: TableCapacity, events: Sequence[TimelineEvent], now_s: float
    ) -> str | None:
        """Why UpdateTable says no; None where it does not."""
        for event in (event for event in events if event.what.startswith("warm.")):
            was, new = event.before, event.after
            if isinstance(was, int | float) and isinstance(new, int) and new < was:
                whose = "" if event.index is None else f" of index {event.index}"
                return f"warm throughput never falls, and {event.what}{whose} is {was:,.0f}"
        if before == after:
            return "it changes nothing"
        if switches_to_on_demand(before, after):
            recent = recent_switches_s(self._history.to_on_demand_s, now_s)
            if len(recent) >= limits.ON_DEMAND_SWITCHES:
                return f"the table was made on demand, or went to that mode, {len(recent)} times within a day"
        for index in decreased(before, after):
            today = self._history.of(index).decreases_today(now_s)
            if (next_s := next_decrease_s(today, now_s)) > now_s:
                allowed = f"the next one is allowed {next_s - self._started_s:,.0f} s into the run"
                return f"{len(today)} decreases today: {allowed}"
        return None

    def _takes_s(self, before: TableCapacity, after: TableCapacity) -> float:
        """How long it takes: seconds where nothing gets more than it can serve at once, else minutes."""
        if self._local.update_s is not None:
            return self._local.update_s
        start = ON_DEMAND_START if switches_to_on_demand(before, after) else None
        outgrows = any(
            (pair.of(side) or 0) > ((before.parts[name].warm or NO_THROUGHPUT).of(side) or 0)
            for name, resource in after.parts.items()
            for pair in (resource.provisioned, resource.warm, start)
            if pair is not None
            for side in Direction
        )
        slow = switches_to_provisioned(before, after) or outgrows
        return self._rng.uniform(*(self._behaviour.update_s if slow else self._behaviour.update_warm_s))

    def _put_into_force(self, model: TableModel, change: _Change, now_s: float) -> None:
        if change is self._change:
            self._change = None
        else:
            self._warming.remove(change)
        model.change_capacity(applied(model.capacity, change.steps), now_s)
        for number in change.events:
            self.log[number] = replace(self.log[number], in_force_s=now_s - self._started_s)
        if change.scaler is not None:
            change.scaler.changed(now_s)


def _described(model: TableModel) -> TableCapacity:
    """The capacity as DescribeTable shows it: with the warm throughput that the table has come to."""
    capacity = model.capacity
    return replace(
        capacity,
        warm=Capacity(*model.warm_throughput()),
        indexes=tuple(
            replace(index, warm=Capacity(*model.warm_throughput(index.name))) for index in capacity.indexes
        ),
    )
