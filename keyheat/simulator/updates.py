"""UpdateTable on a simulated table: accepted or refused at once, in force after a while.

While a change is under way, the old capacity holds and no other change is accepted; pre-warming alone does
not block other changes. AWS publishes only rough durations: see `Behaviour`. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, TypeVar

from keyheat.model import limits
from keyheat.model.behaviour import Behaviour
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
from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec
from keyheat.words import Capacity, Direction

PAIRS: Final = ("provisioned", "max_on_demand", "warm")
TIMELINE: Final = "timeline"
AUTO_SCALING: Final = "auto scaling"
Part = TypeVar("Part", TableCapacity, IndexCapacity)


def applied(before: TableCapacity, steps: Sequence[ChangeSpec]) -> TableCapacity:
    """The capacity after one UpdateTable of these steps; what they do not name stays as it is."""
    mode = next((step.billing_mode for step in steps if step.billing_mode), before.billing_mode)
    step_of = {step.index: step for step in steps}
    indexes = tuple(_changed(index, step_of.get(index.name), mode) for index in before.indexes)
    return replace(_changed(before, step_of.get(None), mode), billing_mode=mode, indexes=indexes)


def _changed(before: Part, step: ChangeSpec | None, mode: BillingMode) -> Part:
    """The table or an index after its step; a mode has no use for the other one's rates."""
    provisioned = _merged(before.provisioned, step.provisioned if step else None)
    maximum = _merged(before.max_on_demand, step.max_on_demand if step else None)
    warm = _merged(None, step.warm if step else None)
    return replace(
        before,
        provisioned=provisioned if mode == "PROVISIONED" else None,
        max_on_demand=maximum if mode == "PAY_PER_REQUEST" else None,
        warm=before.warm if warm is None else highest(before.warm or NO_THROUGHPUT, warm),
    )


