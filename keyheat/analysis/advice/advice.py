"""Advice for a diagnosis: what to do about each constraint, with the simulated outcome."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Final

from keyheat.analysis.advice.case import AdviceCase, MeasuredRun
from keyheat.analysis.advice.demand import (
    Limit,
    Schedule,
    Scheduled,
    is_buffered,
    owners_of,
    provisioned_in_time,
)
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import MOST_S, Rerun, rerun_of
from keyheat.analysis.advice.search import billed, cured, step_of
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.rules import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.verdict import NOTABLE, LabelGroup, going_on, groups
from keyheat.numbers import percent, saying
from keyheat.plan.plan import predict_throttles
from keyheat.plan.prices import Prices
from keyheat.plan.quotas import DEFAULT_QUOTAS, capacities_of
from keyheat.plan.totals import LoadTotals, total_load
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import BEYOND, Cure, Demand, Evidence, Label, Recommendation
from keyheat.runs.table_facts import NOT_SCALED, AutoScaling
from keyheat.scenario.scenario import Scenario
from keyheat.words import has_capacity_model, index_of, label_of

MOST_INDEXES: Final = 50
"""Of a table that is simulated again. DynamoDB's quota is 20, each is simulated second by second."""
PRICED_S: Final = 60
"""Seconds of a demand that is not simulated: what a month costs depends on the table alone."""


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
    prices: Prices,
    replay_s: int = MOST_S,
    scaling: AutoScaling = NOT_SCALED,
) -> Advice:
    """Advise on every constraint that was found, each advice once with its outlook.

    `client` is None where the load was not ours, `scenario` where it is unknown. `heats` are those
    of the table's keys and of each index's. `prices` says what a month costs. Changes are tried
    on `replay_s` of the demand at most; with 0 none is, and numbers are by formula. `scaling` is that of a
    table in AWS. Without `labels`, the advice is on limits that only burst kept from throttling.
    """
    arranged = timeline(evidence)
    by_limit = going_on(groups(labels), arranged) if scenario is None else groups(labels)
    rerun = None
    if by_limit and len(evidence.table.indexes) <= MOST_INDEXES and has_capacity_model(evidence.endpoint):
        rerun = rerun_of(
            evidence, arranged, by_limit[0].heaviest, client=client, scenario=scenario, heats=heats,
            prices=prices, target_utilisation=numbers.recommend.target_utilisation,
            most_s=replay_s or PRICED_S,
        )  # fmt: skip
    stated = rerun.by_schedule if rerun else not by_limit and scenario and scenario.load.arrivals != "trace"
    sent = total_load(scenario, scale=scenario.local.scale) if scenario and stated else None
    demands = scheduled(scenario, sent) if scenario and sent else {}
    carried = {
        limit: carried_s
        for limit, carried_s in (on_burst(scenario, sent) if scenario and sent else {}).items()
        if by_limit or not _has_followed(limit, demands, arranged, evidence.window.end.timestamp())
    }
    if not by_limit and not carried:
        return Advice()
    on_demand = evidence.table.billing_mode == "PAY_PER_REQUEST"
    cost = client.manifest.retry_cost if client and client.manifest and by_limit else None
    measured = MeasuredRun(arranged, heats, numbers, scenario, on_demand, demands, cost, scaling)
    cases = [
        replace(measured.case(group.limit, group.labels), only_for=_only_for(group, by_limit))
        for group in by_limit
        if not _is_doubted(group, by_limit)
        if evidence.table.on_demand_since is None or group.constraint != "table"  # that capacity is gone
    ]
    if not by_limit:
        cases = [measured.case(limit, ()) for limit in carried]
    cure = None
    if rerun is None or not replay_s:
        advice = [billed(rerun, item) for case in cases for item in recommend(case)]
    else:
        hidden = partial(measured.case, labels=by_limit[0].labels)
        advice, cure = cured(cases, rerun, hidden, tuple(carried), _notable(by_limit))
    shown = any(item.foreseen and item.kind == "cure" for item in advice)
    if by_limit and cases and cure is None and not shown:
        more, cure = _by_formula(cases[0], measured, by_limit[0].labels, rerun)
        advice += more
    return Advice(_in_order(advice), cure, tuple(_stated(demands, evidence.scale, carried)))


def _has_followed(limit: Limit, demands: Schedule, arranged: EvidenceTimeline, end_s: float) -> bool:
    """Whether auto scaling had raised the capacity to the demand when the load ended."""
    constraint, resource, direction = limit
    track = arranged.track(index_of(resource), direction)
    has_per_s = track.provisioned.at(end_s - 1) if track and constraint == "table" else None
    return has_per_s is not None and has_per_s >= demands[resource, direction].per_s * arranged.scale


