"""How often UpdateTable may be asked: decreases of provisioned capacity, and switches to on-demand mode.

Decreases are limited for the table and each index by itself. Making a table on demand counts as a switch:
asked again and again within a day, one made provisioned went to on-demand mode four times, and one made on
demand three times (github.com/radkawar/stackd, testdata/aws/dynamodb/billing_mode_limits.json). Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from keyheat.model import limits
from keyheat.words import Capacity

if TYPE_CHECKING:
    from keyheat.model.resources import TableCapacity

DAY_S: Final = 86_400


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

    @classmethod
    def of_new(cls, capacity: "TableCapacity", now_s: float) -> "CapacityHistory":
        """That of a table that is created at `now_s`."""
        return cls(to_on_demand_s=[now_s] if capacity.on_demand else [])

    def of(self, index: str | None) -> ResourceHistory:
        """The changes of the table itself (None) or of one index."""
        return self.resources.setdefault(index, ResourceHistory())

    def note(self, before: "TableCapacity", after: "TableCapacity", now_s: float) -> None:
        """Keep a change that was accepted at `now_s`."""
        for index, old, new in provisioned_changes(before, after):
            if below(new, old):
                self.of(index).decreases_s.append(now_s)
            if below(old, new):
                self.of(index).last_increase_s = now_s
        if switches_to_on_demand(before, after):
            self.to_on_demand_s.append(now_s)


def decreased(before: "TableCapacity", after: "TableCapacity") -> list[str | None]:
    """The resources whose provisioned reads or writes would go down; None is the table itself."""
    return [index for index, old, new in provisioned_changes(before, after) if below(new, old)]


def switches_to_on_demand(before: "TableCapacity", after: "TableCapacity") -> bool:
    """Whether a provisioned table would become an on-demand one: that is limited, the way back is not."""
    return after.on_demand and not before.on_demand


def switches_to_provisioned(before: "TableCapacity", after: "TableCapacity") -> bool:
    """Whether an on-demand table would become a provisioned one."""
    return before.on_demand and not after.on_demand


def provisioned_changes(
    before: "TableCapacity", after: "TableCapacity"
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
    """The switches to on-demand mode that count against the limit at `now_s`: those of the last 24 hours, and
    the table's creation on demand, if it is among them."""
    return [at_s for at_s in to_on_demand_s if at_s > now_s - limits.ON_DEMAND_SWITCH_WINDOW_S]