def _merged(before: Capacity | None, change: CapacityPair | None) -> Capacity | None:
    if change is None:
        return before
    was = before or NO_THROUGHPUT
    return Capacity(
        was.read if change.read is None else change.read, was.write if change.write is None else change.write
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


def events_of(before: TableCapacity, steps: Sequence[ChangeSpec], **about: Any) -> list[TimelineEvent]:
    """An event for each field that a request names; `before` is the table as described."""
    return [
        TimelineEvent(index=index, what=what, before=old, after=new, **about)
        for index, what, old, new in changed_fields(before, steps)
    ]


def only_warms(steps: Sequence[ChangeSpec]) -> bool:
    """Return whether a request only pre-warms, which disturbs no other change."""
    return not any(step.billing_mode or step.provisioned or step.max_on_demand for step in steps)


def changed_fields(
    before: TableCapacity, steps: Sequence[ChangeSpec]
) -> Iterator[tuple[str | None, str, float | str | None, float | str]]:
    """List the fields of one request: (index, what, from, to); `before` is the table as described."""
    for step in steps:
        if step.billing_mode is not None:
            yield None, "billing_mode", before.billing_mode, step.billing_mode
        for name in PAIRS:
            old: Capacity = getattr(before.parts[step.index], name) or NO_THROUGHPUT
            new: CapacityPair | None = getattr(step, name)
            for side in Direction if new is not None else ():
                units: int | None = getattr(new, side)
                if units is not None:
                    yield step.index, f"{name}.{side}", old.of(side), units


Done = Callable[[float], None]


def _no_callback(_in_force_s: float) -> None:
    """Nobody waits for the change."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that was accepted, and is not in force yet."""

    steps: tuple[ChangeSpec, ...]
    ends_s: float
    events: range  # which lines of the log it is
    done: Done


@dataclass(slots=True, kw_only=True)
class Updating:
    """What UpdateTable does to one table over a run that started at `started_s` (epoch seconds).

    `update_s`: how long each change takes; None: as `behaviour` says, drawn from `rng`.
    """

    started_s: float
    behaviour: Behaviour
    rng: Random
    update_s: float | None = None
    history: CapacityHistory = field(default_factory=CapacityHistory)
    log: list[TimelineEvent] = field(default_factory=list)
    _change: _Change | None = None
    _warming: list[_Change] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Whether the table is ACTIVE: only then does UpdateTable accept a change of its capacity."""
        return self._change is None

    def settle(self, model: TableModel, now_s: float) -> None:
        """Put into force what has come to its end by now."""
        for change in [*self._warming, *([self._change] if self._change else [])]:
            if now_s >= change.ends_s:
                self._put_into_force(model, change, now_s)

    def refusal(self, model: TableModel, steps: Sequence[ChangeSpec], now_s: float) -> str | None:
        """Why UpdateTable says no to these steps; None where it does not."""
        before = _described(model)
        after = applied(before, steps)
        for index, what, old, new in changed_fields(before, steps):
            if not what.startswith("warm.") or not isinstance(old, int | float):
                continue
            if isinstance(new, int) and new < old:
                whose = "" if index is None else f" of index {index}"
                return f"warm throughput never falls, and {what}{whose} is {old:,.0f}"
        if before == after:
            return "it changes nothing"
        if switches_to_on_demand(before, after):
            recent = recent_switches_s(self.history.to_on_demand_s, now_s)
            if len(recent) >= limits.ON_DEMAND_SWITCHES:
                return f"the table was made on demand, or went to that mode, {len(recent)} times within a day"
        return self._too_many_decreases(before, after, now_s)

    def ask(
        self,
        model: TableModel,
        steps: Sequence[ChangeSpec],
        now_s: float,
        *,
        by: str,
        because: str | None = None,
        done: Done = _no_callback,
    ) -> None:
        """UpdateTable of these steps, which are of one moment; the table is idle, or they only pre-warm.

        `done` is called with the time at which it is in force. A refusal is logged, and changes nothing.
        """
        refused, before = self.refusal(model, steps, now_s), _described(model)
        first, after = len(self.log), applied(before, steps)
        at_s = now_s - self.started_s
        events = events_of(before, steps, at_s=at_s, by=by, because=because, refused=refused)
        self.log += [event for event in events if event.before != event.after or refused]
        if refused is not None:
            return
        self.history.note(before, after, now_s)
        ends_s = now_s + self._takes_s(before, after)
        change = _Change(tuple(steps), ends_s, range(first, len(self.log)), done)
        if only_warms(steps):
            self._warming.append(change)
        else:
            self._change = change
        if ends_s <= now_s:
            self._put_into_force(model, change, now_s)

    def _put_into_force(self, model: TableModel, change: _Change, now_s: float) -> None:
        if change is self._change:
            self._change = None
        else:
            self._warming.remove(change)
        model.change_capacity(applied(model.capacity, change.steps), now_s)
        for number in change.events:
            self.log[number] = replace(self.log[number], in_force_s=now_s - self.started_s)
        change.done(now_s)

    def _takes_s(self, before: TableCapacity, after: TableCapacity) -> float:
        if self.update_s is not None:
            return self.update_s
        slow = switches_to_provisioned(before, after) or _outgrows(before, after)
        return self.rng.uniform(*(self.behaviour.update_s if slow else self.behaviour.update_warm_s))

    def _too_many_decreases(self, before: TableCapacity, after: TableCapacity, now_s: float) -> str | None:
        for index in decreased(before, after):
            today = self.history.of(index).decreases_today(now_s)
            next_s = next_decrease_s(today, now_s)
            if next_s > now_s:
                return (
                    f"{len(today)} decreases today: the next one is allowed "
                    f"{next_s - self.started_s:,.0f} s into the run"
                )
        return None


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


def _outgrows(before: TableCapacity, after: TableCapacity) -> bool:
    """Whether something would be provisioned, be warm, or be on demand beyond what it can serve at once."""
    start = ON_DEMAND_START if switches_to_on_demand(before, after) else None
    for name, resource in after.parts.items():
        ready = before.parts[name].warm or NO_THROUGHPUT
        for pair in (resource.provisioned, resource.warm, start):
            if pair is not None and any((pair.of(side) or 0) > (ready.of(side) or 0) for side in Direction):
                return True
    return False
