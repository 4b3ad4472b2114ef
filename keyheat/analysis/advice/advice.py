"""Advice for a diagnosis: what to do about each constraint, with the simulated outcome."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from keyheat.analysis.advice.case import (
    Limit,
    MeasuredRun,
    Schedule,
    Scheduled,
    is_buffered,
    owners_of,
    provisioned_in_time,
)
from keyheat.analysis.advice.client_setting import client_setting
from keyheat.analysis.advice.cures import cured
from keyheat.analysis.advice.rerun import MOST_S, rerun_of
from keyheat.analysis.advice.trial import advice_for
from keyheat.analysis.advice.waiting import WAITING
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.verdict import LabelGroup, groups
from keyheat.model.behaviour import DEFAULT
from keyheat.plan.prices import Billing
from keyheat.plan.totals import total_load
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Cure, Demand, Evidence, Label, Recommendation
from keyheat.runs.scaling import NOT_SCALED, AutoScaling
from keyheat.scenario.scenario import Scenario
from keyheat.words import has_capacity_model, label_of

MOST_INDEXES: Final = 50
"""Of a table that is simulated again. DynamoDB's quota is 20, each is simulated second by second."""


@dataclass(frozen=True, slots=True)
class Advice:
    """All recommendations, the cure if the simulator found one, and the demand that they are for."""

    recommendations: tuple[Recommendation, ...] = ()
    cure: Cure | None = None
    demands: tuple[Demand, ...] = ()


def advise(
    labels: Sequence[Label],
    evidence: Evidence,
    heats: Sequence[RunHeat],
    numbers: Thresholds,
    *,
    client: ClientFiles | None,
    scenario: Scenario | None,
    billing: Billing,
    replay_s: int = MOST_S,
    scaling: AutoScaling = NOT_SCALED,
) -> Advice:
    """Advice for every constraint that was found, each said once with its outlook.

    `client` is None where the load was not ours, `scenario` where nobody says what it was. `heats` are those
    of the table's keys and of each index's. `billing` says what a month costs. Changes are tried
    on `replay_s` of the demand at most; with 0 none is, and numbers are by formula. `scaling` is that of a
    table in AWS.
    """
    arranged, by_limit = timeline(evidence), groups(labels)
    if not by_limit:
        return _foresight(arranged, evidence, heats, numbers, scenario)
    rerun = None
    if replay_s and len(evidence.table.indexes) <= MOST_INDEXES and has_capacity_model(evidence.endpoint):
        rerun = rerun_of(
            evidence, arranged, by_limit[0].heaviest, client=client, scenario=scenario, heats=heats,
            billing=billing, most_s=replay_s,
        )  # fmt: skip
    demands = scheduled(scenario) if scenario and rerun and rerun.by_schedule else {}
    on_demand = evidence.table.billing_mode == "PAY_PER_REQUEST"
    cost = client.manifest.retry_cost if client and client.manifest else None
    measured = MeasuredRun(arranged, heats, numbers, scenario, on_demand, demands, cost, scaling)
    cases = [
        measured.case(_limit_of(group), group.labels)
        for group in _certain(by_limit)
        if evidence.table.on_demand_since is None or group.constraint != "table"  # that capacity is gone
    ]
    cure, carried = None, on_burst(scenario, demands) if scenario else ()
    if rerun is None:
        advice = [item for case in cases for item in advice_for(case)]
    else:
        limits = [item.limit for item in carried]
        advice, cure = cured(cases, rerun, lambda limit: measured.case(limit, by_limit[0].labels), limits)
        retries = client_setting(rerun, labels, _ended_s(client, evidence))
        if retries is not None:  # more than the word that waiting helps
            advice = [retries, *(item for item in advice if item.action not in WAITING)]
    return Advice(_in_order(advice), cure, tuple(_demands(demands, evidence.scale, carried)))


def _certain(by_limit: Sequence[LabelGroup]) -> Iterator[LabelGroup]:
    """Drop an inferred partition on a resource whose heavier throttles are undetermined.

    Advice would state it as a fact, and say that more capacity does not help.
    """
    doubted: set[tuple[str, str]] = set()
    for group in by_limit:  # the heaviest first
        key = group.resource, group.direction
        if group.constraint == "undetermined":
            doubted.add(key)
        inferred = group.constraint == "partition" and group.heaviest.grade == "inferred"
        if not (inferred and key in doubted):
            yield group


