"""Plan a run: its demand, its cost and the throttles to expect.

Leaves out shards that share a partition, splits and retries, which a simulation covers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np

from keyheat.model.behaviour import DEFAULT, ROUNDING, exhaustion_s, last_change
from keyheat.numbers import consumed_units
from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.prices import Prices
from keyheat.plan.quotas import (
    DEFAULT_QUOTAS,
    GivenCapacity,
    Quotas,
    capacities_of,
    over_quota,
)
from keyheat.plan.totals import (
    GOES_ON,
    Floats,
    HottestPartition,
    LoadDemand,
    LoadTotals,
    ResourceSide,
    repeats_first_hour,
    total_load,
)
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import requests_of
from keyheat.simulator.capacity import applied, capacity_of
from keyheat.simulator.dryrun import assumptions_of
from keyheat.words import LIMITS, WRITES_FIRST, Constraint, Direction, KnownConstraint, Resource

MOST_DIFFERENCE: Final = 1.25  # times, above which a replay says that it asks for something else
LEAST_PER_S: Final = 1.0  # units: less is not compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleForecast:
    """A limit that the demand exceeds."""

    constraint: KnownConstraint
    name: str  # of the table or index
    index: bool
    direction: Direction
    asked_per_s: float
    limit_per_s: float
    from_s: float  # seconds into the run
    hottest: HottestPartition | None = None  # of a partition
    later: bool = False  # only in a longer load: burst capacity outlasts this run
    divisible: bool = False  # a split may divide one key's items
    behind: bool = False  # hidden by the table's limit until that is raised
    grows: bool = False  # a new on-demand table, with demand above its initial capacity


def predict_throttles(
    scenario: Scenario, sent: LoadTotals, *, quotas: Quotas, scale: float = 1.0
) -> tuple[ThrottleForecast, ...]:
    """List every limit that the load test exceeds, the first to throttle first; `scale` multiplies limits."""
    given = {(resource.table, resource.index): resource for resource in capacities_of(scenario)}
    of_tables = tuple(_capacity(scenario, sent, given, scale))
    # Requests that the table's limit throttles never reach its partitions; those that its burst serves do.
    by_table = {(limit.name, limit.direction): limit for limit in of_tables if not limit.later}
    of_partitions, behind = list[ThrottleForecast](), list[ThrottleForecast]()
    for limit in _partitions(sent, given, scale):
        first = by_table.get((limit.name, limit.direction))
        if first is None or first.limit_per_s > limit.limit_per_s or limit.from_s < first.from_s:
            of_partitions.append(limit)
        elif limit.hottest is not None and limit.hottest.key_per_s > limit.limit_per_s:
            behind.append(replace(limit, behind=True))
    beyond = (*_maxima(sent, given, scale), *_account(sent, given, quotas, scale))
    foretold = (*of_partitions, *of_tables, *behind, *beyond)
    return tuple(sorted(foretold, key=lambda limit: (limit.behind, limit.from_s)))


GivenCapacities = Mapping[tuple[str, str | None], GivenCapacity]


def _limit(
    constraint: KnownConstraint, resource: GivenCapacity, direction: Direction, **more: Any
) -> ThrottleForecast:
    return ThrottleForecast(
        constraint=constraint,
        name=resource.name,
        index=resource.index is not None,
        direction=direction,
        **more,
    )


def _partitions(sent: LoadTotals, given: GivenCapacities, scale: float) -> Iterator[ThrottleForecast]:
    for side, totals in sent.sides.items():
        hottest, from_s = totals.hottest, totals.full_from_s
        if hottest is None or not hottest.over or from_s is None:  # a write buffer absorbs peaks
            continue
        resource = given[side.table, side.index]
        start = max(resource.at_start.of(side.direction) or 0.0, resource.warm.of(side.direction) or 0.0)
        peak = totals.demand(sent.duration_s).peak_per_s
        yield _limit(
            "partition", resource, side.direction,
            asked_per_s=hottest.asked_per_s, limit_per_s=hottest.ceiling_per_s, from_s=from_s,
            later=from_s >= len(totals.per_s), hottest=hottest, divisible=resource.divisible,
            grows=resource.starts_on_demand and peak > start * scale,
        )  # fmt: skip


def _capacity(
    scenario: Scenario, sent: LoadTotals, given: GivenCapacities, scale: float
) -> Iterator[ThrottleForecast]:
    """Predict throttles by provisioned throughput, after burst capacity and index buffers."""
    for side, totals in sent.sides.items():
        rates, demand = provisioned_per_s(scenario, side, len(totals.per_s)), totals.per_s
        if rates is None:
            continue
        saved = [DEFAULT.saved_units(rate, index_writes=side.buffered) * scale for rate in rates]
        limits = rates * scale
        from_s = exhaustion_s(demand.tolist(), limits.tolist(), saved)
        if from_s is None:
            continue
        second, later = int(from_s), from_s >= len(limits)
        since = last_change(limits.tolist())
        asked_per_s, limit = float(demand[since:].mean()), float(limits[-1])
        if not later:
            rests = np.flatnonzero(demand[second:] <= limits[second:])
            until = second + int(rests[0]) if len(rests) else None
            asked_per_s, limit = float(demand[second:until].mean()), float(limits[second])
        yield _limit(
            "table", given[side.table, side.index], side.direction, from_s=from_s, later=later,
            asked_per_s=asked_per_s, limit_per_s=limit,
        )  # fmt: skip


def provisioned_per_s(scenario: Scenario, side: ResourceSide, seconds: int) -> Floats | None:
    """Provisioned rate in each second; None if the side is always unlimited.

    On demand, and without a stated capacity, the rate is infinite.
    """
    table = next(spec for spec in (scenario.table, *scenario.companions) if spec.name == side.table)
    requests = requests_of(scenario.timeline) if table is scenario.table else []
    capacity, rates = capacity_of(table), np.full(seconds, np.inf)
    for at_s, steps in [(0.0, ()), *requests]:
        capacity = applied(capacity, steps)
        given = capacity.parts[side.index].provisioned
        rates[ceil(at_s) :] = (given.of(side.direction) if given else None) or np.inf
    return rates if (rates < np.inf).any() else None


def _maxima(sent: LoadTotals, given: GivenCapacities, scale: float) -> Iterator[ThrottleForecast]:
    for side, totals in sent.sides.items():
        resource, seconds = given[side.table, side.index], len(totals.per_s)
        most = resource.max_on_demand.of(side.direction)
        if most is None:
            continue
        saved = DEFAULT.saved_units(most, index_writes=side.buffered, on_demand=True) * scale
        from_s = exhaustion_s(totals.per_s.tolist(), [most * scale] * seconds, [saved] * seconds)
        if from_s is not None:
            yield _limit(
                "max_on_demand", resource, side.direction, from_s=from_s, later=from_s >= seconds,
                asked_per_s=totals.demand(sent.duration_s).peak_per_s, limit_per_s=most * scale,
            )  # fmt: skip


def _account(
    sent: LoadTotals, given: GivenCapacities, quotas: Quotas, scale: float
) -> Iterator[ThrottleForecast]:
    """Check the quota of an on-demand table with its indexes."""
    tables = [
        table for (table, index), part in given.items() if index is None and part.on_demand_from_s is not None
    ]
    for table, direction in product(tables, WRITES_FIRST):
        quota, sides = quotas.table.of(direction), sent.sides.items()
        loads = [load.per_s for side, load in sides if (side.table, side.direction) == (table, direction)]
        total = np.sum(loads, axis=0)
        if quota is not None and loads and total.max() > quota * scale * (1 + ROUNDING):
            yield _limit(
                "account", given[table, None], direction, asked_per_s=float(total.max()),
                limit_per_s=quota * scale, from_s=float((total > quota * scale).argmax()),
            )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlan:
    """Everything predicted about a scenario's run."""

    scenario: Scenario
    target: LoadDemand  # in the unit of the scenario's load; of a trace, its requests
    sent: LoadTotals | None  # None: the load is unknown
    bill: Bill
    quotas: Quotas
    over_quota: tuple[str, ...]
    foretold: tuple[ThrottleForecast, ...]
    margin: float  # multiplies the formula's number of shards
    scale: float  # multiplies every limit of the table
    region: str | None  # of the target, if named
    assumed: tuple[str, ...] = ()  # about items with unstated values

    @property
    def other_region(self) -> str | None:
        """The target's region, if the prices are another region's."""
        return self.region if self.region not in (None, self.bill.prices.region) else None


