"""Advice for a diagnosis: what to do about each constraint, with what the simulator says would come of it."""

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
from keyheat.analysis.advice.rerun import rerun_of
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
    """What to do: all that is recommended, the cure if the simulator found one, and the demand it is for."""

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
    simulate: bool = True,
    scaling: AutoScaling = NOT_SCALED,
) -> Advice:
    """Advice for every constraint that was found, each said once with its outlook.

    `client` is None where the load was not ours, `scenario` where nobody says what it was. `heats` are those
    of the table's keys and of each index's. `billing` says what a month costs. Without `simulate`, which
    takes seconds, no change is tried, and numbers are by formula. `scaling` is that of a table in AWS.
    """
    arranged, found = timeline(evidence), groups(labels)
    if not found:
        return _foresight(arranged, evidence, heats, numbers, scenario)
    rerun = None
    if simulate and len(evidence.table.indexes) <= MOST_INDEXES and has_capacity_model(evidence.endpoint):
        rerun = rerun_of(
            evidence, arranged, found[0].heaviest, client=client, scenario=scenario, heats=heats,
            billing=billing,
        )  # fmt: skip
    asked = scheduled(scenario) if scenario and rerun and rerun.by_schedule else {}
    on_demand = evidence.table.billing_mode == "PAY_PER_REQUEST"
    cost = client.manifest.retry_cost if client and client.manifest else None
    measured = MeasuredRun(arranged, heats, numbers, scenario, on_demand, asked, cost, scaling)
    cases = [
        measured.case(_limit_of(group), group.labels)
        for group in _certain(found)
        if evidence.table.on_demand_since is None or group.constraint != "table"  # that capacity is gone
    ]
    cure, carried = None, on_burst(scenario, asked) if scenario else ()
    if rerun is None:
        advice = [one for case in cases for one in advice_for(case)]
    else:
        limits = [one.limit for one in carried]
        advice, cure = cured(cases, rerun, lambda limit: measured.case(limit, found[0].labels), limits)
        retries = client_setting(rerun, labels, _ended_s(client, evidence))
        if retries is not None:  # more than the word that waiting helps
            advice = [retries, *(one for one in advice if one.action not in WAITING)]
    return Advice(_in_order(advice), cure, tuple(_demands(asked, evidence.scale, carried)))


def _certain(found: Sequence[LabelGroup]) -> Iterator[LabelGroup]:
    """Groups without a partition that was inferred of a resource of which more throttles are undetermined.

    Advice would state it as a fact, and say that more capacity does not help.
    """
    doubted: set[tuple[str, str]] = set()
    for group in found:  # the heaviest first
        whose = group.resource, group.direction
        if group.constraint == "undetermined":
            doubted.add(whose)
        inferred = group.constraint == "partition" and group.heaviest.grade == "inferred"
        if not (inferred and whose in doubted):
            yield group


def _ended_s(client: ClientFiles | None, evidence: Evidence) -> float:
    """When the load ended; the minutes that were asked for go on beyond it."""
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
    """Advice for what saved burst kept from throttling, of a run in which nothing did."""
    if scenario is None or scenario.load.arrivals == "trace":
        return Advice()
    asked = scheduled(scenario)
    carried = on_burst(scenario, asked)
    if not carried:
        return Advice()
    on_demand = evidence.table.billing_mode == "PAY_PER_REQUEST"
    measured = MeasuredRun(arranged, heats, numbers, scenario, on_demand, asked)
    advice = [one for excess in carried for one in advice_for(measured.case(excess.limit, ()))]
    return Advice(_in_order(advice), None, tuple(_demands(asked, evidence.scale, carried)))


def _limit_of(group: LabelGroup) -> Limit:
    return group.constraint, group.resource, group.direction


def scheduled(scenario: Scenario) -> Schedule:
    """What the load asks of the table and of each index, as a plan has it."""
    scale = scenario.local.scale
    sent = total_load(scenario, scale=scale)
    return {
        (label_of(side.index), side.direction): Scheduled(
            per_s=float(asked.per_s.max()) / scale,
            partition_per_s=asked.hottest.ceiling_per_s / scale,
            partitions=asked.hottest.partitions,
            mean_per_s=float(asked.per_s.mean()) / scale,
            buffer_full_s=asked.buffer_full_s,
            key_per_s=asked.hottest.key_per_s / scale,
        )
        for side, asked in (sent.sides if sent else {}).items()
        if side.table == scenario.table.name and asked.hottest is not None
    }


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a constant load exceeds, while burst or an index's write buffer serves the rest."""

    limit: Limit
    share: float  # of the limit that is asked for
    carried_s: float  # until what was saved is used up; infinity: only the peak is beyond the limit


def on_burst(scenario: Scenario, asked: Schedule) -> tuple[Excess, ...]:
    """What a constant load asks for beyond its limits, though it may not throttle for minutes.

    What is furthest beyond its limit comes first.
    """
    if scenario.is_changing:
        return ()
    found = [one for one in _saving(scenario, asked) if one.share > 1]
    return tuple(sorted(found, key=lambda one: -one.share))


def _saving(scenario: Scenario, asked: Schedule) -> Iterator[Excess]:
    """The limits before which capacity is saved up, with what is asked of them."""
    owners, on_demand = owners_of(scenario), scenario.table.billing_mode == "PAY_PER_REQUEST"
    for (resource, direction), one in asked.items():
        owner, buffered = owners[resource], is_buffered(resource, direction)
        if not on_demand and (has := provisioned_in_time(owner, direction, one.per_s)):
            saved = DEFAULT.saved_units(has, index_writes=buffered)
            yield Excess(("table", resource, direction), one.per_s / has, one.carried_s(has, saved))
        if buffered:
            share, full_s = one.key_per_s / one.partition_per_s, one.buffer_full_s
            yield Excess(("partition", resource, direction), share, inf if full_s is None else full_s)
        if buffered and on_demand and owner.max_on_demand and (most := owner.max_on_demand.write):
            saved = DEFAULT.saved_units(most, index_writes=True, on_demand=True)
            yield Excess(("max_on_demand", resource, direction), one.per_s / most, one.carried_s(most, saved))


def _demands(asked: Schedule, scale: float, carried: Sequence[Excess]) -> Iterator[Demand]:
    for (resource, direction), asked_of in asked.items():
        side = resource, direction
        lasts_s = min((one.carried_s for one in carried if one.limit[1:] == side), default=inf)
        yield Demand(
            resource=resource,
            direction=direction,
            units_per_s=asked_of.per_s * scale,
            partition_per_s=asked_of.partition_per_s * scale,
            carried_s=None if lasts_s == inf else lasts_s,
        )


def _in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Mitigations first; what would be said of several limits in the same words is said of the heaviest."""
    once: dict[Recommendation, Recommendation] = {}
    for one in advice:
        once.setdefault(one.model_copy(update={"resource": None, "direction": None}), one)
    return tuple(sorted(once.values(), key=lambda one: one.kind == "cure"))