def _notable(by_limit: Sequence[LabelGroup]) -> list[Limit]:
    """The limits of a resource that throttle a notable part beside another limit of it."""
    total = sum(group.throttles for group in by_limit)
    sides = Counter((group.resource, group.direction) for group in by_limit)
    return [
        group.limit
        for group in by_limit
        if group.constraint != "undetermined"
        and group.throttles >= NOTABLE * total
        and sides[group.resource, group.direction] > 1
    ]


def _by_formula(
    case: AdviceCase, measured: MeasuredRun, labels: Sequence[Label], rerun: Rerun | None
) -> tuple[list[Recommendation], Cure | None]:
    """Return what cures a partition whose table or index is asked for more than it has, too.

    Nothing where one change is enough.
    """
    short = measured.case(("table", case.resource, case.direction), labels)
    if case.constraint != "partition" or short.demand is None or not short.limit or short.raised_since:
        return [], None
    if short.demand.units_per_s <= short.limit * (1 + BEYOND):
        return [], None
    spread = next((item for item in recommend(case) if item.kind == "cure"), None)
    raised = next((item for item in recommend(short) if item.action == "raise_capacity"), None)
    if spread is None or raised is None:
        return [], None
    raised = billed(rerun, raised)
    return [raised], Cure(steps=(step_of(spread), step_of(raised)), bill=raised.bill)


def scheduled(scenario: Scenario, sent: LoadTotals) -> Schedule:
    """Return the load's demand on the table and on each index, as in a plan."""
    scale = scenario.local.scale
    return {
        (label_of(side.index), side.direction): Scheduled(
            per_s=float(needs.per_s.max()) / scale,
            partition_per_s=needs.hottest.ceiling_per_s / scale,
            partitions=needs.hottest.partitions,
            by_second=(needs.per_s / scale).tolist(),
        )
        for side, needs in sent.sides.items()
        if side.table == scenario.table.name and needs.hottest is not None
    }


def on_burst(scenario: Scenario, sent: LoadTotals) -> dict[Limit, float]:
    """Return the limits that a constant load exceeds, though it may not throttle for minutes, as planned.

    The limit that is exceeded the furthest comes first, each with the seconds until burst, or an index's
    write buffer, is used up.
    """
    if scenario.is_changing:
        return {}
    given = {of.name: label_of(of.index) for of in capacities_of(scenario) if of.table == scenario.table.name}
    owners, carried, scale = owners_of(scenario), dict[Limit, float](), scenario.local.scale
    foretold = predict_throttles(scenario, sent, quotas=DEFAULT_QUOTAS, scale=scale)
    for limit in sorted(foretold, key=lambda limit: -limit.asked_per_s / limit.limit_per_s):
        resource, asked_per_s = given.get(limit.name), limit.asked_per_s / scale
        if resource is None:  # of another table
            continue
        has = provisioned_in_time(owners[resource], limit.direction, asked_per_s)
        lasting = has is not None and asked_per_s > has
        if lasting if limit.constraint == "table" else is_buffered(resource, limit.direction):
            carried[limit.constraint, resource, limit.direction] = limit.from_s
    return carried


def _stated(demands: Schedule, scale: float, carried: Mapping[Limit, float]) -> Iterator[Demand]:
    """Yield the demand on each side, as a diagnosis states it."""
    for side, needs in demands.items():
        lasts_s = min((time_s for limit, time_s in carried.items() if limit[1:] == side), default=inf)
        yield Demand(
            resource=side[0], direction=side[1], units_per_s=needs.per_s * scale,
            partition_per_s=needs.partition_per_s * scale, carried_s=None if lasts_s == inf else lasts_s,
        )  # fmt: skip


def _only_for(group: LabelGroup, by_limit: Sequence[LabelGroup]) -> str:
    """Which throttles a lighter limit is about, to begin a sentence; empty for the heaviest one."""
    if group is by_limit[0]:
        return ""
    share = percent(group.throttles / sum(other.throttles for other in by_limit))
    start_s = min(label.start for label in group.labels).timestamp()
    end_s = max(label.end for label in group.labels).timestamp()
    say = saying(start_s, end_s)
    return f"For {share} of the throttles, from {say(start_s)} to {say(end_s)} UTC, "


def _is_doubted(group: LabelGroup, by_limit: Sequence[LabelGroup]) -> bool:
    """Whether a partition is only inferred, on a resource whose heavier throttles are undetermined.

    Advice would state it as a fact, and say that more capacity does not help.
    """
    undetermined = ("undetermined", group.resource, group.direction)
    heavier = by_limit[: by_limit.index(group)]
    inferred = group.constraint == "partition" and group.heaviest.grade == "inferred"
    return inferred and undetermined in {other.limit for other in heavier}


def _in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Sort mitigations first; of equal advice for several limits keep the heaviest limit's."""
    once: dict[Recommendation, Recommendation] = {}
    for item in advice:
        once.setdefault(item.model_copy(update={"resource": None, "direction": None}), item)
    return tuple(sorted(once.values(), key=lambda item: item.kind == "cure"))
