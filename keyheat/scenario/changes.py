"""Changes of a table's capacity by a scenario's timeline: requests to UpdateTable, and their results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from keyheat.model.resources import NO_THROUGHPUT, BillingMode, IndexCapacity, TableCapacity, highest
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
