"""Changes of a table's capacity: what UpdateTable is asked, how often it may be, and what came of it.

DynamoDB limits decreases of provisioned capacity, for the table and each index by itself, and switches to
on-demand mode. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from keyheat.model import limits
from keyheat.model.resources import NO_THROUGHPUT, BillingMode, IndexCapacity, TableCapacity, highest
from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec
from keyheat.words import Capacity, Direction

DAY_S: Final = 86_400
PAIRS: Final = ("provisioned", "max_on_demand", "warm")
TIMELINE: Final = "timeline"
AUTO_SCALING: Final = "auto scaling"


@dataclass(slots=True)
class ResourceHistory:
    """When the capacity of the table, or of one index, went up and down; epoch seconds."""

    decreases_s: list[float] = field(default_factory=list)
    last_increase_s: float | None = None

    def decreases_today(self, now_s: float) -> list[float]:
        """The decreases since 00:00 UTC."""
        midnight_s = now_s // DAY_S * DAY_S
        return [at_s for at_s in self.decreases_s if at_s >= midnight_s]


@dataclass(slots=True)
class CapacityHistory:
    """The changes of one table. Key None is the table itself, others are its global indexes."""

    resources: dict[str | None, ResourceHistory] = field(default_factory=dict)
    to_on_demand_s: list[float] = field(default_factory=list)

    def of(self, index: str | None) -> ResourceHistory:
        """The changes of the table itself (None) or of one index."""
        return self.resources.setdefault(index, ResourceHistory())

    def note(self, before: TableCapacity, after: TableCapacity, now_s: float) -> None:
        """Keep a change that was accepted at `now_s`."""
        for index, old, new in provisioned_changes(before, after):
            if below(new, old):
                self.of(index).decreases_s.append(now_s)
            if below(old, new):
                self.of(index).last_increase_s = now_s
        if switches_to_on_demand(before, after):
            self.to_on_demand_s.append(now_s)


def decreased(before: TableCapacity, after: TableCapacity) -> list[str | None]:
    """The resources whose provisioned reads or writes would go down; None is the table itself."""
    return [index for index, old, new in provisioned_changes(before, after) if below(new, old)]


def switches_to_on_demand(before: TableCapacity, after: TableCapacity) -> bool:
    """Whether a provisioned table would become an on-demand one: that is limited, the way back is not."""
    return after.on_demand and not before.on_demand


def provisioned_changes(
    before: TableCapacity, after: TableCapacity
) -> list[tuple[str | None, Capacity, Capacity]]:
    """The resources that have provisioned throughput before and after, with both."""
    old = {index: part.provisioned for index, part in before.parts.items()}
    return [
        (index, was, part.provisioned)
        for index, part in after.parts.items()
        if part.provisioned is not None and (was := old.get(index)) is not None
    ]


def below(one: Capacity, other: Capacity) -> bool:
    """Whether `one` has less than `other` of reads, of writes or of both."""
    return (one.read or 0) < (other.read or 0) or (one.write or 0) < (other.write or 0)


def next_decrease_s(today: Sequence[float], now_s: float) -> float:
    """When the next decrease is allowed, epoch seconds; `now_s` if it is now.

    Four at any time of a UTC day; after those, one whenever there was none in the hour before: 27 at most.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    if len(today) < limits.DECREASES_FIRST_HOUR:
        return now_s
    if len(today) >= limits.DECREASES_PER_DAY:
        return (now_s // DAY_S + 1) * DAY_S
    return max(now_s, today[-1] + limits.DECREASE_SPACING_S)


def recent_switches_s(to_on_demand_s: Sequence[float], now_s: float) -> list[float]:
    """The switches to on-demand mode that count against the limit at `now_s`: those of the last 24 hours."""
    return [at_s for at_s in to_on_demand_s if at_s > now_s - limits.ON_DEMAND_SWITCH_WINDOW_S]


def applied(before: TableCapacity, steps: Sequence[ChangeSpec]) -> TableCapacity:
    """The capacity after one UpdateTable of these steps; what they do not name stays as it is."""
    mode = next((step.billing_mode for step in steps if step.billing_mode), before.billing_mode)
    asked = {step.index: step for step in steps}
    provisioned, maximum, warm = _pairs(before, asked.get(None), mode)
    return replace(
        before,
        billing_mode=mode,
        provisioned=provisioned,
        max_on_demand=maximum,
        warm=warm,
        indexes=tuple(_applied_to(index, asked.get(index.name), mode) for index in before.indexes),
    )


def _applied_to(before: IndexCapacity, step: ChangeSpec | None, mode: BillingMode) -> IndexCapacity:
    provisioned, maximum, warm = _pairs(before, step, mode)
    return replace(before, provisioned=provisioned, max_on_demand=maximum, warm=warm)


def _pairs(
    own: TableCapacity | IndexCapacity, step: ChangeSpec | None, mode: BillingMode
) -> tuple[Capacity | None, Capacity | None, Capacity | None]:
    """Provisioned throughput, on-demand maximum and warm throughput after a step."""
    provisioned = _merged(own.provisioned, step.provisioned if step else None)
    maximum = _merged(own.max_on_demand, step.max_on_demand if step else None)
    warm = _merged(None, step.warm if step else None)
    return (
        provisioned if mode == "PROVISIONED" else None,
        maximum if mode == "PAY_PER_REQUEST" else None,
        own.warm if warm is None else highest(own.warm or NO_THROUGHPUT, warm),
    )


def _merged(before: Capacity | None, asked: CapacityPair | None) -> Capacity | None:
    if asked is None:
        return before
    was = before or NO_THROUGHPUT
    return Capacity(
        was.read if asked.read is None else asked.read, was.write if asked.write is None else asked.write
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One change of capacity while a load runs: when it was asked, by whom, and when it held."""

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


def only_warms(steps: Sequence[ChangeSpec]) -> bool:
    """Whether a request does nothing but pre-warm, which disturbs no other change."""
    return not any(step.billing_mode or step.provisioned or step.max_on_demand for step in steps)


def asked(
    before: TableCapacity, steps: Sequence[ChangeSpec]
) -> Iterator[tuple[str | None, str, float | str | None, float | str]]:
    """What the steps of one request name: (index, what, from, to); `before` is the table as described."""
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
