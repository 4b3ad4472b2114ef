"""How near a load comes to every limit, by its keys, sizes and operations alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyheat.plan.quotas import DEFAULT_QUOTAS, ON_DEMAND, GivenCapacity, Quotas, given_to
from keyheat.plan.totals import LoadTotals, SideTotals, expected
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import spreads_itself
from keyheat.simulator.flow import Traffic
from keyheat.words import Direction, KnownConstraint, label_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """One limit, and what is asked of it in the busiest second."""

    constraint: KnownConstraint
    resource: str  # "table", or the name of an index
    direction: Direction
    asked_per_s: float  # units
    limit_per_s: float
    key_per_s: float | None = None  # of a partition: what its most used key asks for; None: none is known

    @property
    def share(self) -> float:
        """What is asked for, as a share of what there is."""
        return self.asked_per_s / self.limit_per_s


def used_by(
    scenario: Scenario,
    *,
    folder: Path = Path(),
    quotas: Quotas = DEFAULT_QUOTAS,
    scale: float = 1.0,
    traffic: Traffic | None = None,
) -> tuple[LimitUse, ...]:
    """Every limit of the scenario's own table and its indexes, the most used one first.

    `scale` multiplies all limits; `traffic` is sent in place of what the load test sends. Nothing where
    nobody can say what that is, or where its keys are divided on their way to as many shards as it knows
    nothing of.
    """
    if traffic is None and scenario.keys.shards > 1 and not spreads_itself(scenario, folder):
        return ()
    sent = expected(scenario, folder=folder, scale=scale, traffic=traffic)
    if sent is None:
        return ()
    given = {one.index: one for one in given_to(scenario) if one.table == scenario.table.name}
    found = [
        use
        for side, asked in sent.sides.items()
        if side.table == scenario.table.name
        for use in _of_side(asked, given[side.index], sent, scale)
    ]
    if scenario.table.billing_mode == ON_DEMAND:
        found += _of_account(scenario, sent, quotas, scale)
    return tuple(sorted(found, key=lambda use: -use.share))


def _of_side(asked: SideTotals, given: GivenCapacity, sent: LoadTotals, scale: float) -> Iterator[LimitUse]:
    side = asked.side
    resource, direction = label_of(side.index), side.direction
    hottest = asked.hottest
    if hottest is not None:
        yield LimitUse(
            constraint="partition",
            resource=resource,
            direction=direction,
            asked_per_s=hottest.asked_per_s,
            limit_per_s=hottest.ceiling_per_s,
            key_per_s=hottest.key_per_s or None,
        )
    peak = asked.demand(sent.duration_s).peak_per_s
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


def _of_account(scenario: Scenario, sent: LoadTotals, quotas: Quotas, scale: float) -> Iterator[LimitUse]:
    """The quota of an on-demand table together with its indexes."""
    for direction in Direction:
        quota = quotas.table.of(direction)
        mine = [
            asked.per_s
            for side, asked in sent.sides.items()
            if side.table == scenario.table.name and side.direction is direction
        ]
        if quota and mine:
            yield LimitUse(
                constraint="account",
                resource="table",
                direction=direction,
                asked_per_s=float(np.sum(mine, axis=0).max()),
                limit_per_s=quota * scale,
            )