def plan_run(
    scenario: Scenario,
    prices: Prices,
    *,
    margin: float,
    folder: Path = Path(),
    metric_requests: float = 0,
    existing: bool = False,
    clean_up: bool = False,
    table_bytes: float = 0,
    quotas: Quotas = DEFAULT_QUOTAS,
    scale: float | None = None,
    region: str | None = None,
) -> ScenarioPlan:
    """Plan a run; see `bill_of_run` for the other arguments.

    `scale` multiplies the target's limits; default: the scenario's `local.scale`. Raises `TraceError`.
    """
    limits_scale, load = scenario.local.scale if scale is None else scale, scenario.load
    sent = total_load(scenario, folder=folder, scale=limits_scale)
    shape = load.rate_shape()  # its peak includes rates between two breakpoints
    total = shape.total(load.duration_s)
    target = LoadDemand(mean_per_s=total / load.duration_s, peak_per_s=shape.highest_per_s, total=total)
    if load.arrivals == "trace" and sent is not None:
        target = LoadDemand.of_seconds(sent.requests_per_s, load.duration_s)
    foretold = () if sent is None else predict_throttles(scenario, sent, quotas=quotas, scale=limits_scale)
    goes_on = (GOES_ON,) if sent and repeats_first_hour(scenario) else ()
    return ScenarioPlan(
        scenario=scenario, target=target, sent=sent,
        bill=bill_of_run(
            scenario, prices, sent, metric_requests=metric_requests, existing=existing, clean_up=clean_up,
            table_bytes=table_bytes,
        ),
        quotas=quotas, over_quota=() if existing else over_quota(scenario, quotas), foretold=foretold,
        margin=margin, scale=limits_scale, region=region,
        assumed=(*assumptions_of(scenario, folder), *goes_on),
    )  # fmt: skip


