"""The words that model, endpoint and analyzer share: resource, direction, cause, and a table's capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from keyheat.model import limits
from keyheat.words import Capacity, Constraint, Direction

BillingMode = Literal["PROVISIONED", "PAY_PER_REQUEST"]


class Cause(StrEnum):
    """What a refused request ran into; the spelling is the tail of DynamoDB's throttling reason."""

    KEY_RANGE = "KeyRangeThroughputExceeded"
    PROVISIONED = "ProvisionedThroughputExceeded"
    ACCOUNT = "AccountLimitExceeded"
    MAX_ON_DEMAND = "MaxOnDemandThroughputExceeded"

    @property
    def constraint(self) -> Constraint:
        return _CONSTRAINTS[self]

    @property
    def metric(self) -> str:
        """The metric that counts it, without its direction.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
        """
        return f"{self.removesuffix('Exceeded')}ThrottleEvents"


_CONSTRAINTS: Final[dict[Cause, Constraint]] = {
    Cause.KEY_RANGE: "partition",
    Cause.PROVISIONED: "table",
    Cause.MAX_ON_DEMAND: "max_on_demand",
    Cause.ACCOUNT: "account",
}
CAUSE_OF_CONSTRAINT: Final = {constraint: cause for cause, constraint in _CONSTRAINTS.items()}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was not admitted.

    `index` names the global secondary index that refused, None where the table itself did. Source:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
    """

    index: str | None
    direction: Direction
    cause: Cause

    @property
    def reason(self) -> str:
        """DynamoDB's own word, one of sixteen, such as `TableWriteKeyRangeThroughputExceeded`."""
        return f"{'Table' if self.index is None else 'Index'}{self.direction.title()}{self.cause}"


_REASONS = {
    Refusal(index, direction, cause).reason: (index is not None, direction, cause)
    for index in (None, "any")
    for direction in Direction
    for cause in Cause
}

REASONS = tuple(_REASONS)
"""All sixteen."""


def parse_reason(reason: str) -> tuple[bool, Direction, Cause] | None:
    """What a throttling reason says: (an index's?, direction, cause). None for a reason we do not know."""
    return _REASONS.get(reason)


CAPACITIES: Final = {
    "provisioned": ("ProvisionedThroughput", "ReadCapacityUnits", "WriteCapacityUnits"),
    "max_on_demand": ("OnDemandThroughput", "MaxReadRequestUnits", "MaxWriteRequestUnits"),
    "warm": ("WarmThroughput", "ReadUnitsPerSecond", "WriteUnitsPerSecond"),
}
"""The capacities of a table or an index, as CreateTable takes them and DescribeTable tells them."""


def capacities_from_aws(owner: Mapping[str, Any]) -> dict[str, Capacity | None]:
    """Those that DescribeTable tells. A rate that is not there is -1 in one place, and 0 in another."""
    capacities: dict[str, Capacity | None] = {}
    for name, (member, *sides) in CAPACITIES.items():
        pair = owner.get(member) or {}
        rates = [value if (value := pair.get(side)) and value > 0 else None for side in sides]
        capacities[name] = Capacity(*rates) if any(rates) else None
    return capacities


def capacities_to_aws(owner: Any) -> dict[str, dict[str, int]]:
    """Those that something states under our names, as CreateTable and UpdateTable take them."""
    stated = {}
    for name, (member, *sides) in CAPACITIES.items():
        pair = getattr(owner, name)
        rates = zip(sides, (pair.read, pair.write), strict=True) if pair else ()
        if units := {side: max(1, round(rate)) for side, rate in rates if rate}:
            stated[member] = units
    return stated


NO_THROUGHPUT = Capacity()
ON_DEMAND_START = Capacity(limits.ON_DEMAND_START_READ, limits.ON_DEMAND_START_WRITE)
TABLE_QUOTA = Capacity(limits.TABLE_READ_UNITS_PER_S, limits.TABLE_WRITE_UNITS_PER_S)


