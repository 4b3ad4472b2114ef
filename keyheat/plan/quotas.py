"""Limits checked by a scenario's numbers alone: an account's quotas, and a partition's for its hottest key.

Provisioned capacity of a table includes its global indexes; the account's quota covers all provisioned
tables. On demand, the table's quota limits the throughput of the table with its indexes:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import Any, Final, Literal

from keyheat.model import limits
from keyheat.model.resources import NO_THROUGHPUT, ON_DEMAND_START, TABLE_QUOTA, highest
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.part import is_number
from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec, IndexSpec, TableSpec
from keyheat.words import WRITES_FIRST, Capacity, Direction

ON_DEMAND = "PAY_PER_REQUEST"
MOST_SHARDS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCapacity:
    """Capacity of one table (index None) or global index; timeline changes count if they are higher.

    Auto scaling is left out: simulations model it, and a run in AWS does not set it up.
    """

    table: str
    index: str | None
    provisioned: Capacity  # a side is None if not provisioned
    max_on_demand: Capacity
    warm: Capacity
    at_start: Capacity  # available in the new table without pre-warming
    starts_on_demand: bool
    on_demand_from_s: float | None  # seconds into the run; None: never on demand
    divisible: bool  # a split may divide one key's items: it has a sort key and no local index
    kept: bool  # after the run

    @property
    def name(self) -> str:
        """The resource as a phrase, such as `index by_status`."""
        return f"table {self.table}" if self.index is None else f"index {self.index}"


def capacities_of(scenario: Scenario) -> tuple[GivenCapacity, ...]:
    """Every table with its global indexes, the judged table first; local indexes share its capacity."""
    return tuple(
        _capacity_of(table, index, scenario.timeline if table is scenario.table else ())
        for table in (scenario.table, *scenario.companions)
        for index in (None, *(index for index in table.indexes if not index.local))
    )


def _capacity_of(table: TableSpec, index: IndexSpec | None, timeline: Sequence[ChangeSpec]) -> GivenCapacity:
    owner = index or table
    steps = [step for step in timeline if step.index == (index.name if index else None)]
    on_demand = table.billing_mode == ON_DEMAND
    switches = [step.at_s for step in timeline if step.billing_mode == ON_DEMAND]
    return GivenCapacity(
        table=table.name,
        index=index.name if index else None,
        provisioned=_highest_pair([owner.provisioned, *(step.provisioned for step in steps)]),
        max_on_demand=_highest_pair([owner.max_on_demand, *(step.max_on_demand for step in steps)]),
        warm=_highest_pair([owner.warm, *(step.warm for step in steps)]),
        at_start=ON_DEMAND_START if on_demand else _highest_pair([owner.provisioned]),
        starts_on_demand=on_demand,
        on_demand_from_s=0.0 if on_demand else min(switches, default=None),
        divisible=owner.sort_key is not None and not (index is None and any(o.local for o in table.indexes)),
        kept=table.on_end == "keep",
    )


def _highest_pair(pairs: Iterable[CapacityPair | None]) -> Capacity:
    return reduce(highest, (pair.rates for pair in pairs if pair is not None), NO_THROUGHPUT)


A_TABLE, ACCOUNT = "a table", "the account"
RAISED: Final = "raise it in the Service Quotas console (dynamodb), or give the scenario less"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Quotas in units per second; a side is None if unknown."""

    table: Capacity  # of one table with its global indexes
    account: Capacity  # of all provisioned tables of the account, in the region
    source: Literal["default", "account", "unknown"]
    problem: str | None = None  # why they are unknown


DEFAULT_QUOTAS: Final = Quotas(
    table=TABLE_QUOTA,
    account=Capacity(limits.ACCOUNT_READ_UNITS_PER_S, limits.ACCOUNT_WRITE_UNITS_PER_S),
    source="default",
)


def unknown_quotas(problem: str) -> Quotas:
    """Quotas that could not be read, with the reason."""
    return Quotas(table=Capacity(), account=Capacity(), source="unknown", problem=problem)


def quotas_of(answer: Mapping[str, Any]) -> Quotas:
    """Read quotas from a DescribeLimits response:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html
    """
    table, account = _pair(answer, "TableMax"), _pair(answer, "AccountMax")
    if table == account == Capacity():
        return unknown_quotas("DescribeLimits answered without any")
    return Quotas(table=table, account=account, source="account")


def _pair(answer: Mapping[str, Any], prefix: str) -> Capacity:
    values = [answer.get(f"{prefix}{side}CapacityUnits") for side in ("Read", "Write")]
    return Capacity(*(float(value) if is_number(value) and value > 0 else None for value in values))


def over_quota(scenario: Scenario, quotas: Quotas) -> tuple[str, ...]:
    """Sentences on what AWS would refuse to create; empty for unknown quotas.

    A table's quota also limits maxima and warm throughput of each table or index. Other tables of the account
    are not counted: AWS may refuse earlier.
    """
    given, requests = capacities_of(scenario), list[tuple[str, Capacity, str]]()
    for table in dict.fromkeys(resource.table for resource in given):
        of_table = [resource for resource in given if resource.table == table]
        indexes = " with its indexes" if len(of_table) > 1 else ""
        requests.append((f"table {table}{indexes} needs", _together(of_table), A_TABLE))
    requests.append(("the scenario's tables need", _together(given), ACCOUNT))
    for resource in given:
        requests.append((f"{resource.name} needs a maximum of", resource.max_on_demand, A_TABLE))
        requests.append((f"{resource.name} needs warm throughput of", resource.warm, A_TABLE))
    return tuple(
        f"{subject} {units:,.0f} {direction.unit}/s, and the quota of {owner} is {quota:,.0f}: {RAISED}"
        for subject, requested, owner in requests
        for direction in WRITES_FIRST
        if (quota := (quotas.account if owner == ACCOUNT else quotas.table).of(direction)) is not None
        and (units := requested.of(direction) or 0.0) > quota
    )


def _together(given: Sequence[GivenCapacity]) -> Capacity:
    """Provisioned units per second of these tables and indexes together, at their highest."""
    pairs = [resource.provisioned for resource in given]
    return Capacity(sum(pair.read or 0.0 for pair in pairs), sum(pair.write or 0.0 for pair in pairs))


def hottest_shard(scenario: Scenario) -> tuple[Direction, float] | None:
    """Peak units per second of a shard of the most used key, for a load whose requests are unknown.

    Every request writes an item, or reads one where the target is in read units. None for a trace, whose rows
    alone tell.
    """
    if scenario.keys.kind == "replay":
        return None
    from keyheat.simulator.masses import masses_of  # here: quotas need no numpy

    masses, load = masses_of(scenario.keys.pattern()), scenario.load
    share = round(max(float(masses.shares.max(initial=0.0)), masses.even / masses.distinct), 12)
    per_request = load.mean_write_units if load.target_unit == "requests" else 1.0
    units_per_s = load.rate_shape().highest_per_s * per_request * share
    reads = load.target_unit == "RCU"
    return Direction.READ if reads else Direction.WRITE, units_per_s / scenario.keys.shards


def shards_needed(units_per_s: float, ceiling_per_s: float, margin: float = 1.0) -> int:
    """Number of shards that keeps each below its partition limit, for ceil(item KB) × writes/s.

        shards = ceil(margin × units/s ÷ partition limit)

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
    """
    return max(1, min(MOST_SHARDS, ceil(margin * round(units_per_s) / ceiling_per_s)))