def differences_of_replay(
    scenario: Scenario,
    folder: Path,
    constraint: Constraint | None,
    measured_per_s: Mapping[Resource, float],
) -> Iterator[str]:
    """How the load of a scenario differs from the measured one that it is to repeat.

    `constraint` throttled the measured load (None: not known); `measured_per_s` are the units/s that were
    asked of the table (None) and of each index.
    """
    sent = total_load(scenario, folder=folder)
    if sent is None:
        return
    texts, less = list[str](), False
    for of, measured in measured_per_s.items():
        side = sent.sides.get(ResourceSide(scenario.table.name, of.index, of.direction))
        replayed = side.total() / scenario.load.duration_s if side else 0.0
        if max(replayed, measured) > MOST_DIFFERENCE * max(min(replayed, measured), LEAST_PER_S):
            less |= measured > replayed
            texts.append(_difference(of, replayed, measured))
    if constraint not in (None, "none"):
        exceeded = predict_throttles(scenario, sent, quotas=DEFAULT_QUOTAS)
        exceeds = {limit.constraint for limit in exceeded if not limit.later}
        if not exceeds or constraint not in (*exceeds, "undetermined"):
            cure = "A minute's mean hides its peaks: raise per_s, or the share of the hot key."
            if less:
                cure = "It asks for less than was measured: first raise per_s, as said below."
            yield (
                f"NOT REPRODUCED: the incident was throttled by {LIMITS[constraint]}, and this load does not "
                f"exceed that limit. {cure} "
                "Operations that a scenario has no task for are named in the file."
            )
    yield from texts


def _difference(of: Resource, replayed_per_s: float, measured_per_s: float) -> str:
    """How a load differs on one resource and side from the measured units/s."""
    owner = "TABLE" if of.index is None else f"INDEX {of.index}"
    replays, published = (consumed_units(per_s, of.direction) for per_s in (replayed_per_s, measured_per_s))
    cure, of_entries = "", of.index is not None and of.direction is Direction.WRITE
    if of_entries and measured_per_s < replayed_per_s:
        cure = "; an overwritten item takes twice as much: more keys in [keys] overwrite fewer"
    elif not of_entries and measured_per_s > replayed_per_s > 0:
        times = measured_per_s / replayed_per_s
        cure = f"; per_s of its {of.direction}s times {times:.3g} asks for as much"
    return (
        f"{owner}, {of.direction}s: this load asks for {replays}; by CloudWatch, {published} were asked "
        f"for{cure}"
    )
