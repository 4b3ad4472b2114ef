"""The words that model, endpoint and analyzer share: resource, direction, cause, and a table's capacity."""

from collections.abc import Mapping
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
        """What labels call it."""
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
    found: dict[str, Capacity | None] = {}
    for name, (member, *sides) in CAPACITIES.items():
        pair = owner.get(member) or {}
        rates = [value if (value := pair.get(side)) and value > 0 else None for side in sides]
        found[name] = Capacity(*rates) if any(rates) else None
    return found


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
        """Whether requests are paid for one by one instead of capacity per hour."""
        return self.billing_mode == "PAY_PER_REQUEST"

    @property
    def parts(self) -> "Mapping[str | None, TableCapacity | IndexCapacity]":
        """The table itself (None), and its global indexes by name."""
        return {None: self, **{index.name: index for index in self.indexes}}


def highest(one: Capacity, other: Capacity) -> Capacity:
    """The higher rate of each direction; an unknown side yields to a known one."""
    return Capacity(_higher(one.read, other.read), _higher(one.write, other.write))


def _higher(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