def partition_ceiling(direction: Direction, scale: float = 1.0) -> float:
    """Units per second of one partition, times the scale of a local table."""
    reads = direction is Direction.READ
    return (limits.PARTITION_READ_UNITS_PER_S if reads else limits.PARTITION_WRITE_UNITS_PER_S) * scale


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCapacity:
    """The capacity of one global secondary index, units per second; local indexes have none of their own."""

    name: str
    provisioned: Capacity | None = None
    max_on_demand: Capacity | None = None
    warm: Capacity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCapacity:
    """The capacity of a table and of its global secondary indexes, units per second.

    `provisioned` belongs to PROVISIONED mode, `max_on_demand` to PAY_PER_REQUEST; `warm` is what was asked
    for in advance. `account` is the quota of the table together with its indexes, enforced in on-demand mode.
    """

    billing_mode: BillingMode = "PROVISIONED"
    provisioned: Capacity | None = None
    max_on_demand: Capacity | None = None
    warm: Capacity | None = None
    indexes: tuple[IndexCapacity, ...] = field(default=())
    has_lsi: bool = False
    account: Capacity = TABLE_QUOTA

    @property
    def on_demand(self) -> bool:
        return self.billing_mode == "PAY_PER_REQUEST"

    @property
    def parts(self) -> "Mapping[str | None, TableCapacity | IndexCapacity]":
        """The table itself (None), and its global indexes by name."""
        return {None: self, **{index.name: index for index in self.indexes}}


def highest(first: Capacity, other: Capacity) -> Capacity:
    """The higher rate of each direction; an unknown side yields to a known one."""
    return Capacity(_higher(first.read, other.read), _higher(first.write, other.write))


def _higher(rate: float | None, other_rate: float | None) -> float | None:
    if rate is None or other_rate is None:
        return other_rate if rate is None else rate
    return max(rate, other_rate)


DAY_S: Final = 86_400


@dataclass(slots=True)
class ResourceHistory:
    """When the capacity of the table, or of one index, went up and down; epoch seconds."""

    decreases_s: list[float] = field(default_factory=list)
    last_increase_s: float | None = None

    def decreases_today(self, now_s: float) -> list[float]:
        midnight_s = now_s // DAY_S * DAY_S
        return [at_s for at_s in self.decreases_s if at_s >= midnight_s]


@dataclass(slots=True)
class CapacityHistory:
    """The changes of one table, by which UpdateTable is limited. Key None is the table itself.

    Decreases are limited for the table and each index by itself. Making a table on demand counts as a switch:
    asked again and again within a day, one made provisioned went to on-demand mode four times, and one made
    on demand three times (github.com/radkawar/stackd, testdata/aws/dynamodb/billing_mode_limits.json).
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
    """

    resources: dict[str | None, ResourceHistory] = field(default_factory=dict)
    to_on_demand_s: list[float] = field(default_factory=list)

    @classmethod
    def of_new(cls, capacity: TableCapacity, now_s: float) -> "CapacityHistory":
        return cls(to_on_demand_s=[now_s] if capacity.on_demand else [])

    def of(self, index: str | None) -> ResourceHistory:
        """The changes of the table itself (None) or of one index."""
        return self.resources.setdefault(index, ResourceHistory())

    def note(self, before: TableCapacity, after: TableCapacity, now_s: float) -> None:
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


def switches_to_provisioned(before: TableCapacity, after: TableCapacity) -> bool:
    """Whether an on-demand table would become a provisioned one."""
    return before.on_demand and not after.on_demand


def provisioned_changes(
    before: TableCapacity, after: TableCapacity
) -> list[tuple[str | None, Capacity, Capacity]]:
    """The resources that have provisioned throughput before and after, with both."""
    old = {index: resource.provisioned for index, resource in before.parts.items()}
    return [
        (index, was, resource.provisioned)
        for index, resource in after.parts.items()
        if resource.provisioned is not None and (was := old.get(index)) is not None
    ]


def below(first: Capacity, other: Capacity) -> bool:
    return (first.read or 0) < (other.read or 0) or (first.write or 0) < (other.write or 0)


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
