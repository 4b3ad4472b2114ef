"""A plan: what a scenario is going to ask for, what that costs, and what is going to throttle.

Shards that share a partition, splits and retries are not in it: a simulation plays those.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np

from keyheat.model.behaviour import DEFAULT
from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.forecast import Forecast, forecast
from keyheat.plan.prices import Prices
from keyheat.plan.quotas import DEFAULT_QUOTAS, GivenCapacity, Quotas, given_to, over_quota
from keyheat.plan.totals import (
    GOES_ON,
    Floats,
    HottestPartition,
    LoadTotals,
    ResourceSide,
    SideTotals,
    expected,
    goes_on,
)
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import CapacityPair
from keyheat.simulator.rehearsal.ask import assumptions_of
from keyheat.words import LIMITS, Capacity, Constraint, Direction, KnownConstraint

ROUNDING: Final = 1e-9  # a share by which numbers of equal size may differ


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleForecast:
    """One limit that is asked for more than it has."""

    constraint: KnownConstraint
    name: str  # of the table or index
    index: bool
    direction: Direction
    asked_per_s: float
    limit_per_s: float
    from_s: float  # seconds into the run, at the latest
    hottest: HottestPartition | None = None  # of a partition
    later: bool = False  # only if the load goes on: what is saved carries this run, and is spent in more time
    divisible: bool = False  # a split may fall between the items of one key
    behind: bool = False  # the limit of the whole hides it, until that is raised
    grows: bool = False  # a new on-demand table that is asked for more than it starts with


def foretold(
    scenario: Scenario, sent: LoadTotals, *, quotas: Quotas, scale: float = 1.0
) -> tuple[ThrottleForecast, ...]:
    """Every limit that the load test asks for more than it has; `scale` multiplies all of them."""
    given = {(one.table, one.index): one for one in given_to(scenario)}
    of_tables = tuple(_capacity(scenario, sent, given, scale))
    # What a table refuses as a whole does not come to its partitions: they show once it has more.
    refused = {(one.name, one.direction): one.limit_per_s for one in of_tables if not one.later}
    of_partitions, behind = list[ThrottleForecast](), list[ThrottleForecast]()
    for one in _partitions(sent, given, scale):
        if refused.get((one.name, one.direction), np.inf) > one.limit_per_s:
            of_partitions.append(one)
        elif one.hottest is not None and one.hottest.key_per_s > one.limit_per_s:
            behind.append(replace(one, behind=True))
    return (
        *of_partitions,
        *of_tables,
        *behind,
        *_maxima(sent, given, scale),
        *_account(sent, given, quotas, scale),
    )


Known = Mapping[tuple[str, str | None], GivenCapacity]


def _partitions(sent: LoadTotals, known: Known, scale: float) -> Iterator[ThrottleForecast]:
    for side, asked in sent.sides.items():
        hottest = asked.hottest
        if hottest is None or not hottest.over:
            continue
        from_s = hottest.at_s if not _is_buffered(side) else asked.buffer_full_s
        if from_s is None:  # its write buffer carries the peaks
            continue
        given = known[side.table, side.index]
        start = max(given.at_start.of(side.direction) or 0.0, given.warm.of(side.direction) or 0.0)
        peak = asked.demand(sent.duration_s).peak_per_s
        yield ThrottleForecast(
            constraint="partition",
            name=given.name,
            index=side.index is not None,
            direction=side.direction,
            asked_per_s=hottest.asked_per_s,
            limit_per_s=hottest.ceiling_per_s,
            from_s=from_s,
            later=from_s >= len(asked.per_s),
            hottest=hottest,
            divisible=given.divisible,
            grows=given.starts_on_demand and peak > start * scale,
        )


def _capacity(scenario: Scenario, sent: LoadTotals, known: Known, scale: float) -> Iterator[ThrottleForecast]:
    """Provisioned throughput: it throttles once its burst is spent, and an index once its buffer is full."""
    for side, asked in sent.sides.items():
        rates = provisioned_per_s(scenario, side, len(asked.per_s))
        if rates is None:
            continue
        given, has = known[side.table, side.index], rates * scale
        found = ThrottleForecast(
            constraint="table",
            name=given.name,
            index=side.index is not None,
            direction=side.direction,
            asked_per_s=float(asked.per_s.mean()),
            limit_per_s=float(has.mean()),
            from_s=inf,
        )
        saved = [DEFAULT.saved_units(rate, index_writes=_is_buffered(side)) * scale for rate in rates]
        from_s = _runs_out(asked.per_s, has, saved)
        if from_s is not None and (second := int(from_s)) < len(has):
            lasts = _until_it_rests(asked.per_s[second:], has[second:])
            yield replace(found, from_s=from_s, asked_per_s=lasts, limit_per_s=float(has[second]))
        elif from_s is not None:
            yield replace(found, from_s=from_s, later=True)


def _is_buffered(side: ResourceSide) -> bool:
    """Whether entries may wait in a write buffer."""
    return side.index is not None and side.direction is Direction.WRITE


def provisioned_per_s(scenario: Scenario, side: ResourceSide, seconds: int) -> Floats | None:
    """What is provisioned in each second, infinity while the table is on demand; None where it always is.

    A side that is not stated is not limited.
    """
    table = next(one for one in (scenario.table, *scenario.companions) if one.name == side.table)
    owner = next((index for index in table.indexes if index.name == side.index), table)
    steps = scenario.timeline if table is scenario.table else ()
    rates = np.full(seconds, _rate(owner.provisioned, side.direction))
    if table.billing_mode == "PAY_PER_REQUEST":
        rates[:] = np.inf
    for step in steps:
        later = slice(ceil(step.at_s), None)
        if step.billing_mode == "PAY_PER_REQUEST":
            rates[later] = np.inf
        elif step.index == side.index and _rate(step.provisioned, side.direction) < np.inf:
            rates[later] = _rate(step.provisioned, side.direction)
    return rates if (rates < np.inf).any() else None


def _until_it_rests(asked: Floats, rates: Floats) -> float:
    """What is asked for on average, from the beginning until it is no more than there is."""
    rests = np.flatnonzero(asked <= rates)
    return float(asked[: rests[0] if len(rests) else None].mean())


def _rate(pair: CapacityPair | None, direction: Direction) -> float:
    units = Capacity(pair.read, pair.write).of(direction) if pair is not None else None
    return float(units) if units else float("inf")


def _runs_out(asked: Floats, rates: Floats, most_saved: Sequence[float]) -> float | None:
    """When what was saved is spent: past the run if that takes a load that goes on; None: never."""
    second, beyond_per_s = spent_at(asked, rates, most_saved), float(asked.mean() - rates.mean())
    if second is None and beyond_per_s > ROUNDING * rates.mean():
        return fmean(most_saved) / beyond_per_s
    return second


def spent_at(asked: Floats, rates: Floats, most_saved: Sequence[float]) -> int | None:
    """The second in which all that was saved is spent; None if it never is.

    saved = min(most saved, saved + rate - asked)
    """
    saved = float("inf")
    for second, (wanted, rate, most) in enumerate(
        zip(asked.tolist(), rates.tolist(), most_saved, strict=True)
    ):
        saved = min(saved, most) + rate - wanted
        if saved < -ROUNDING * rate:
            return second
    return None


def _maxima(sent: LoadTotals, known: Known, scale: float) -> Iterator[ThrottleForecast]:
    for side, asked in sent.sides.items():
        given = known[side.table, side.index]
        most = given.max_on_demand.of(side.direction)
        if most is None:
            continue
        seconds = len(asked.per_s)
        saved = DEFAULT.saved_units(most, index_writes=_is_buffered(side), on_demand=True) * scale
        from_s = _runs_out(asked.per_s, np.full(seconds, most * scale), [saved] * seconds)
        if from_s is not None:
            yield ThrottleForecast(
                constraint="max_on_demand",
                name=given.name,
                index=side.index is not None,
                direction=side.direction,
                asked_per_s=asked.demand(sent.duration_s).peak_per_s,
                limit_per_s=most * scale,
                from_s=from_s,
                later=from_s >= seconds,
            )


def _account(sent: LoadTotals, known: Known, quotas: Quotas, scale: float) -> Iterator[ThrottleForecast]:
    """The quota of an on-demand table together with its indexes."""
    for table in dict.fromkeys(side.table for side in sent.sides):
        if known[table, None].on_demand_from_s is None:
            continue
        for direction in (Direction.WRITE, Direction.READ):
            quota = quotas.table.of(direction)
            own = _together(sent.sides.values(), table, direction)
            if quota is None or not own:
                continue
            total: Floats = np.sum(own, axis=0)
            if total.max() > quota * scale * (1 + ROUNDING):
                yield ThrottleForecast(
                    constraint="account",
                    name=known[table, None].name,
                    index=False,
                    direction=direction,
                    asked_per_s=float(total.max()),
                    limit_per_s=quota * scale,
                    from_s=_first_above(total, quota * scale),
                )


def _together(asked: Iterable[SideTotals], table: str, direction: Direction) -> list[Floats]:
    return [one.per_s for one in asked if one.side.table == table and one.side.direction is direction]


def _first_above(per_s: Floats, limit: float) -> float:
    return float((per_s > limit).argmax())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlan:
    """A scenario before anything is sent."""

    scenario: Scenario
    forecast: Forecast
    sent: LoadTotals | None  # None where nobody knows what the load test sends
    bill: Bill
    quotas: Quotas
    over_quota: tuple[str, ...]
    foretold: tuple[ThrottleForecast, ...]
    margin: float  # by which the formula's number of shards is multiplied
    scale: float  # of every limit of the table
    region: str | None  # of the target, where one was named
    assumed: tuple[str, ...] = ()  # of items, where nobody says which values they have

    @property
    def other_region(self) -> str | None:
        """The target's region, where the prices are those of another one."""
        return self.region if self.region not in (None, self.bill.prices.region) else None


