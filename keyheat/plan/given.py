"""What a scenario gives each of its tables and indexes: the most of it at any time of the run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from keyheat.model.resources import NO_THROUGHPUT, ON_DEMAND_START, highest
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.table import CapacityPair, IndexSpec, TableSpec
from keyheat.scenario.spec.timeline import ChangeSpec
from keyheat.words import Capacity, Direction

ON_DEMAND = "PAY_PER_REQUEST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
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
    kept: bool  # after the run

    @property
    def name(self) -> str:
        """In words."""
        return f"table {self.table}" if self.index is None else f"index {self.index}"


def given_to(scenario: Scenario) -> tuple[Given, ...]:
    """Every table with its global indexes, the scenario's own first; local indexes share their table's."""
    return tuple(
        _given(table, index, scenario.timeline if table is scenario.table else ())
        for table in (scenario.table, *scenario.companions)
        for index in (None, *(index for index in table.indexes if not index.local))
    )


def _given(table: TableSpec, index: IndexSpec | None, timeline: Sequence[ChangeSpec]) -> Given:
    owner = index or table
    steps = [step for step in timeline if step.index == (index.name if index else None)]
    on_demand = table.billing_mode == ON_DEMAND
    switches = [step.at_s for step in timeline if step.billing_mode == ON_DEMAND]
    return Given(
        table=table.name,
        index=index.name if index else None,
        provisioned=_most([owner.provisioned, *(step.provisioned for step in steps)]),
        max_on_demand=_most([owner.max_on_demand, *(step.max_on_demand for step in steps)]),
        warm=_most([owner.warm, *(step.warm for step in steps)]),
        at_start=ON_DEMAND_START if on_demand else _most([owner.provisioned]),
        starts_on_demand=on_demand,
        on_demand_from_s=0.0 if on_demand else min(switches, default=None),
        sort_key=owner.sort_key is not None,
        kept=table.on_end == "keep",
    )


def _most(pairs: Iterable[CapacityPair | None]) -> Capacity:
    found = NO_THROUGHPUT
    for pair in pairs:
        if pair is not None:
            found = highest(found, Capacity(pair.read, pair.write))
    return found


def pre_warmed(given: Given, direction: Direction) -> float:
    """Units per second of warm throughput beyond what there is without asking for it."""
    there = max(given.at_start.of(direction) or 0.0, given.provisioned.of(direction) or 0.0)
    return max(0.0, (given.warm.of(direction) or 0.0) - there)
