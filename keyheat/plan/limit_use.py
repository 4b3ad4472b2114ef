"""Demand on each limit, computed from a load's keys, sizes and operations."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keyheat.plan.quotas import DEFAULT_QUOTAS, ON_DEMAND, GivenCapacity, Quotas, capacities_of
from keyheat.plan.totals import LoadTotals, SideTotals, total_load
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import spreads_itself
from keyheat.simulator.flow import Traffic
from keyheat.words import Direction, KnownConstraint, label_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """The demand on one limit in the busiest second."""

    constraint: KnownConstraint
    resource: str  # "table", or the name of an index
    direction: Direction
    asked_per_s: float  # units
    limit_per_s: float
    key_per_s: float | None = None  # of a partition: demand on its most used key; None: unknown

    @property
    def share(self) -> float:
        """Demand divided by the limit."""
        return self.asked_per_s / self.limit_per_s


def limit_uses(
    scenario: Scenario,
    *,
    folder: Path = Path(),
    quotas: Quotas = DEFAULT_QUOTAS,
    scale: float = 1.0,
    traffic: Traffic | None = None,
) -> tuple[LimitUse, ...]:
    """List every limit of the judged table and its indexes, the most used first.

    `scale` multiplies all limits; `traffic` replaces the load test's own. Returns nothing if the load is
    unknown, or if the load test spreads its keys over shards in a way that only a run shows.
    """
    if traffic is None and scenario.keys.shards > 1 and not spreads_itself(scenario, folder):
        return ()
    sent = total_load(scenario, folder=folder, scale=scale, traffic=traffic)
    if sent is None:
        return ()
    given = {
        resource.index: resource
        for resource in capacities_of(scenario)
        if resource.table == scenario.table.name
    }
    uses = [
        use
        for side, totals in sent.sides.items()
        if side.table == scenario.table.name
        for use in _side_uses(totals, given[side.index], sent, scale)
    ]
    if scenario.table.billing_mode == ON_DEMAND:
        uses += _account_uses(scenario, sent, quotas, scale)
    return tuple(sorted(uses, key=lambda use: -use.share))


def _side_uses(
    totals: SideTotals, given: GivenCapacity, sent: LoadTotals, scale: float
) -> Iterator[LimitUse]:
    side = totals.side
    resource, direction = label_of(side.index), side.direction
    hottest = totals.hottest
    if hottest is not None:
        yield LimitUse(
            constraint="partition",
            resource=resource,
            direction=direction,
            asked_per_s=hottest.asked_per_s,
            limit_per_s=hottest.ceiling_per_s,
            key_per_s=hottest.key_per_s or None,
        )
    peak = totals.demand(sent.duration_s).peak_per_s
    for constraint, limit in (
        ("table", given.provisioned.of(direction)),
        ("max_on_demand", given.max_on_demand.of(direction)),
    ):
        if limit:
            yield LimitUse(
                constraint=constraint,  # type: ignore[arg-type]  # one of the two
                resource=resource,
                direction=direction,
                asked_per_s=peak,
                limit_per_s=limit * scale,
            )


def _account_uses(scenario: Scenario, sent: LoadTotals, quotas: Quotas, scale: float) -> Iterator[LimitUse]:
    """The quota of an on-demand table together with its indexes."""
    for direction in Direction:
        quota, demand = quotas.table.of(direction), sent.together_per_s(scenario.table.name, direction)
        if quota and demand is not None:
            yield LimitUse(
                constraint="account",
                resource="table",
                direction=direction,
                asked_per_s=float(demand.max()),
                limit_per_s=quota * scale,
            )