def planned(
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
    """The plan of a run; what is not named here, as `forecast` and `bill_of_run` have it.

    `scale` is that of the target's limits; absent: as the scenario's local table has it. Raises `TraceError`.
    """
    limits_scale = scenario.local.scale if scale is None else scale
    sent = expected(scenario, folder=folder, scale=limits_scale)
    return ScenarioPlan(
        scenario=scenario,
        forecast=forecast(scenario, prices, margin=margin, folder=folder),
        sent=sent,
        bill=bill_of_run(
            scenario,
            prices,
            folder=folder,
            metric_requests=metric_requests,
            existing=existing,
            clean_up=clean_up,
            table_bytes=table_bytes,
            sent=sent,
        ),
        quotas=quotas,
        over_quota=() if existing else over_quota(scenario, quotas),
        foretold=foretold(scenario, sent, quotas=quotas, scale=limits_scale) if sent is not None else (),
        margin=margin,
        scale=limits_scale,
        region=region,
        assumed=(*assumptions_of(scenario, folder), *((GOES_ON,) if goes_on(scenario) and sent else ())),
    )


def not_reproduced(scenario: Scenario, folder: Path, constraint: Constraint) -> str | None:
    """Why the scenario of an incident does not repeat its throttles; None if its plan expects them."""
    if constraint == "none" or (sent := expected(scenario, folder=folder)) is None:
        return None
    found = foretold(scenario, sent, quotas=DEFAULT_QUOTAS)
    limits = {limit.constraint for limit in found if not limit.later}
    if limits and constraint in (*limits, "undetermined"):
        return None
    return (
        f"NOT REPRODUCED: the incident was throttled by {LIMITS[constraint]}, and this load does not exceed "
        "that limit. A minute's mean hides its peaks: raise per_s, or the share of the hot key."
    )