def _ended_s(client: ClientFiles | None, evidence: Evidence) -> float:
    """Return when the load ended; the collected minutes continue beyond it."""
    manifest = client.manifest if client else None
    ended_at = manifest.ended_at if manifest else None
    return (ended_at or evidence.window.end).timestamp()


def _foresight(
    arranged: EvidenceTimeline,
    evidence: Evidence,
    heats: Sequence[RunHeat],
    numbers: Thresholds,
    scenario: Scenario | None,
) -> Advice:
    """Advise on limits that only burst kept from throttling, in a run without throttles."""
    if scenario is None or scenario.load.arrivals == "trace":
        return Advice()
    demands = scheduled(scenario)
    carried = on_burst(scenario, demands)
    if not carried:
        return Advice()
    on_demand = evidence.table.billing_mode == "PAY_PER_REQUEST"
    measured = MeasuredRun(arranged, heats, numbers, scenario, on_demand, demands)
    advice = [item for excess in carried for item in advice_for(measured.case(excess.limit, ()))]
    return Advice(_in_order(advice), None, tuple(_demands(demands, evidence.scale, carried)))


def _limit_of(group: LabelGroup) -> Limit:
    return group.constraint, group.resource, group.direction


def scheduled(scenario: Scenario) -> Schedule:
    """Return the load's demand on the table and on each index, as in a plan."""
    scale = scenario.local.scale
    sent = total_load(scenario, scale=scale)
    return {
        (label_of(side.index), side.direction): Scheduled(
            per_s=float(needs.per_s.max()) / scale,
            partition_per_s=needs.hottest.ceiling_per_s / scale,
            partitions=needs.hottest.partitions,
            mean_per_s=float(needs.per_s.mean()) / scale,
            buffer_full_s=needs.full_from_s,
            key_per_s=needs.hottest.key_per_s / scale,
        )
        for side, needs in (sent.sides if sent else {}).items()
        if side.table == scenario.table.name and needs.hottest is not None
    }


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a constant load exceeds, while burst or an index's write buffer serves the rest."""

    limit: Limit
    share: float  # demand over the limit
    carried_s: float  # until the burst is used up; infinity: only the peak exceeds the limit


def on_burst(scenario: Scenario, demands: Schedule) -> tuple[Excess, ...]:
    """Return the limits that a constant load exceeds, though it may not throttle for minutes.

    The limit that is exceeded the furthest comes first.
    """
    if scenario.is_changing:
        return ()
    excesses = [excess for excess in _saving(scenario, demands) if excess.share > 1]
    return tuple(sorted(excesses, key=lambda excess: -excess.share))


def _saving(scenario: Scenario, demands: Schedule) -> Iterator[Excess]:
    """Yield the limits with burst or a write buffer, with the demand on them."""
    owners, on_demand = owners_of(scenario), scenario.table.billing_mode == "PAY_PER_REQUEST"
    for (resource, direction), needs in demands.items():
        owner, buffered = owners[resource], is_buffered(resource, direction)
        if not on_demand and (has := provisioned_in_time(owner, direction, needs.per_s)):
            saved = DEFAULT.saved_units(has, index_writes=buffered)
            yield Excess(("table", resource, direction), needs.per_s / has, needs.carried_s(has, saved))
        if buffered:
            share, full_s = needs.key_per_s / needs.partition_per_s, needs.buffer_full_s
            yield Excess(("partition", resource, direction), share, inf if full_s is None else full_s)
        if buffered and on_demand and owner.max_on_demand and (most := owner.max_on_demand.write):
            saved = DEFAULT.saved_units(most, index_writes=True, on_demand=True)
            yield Excess(
                ("max_on_demand", resource, direction),
                needs.per_s / most,
                needs.carried_s(most, saved),
            )


def _demands(demands: Schedule, scale: float, carried: Sequence[Excess]) -> Iterator[Demand]:
    for (resource, direction), needs in demands.items():
        side = resource, direction
        lasts_s = min((excess.carried_s for excess in carried if excess.limit[1:] == side), default=inf)
        yield Demand(
            resource=resource,
            direction=direction,
            units_per_s=needs.per_s * scale,
            partition_per_s=needs.partition_per_s * scale,
            carried_s=None if lasts_s == inf else lasts_s,
        )


def _in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Sort mitigations first; of equal advice for several limits keep the heaviest limit's."""
    once: dict[Recommendation, Recommendation] = {}
    for item in advice:
        once.setdefault(item.model_copy(update={"resource": None, "direction": None}), item)
    return tuple(sorted(once.values(), key=lambda item: item.kind == "cure"))
