"""What a scenario gives its tables at most, and what of it AWS would refuse because of an account's quotas.

Provisioned capacity counts a table together with its global indexes, and an account's quota all of its
provisioned tables. In on-demand mode a table's quota is what it serves at most, with its indexes:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from keyheat.model import limits
from keyheat.model.resources import NO_THROUGHPUT, ON_DEMAND_START, TABLE_QUOTA, highest
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import CapacityPair, ChangeSpec, IndexSpec, TableSpec
from keyheat.words import WRITES_FIRST, Capacity, Direction

ON_DEMAND = "PAY_PER_REQUEST"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCapacity:
    """One table (index None) or one global index. What the timeline changes counts where it is higher.

    Auto scaling is not in it: it is played by simulations, and a run in AWS sets none up.
    """

    table: str
    index: str | None
    provisioned: Capacity  # a side is None where there is none
    max_on_demand: Capacity
    warm: Capacity
    at_start: Capacity  # served at once by the new table, without pre-warming
    starts_on_demand: bool
    on_demand_from_s: float | None  # seconds into the run; None: it never is
    sort_key: bool
    divisible: bool  # a split may fall between the items of one key: there is a sort key, and no local index
    kept: bool  # after the run

    @property
    def name(self) -> str:
        """In words."""
        return f"table {self.table}" if self.index is None else f"index {self.index}"


def given_to(scenario: Scenario) -> tuple[GivenCapacity, ...]:
    """Every table with its global indexes, the scenario's own first; local indexes share their table's."""
    return tuple(
        _given(table, index, scenario.timeline if table is scenario.table else ())
        for table in (scenario.table, *scenario.companions)
        for index in (None, *(index for index in table.indexes if not index.local))
    )


def _given(table: TableSpec, index: IndexSpec | None, timeline: Sequence[ChangeSpec]) -> GivenCapacity:
    owner = index or table
    steps = [step for step in timeline if step.index == (index.name if index else None)]
    on_demand = table.billing_mode == ON_DEMAND
    switches = [step.at_s for step in timeline if step.billing_mode == ON_DEMAND]
    return GivenCapacity(
        table=table.name,
        index=index.name if index else None,
        provisioned=_most([owner.provisioned, *(step.provisioned for step in steps)]),
        max_on_demand=_most([owner.max_on_demand, *(step.max_on_demand for step in steps)]),
        warm=_most([owner.warm, *(step.warm for step in steps)]),
        at_start=ON_DEMAND_START if on_demand else _most([owner.provisioned]),
        starts_on_demand=on_demand,
        on_demand_from_s=0.0 if on_demand else min(switches, default=None),
        sort_key=owner.sort_key is not None,
        divisible=owner.sort_key is not None and not (index is None and any(o.local for o in table.indexes)),
        kept=table.on_end == "keep",
    )


def _most(pairs: Iterable[CapacityPair | None]) -> Capacity:
    found = NO_THROUGHPUT
    for pair in pairs:
        if pair is not None:
            found = highest(found, Capacity(pair.read, pair.write))
    return found


def pre_warmed(given: GivenCapacity, direction: Direction) -> float:
    """Units per second of warm throughput beyond what there is without asking for it."""
    there = max(given.at_start.of(direction) or 0.0, given.provisioned.of(direction) or 0.0)
    return max(0.0, (given.warm.of(direction) or 0.0) - there)


A_TABLE, ACCOUNT = "a table", "the account"
RAISED: Final = "the Service Quotas console raises it (dynamodb), or give the scenario less"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Units per second; a side is None where it is not known."""

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
    """What is known where nobody said."""
    return Quotas(table=Capacity(), account=Capacity(), source="unknown", problem=problem)


def quotas_of(answer: Mapping[str, Any]) -> Quotas:
    """Quotas from a DescribeLimits answer:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html
    """
    table, account = _pair(answer, "TableMax"), _pair(answer, "AccountMax")
    if table == account == Capacity():
        return unknown_quotas("DescribeLimits answered without any")
    return Quotas(table=table, account=account, source="account")


def _pair(answer: Mapping[str, Any], whose: str) -> Capacity:
    read, write = (answer.get(f"{whose}{side}CapacityUnits") for side in ("Read", "Write"))
    return Capacity(_units(read), _units(write))


def _units(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if known else None


def provisioned_of(given: Sequence[GivenCapacity], direction: Direction) -> float:
    """Units per second that these tables and indexes have provisioned together, at the most."""
    return sum(one.provisioned.of(direction) or 0.0 for one in given)


def over_quota(scenario: Scenario, quotas: Quotas) -> tuple[str, ...]:
    """What AWS would refuse to create or change, as sentences; nothing where a quota is not known.

    What other tables of the account have is not in it: AWS may refuse earlier.
    """
    return tuple(
        f"{said} {units:,.0f} {direction.unit}/s, and the quota of {whose} is {quota:,.0f}: {RAISED}"
        for said, asked, whose in _asked_for(given_to(scenario))
        for direction in WRITES_FIRST
        if (quota := (quotas.account if whose == ACCOUNT else quotas.table).of(direction)) is not None
        and (units := asked.of(direction)) is not None
        and units > quota
    )


def _asked_for(given: Sequence[GivenCapacity]) -> Iterator[tuple[str, Capacity, str]]:
    """What is asked for, in words and in units, and of what the quota is that bounds it.

    Maxima and warm throughput of one table or index are bound by the table's quota, too.
    """
    for table in dict.fromkeys(one.table for one in given):
        own = [one for one in given if one.table == table]
        indexes = " with its indexes" if len(own) > 1 else ""
        yield f"table {table}{indexes} is to have", _together(own), A_TABLE
    yield "the scenario's tables are to have", _together(given), ACCOUNT
    for one in given:
        yield f"{one.name} is to have a maximum of", one.max_on_demand, A_TABLE
        yield f"{one.name} is to have warm throughput of", one.warm, A_TABLE


def _together(given: Sequence[GivenCapacity]) -> Capacity:
    return Capacity(provisioned_of(given, Direction.READ), provisioned_of(given, Direction.WRITE))
