"""UpdateTable on a simulated table: accepted or refused at once, in force after a while.

While a change is under way, the old capacity holds and no other change is accepted; pre-warming alone does
not block other changes. AWS publishes only rough durations: see `Behaviour`. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from keyheat.model import limits
from keyheat.model.behaviour import Behaviour
from keyheat.model.resources import (
    NO_THROUGHPUT,
    ON_DEMAND_START,
    CapacityHistory,
    TableCapacity,
    decreased,
    next_decrease_s,
    recent_switches_s,
    switches_to_on_demand,
    switches_to_provisioned,
)
from keyheat.model.table import TableModel
from keyheat.scenario.changes import TimelineEvent, applied, changed_fields, events_of, only_warms
from keyheat.scenario.spec.tables import ChangeSpec
from keyheat.words import Capacity, Direction

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
