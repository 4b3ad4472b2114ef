"""Advice for a diagnosis: what to do about each constraint, with what the simulator says would come of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.advice.case import AdviceCase, Limit, MeasuredDemand, demand, demand_of_all
from keyheat.analysis.advice.client import client_setting
from keyheat.analysis.advice.cures import cured
from keyheat.analysis.advice.effect import advice_for
from keyheat.analysis.advice.rerun import rerun_of
from keyheat.analysis.heat import INDEX_NOT_COUNTED, RunHeat
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack, timeline
from keyheat.analysis.verdict import LabelGroup, groups
from keyheat.evidence.settings import QUOTAS, partition_ceiling
from keyheat.plan.prices import Billing
from keyheat.plan.totals import expected
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Cure, Demand, Evidence, Label, Recommendation
from keyheat.runs.provability import unreliable
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import IndexSpec, ScalingSpec, TableSpec
from keyheat.words import TABLE, Direction, index_of, label_of

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
) -> Advice:
    """Advice for every constraint that was found, each said once with its outlook.

    `client` is None where the load was not ours, `scenario` where nobody says what it was. `heats` are those
    of the table's keys and of each index's. `billing` says what a month costs.
    """
    arranged, found = timeline(evidence), groups(labels)
    if not found:
        return _foresight(arranged, evidence, heats, numbers, scenario)
    rerun = None
    if len(evidence.table.indexes) <= MOST_INDEXES and not unreliable(evidence):
        rerun = rerun_of(
            evidence, arranged, found[0].heaviest, client=client, scenario=scenario, heats=heats,
            billing=billing,
        )  # fmt: skip
    asked = scheduled(scenario) if scenario and rerun and rerun.by_schedule else {}
    measured = MeasuredRun(
        arranged, heats, numbers, scenario, evidence.table.billing_mode == "PAY_PER_REQUEST", asked
    )
    cases = [measured.case(_limit_of(group), group.heaviest) for group in found]
    cure = None
    if rerun is None:
        advice = [one for case in cases for one in advice_for(case)]
    else:
        carried = on_burst(scenario, asked) if scenario else ()
        advice, cure = cured(cases, rerun, lambda limit: measured.case(limit, found[0].heaviest), carried)
        retries = client_setting(rerun, labels, _ended_s(client, evidence))
        if retries is not None:  # more than the word that waiting helps
            advice = [retries, *(one for one in advice if one.action != "back_off")]
    return Advice(_in_order(advice), cure, tuple(_demands(asked, evidence.scale)))


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
    if scenario is None or not _stays(scenario) or scenario.load.arrivals == "trace":
        return Advice()
    asked = scheduled(scenario)
    carried = on_burst(scenario, asked)
    if not carried:
        return Advice()
    measured = MeasuredRun(arranged, heats, numbers, scenario, on_demand=False, asked=asked)
    advice = [one for limit in carried for one in advice_for(measured.case(limit, None))]
    return Advice(_in_order(advice), None, tuple(_demands(asked, evidence.scale)))


def _limit_of(group: LabelGroup) -> Limit:
    return group.constraint, group.resource, group.direction


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a load asks of one side at its peak, and what that meets, units/s of an unscaled table."""

    per_s: float
    partition_per_s: float  # what one partition sustains of such requests
    partitions: int


Schedule = Mapping[tuple[str, Direction], Scheduled]


def scheduled(scenario: Scenario) -> Schedule:
    """What the load asks of the table and of each index, as a plan has it."""
    scale = scenario.local.scale
    sent = expected(scenario, scale=scale)
    return {
        (label_of(side.index), side.direction): Scheduled(
            float(asked.per_s.max()) / scale, asked.hottest.ceiling_per_s / scale, asked.hottest.partitions
        )
        for side, asked in (sent.sides if sent else {}).items()
        if side.table == scenario.table.name and asked.hottest is not None
    }


def on_burst(scenario: Scenario, asked: Schedule) -> tuple[Limit, ...]:
    """What a load that stays the same asks for beyond what is provisioned: saved burst ends after minutes.

    Auto scaling gives what it may at most, in the end.
    """
    if not _stays(scenario):
        return ()
    owners = _owners(scenario)
    return tuple(
        ("table", resource, direction)
        for (resource, direction), one in asked.items()
        if (units := _most(owners[resource], direction)) is not None and one.per_s > units
    )


def _owners(scenario: Scenario) -> Mapping[str, TableSpec | IndexSpec]:
    """What has capacity of its own, by the names that labels give it."""
    return {TABLE: scenario.table, **{label_of(index.name): index for index in scenario.table.indexes}}


def _is_scaled(owner: TableSpec | IndexSpec | None, direction: Direction) -> bool:
    return owner is not None and getattr(owner.auto_scaling, direction, None) is not None


def _most(owner: TableSpec | IndexSpec, direction: Direction) -> float | None:
    """The most units/s that are ever provisioned for a side, by itself or by auto scaling."""
    has: int | None = getattr(owner.provisioned, direction, None)
    policy: ScalingSpec | None = getattr(owner.auto_scaling, direction, None)
    return max(has, policy.max) if has and policy else has


def _stays(scenario: Scenario) -> bool:
    """Whether nobody changes its load or its capacity, so that what is above it is so for ever."""
    return scenario.table.billing_mode == "PROVISIONED" and not scenario.is_changing


def _demands(asked: Schedule, scale: float) -> Iterator[Demand]:
    for (resource, direction), one in asked.items():
        yield Demand(
            resource=resource,
            direction=direction,
            units_per_s=one.per_s * scale,
            partition_per_s=one.partition_per_s * scale,
        )


def _in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Mitigations first; what would be said of several limits in the same words is said of the heaviest."""
    once: dict[Recommendation, Recommendation] = {}
    for one in advice:
        once.setdefault(one.model_copy(update={"resource": None, "direction": None}), one)
    return tuple(sorted(once.values(), key=lambda one: one.kind == "cure"))


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Everything that was measured in a run, from which the case of any of its limits is made."""

    arranged: EvidenceTimeline
    heats: Sequence[RunHeat]
    numbers: Thresholds
    scenario: Scenario | None
    on_demand: bool
    asked: Schedule  # of the load; empty where nobody says it

    def case(self, limit: Limit, label: Label | None) -> AdviceCase:
        """What was measured about a limit, in the units of a table at scale 1.

        `label` is its own, or another of the run that throttled while this limit did not show.
        """
        constraint, resource, direction = limit
        index, scale, scenario = index_of(resource), self.arranged.scale, self.scenario
        track, own = self.arranged.track(index, direction), (index, direction)
        allowed = _allowed(limit, label, self.arranged, track) if track else None
        told = label is not None and (label.constraint, label.resource) == (constraint, resource)
        heat = next((one for one in self.heats if (one.index, one.direction) == own), None)
        planned = self.asked.get((resource, direction))
        keyed_by = (
            {one.name: " + ".join(one.partition_keys) for one in scenario.table.indexes} if scenario else {}
        )
        return AdviceCase(
            constraint=constraint,
            resource=resource,
            direction=direction,
            rule=label.rule if label is not None and told else None,
            demand=self._demand(limit, label, track),
            limit=None if allowed is None else allowed / scale,
            warm=track.warm / scale if track and track.warm else None,
            heat=heat.unscaled(scale) if heat else None,
            ceiling=planned.partition_per_s if planned else partition_ceiling(direction),
            partitions_then=planned.partitions if planned else None,
            numbers=self.numbers.recommend,
            on_demand=self.on_demand,
            scaled=scenario is not None and _is_scaled(_owners(scenario).get(resource), direction),
            index_key=keyed_by.get(resource),
            counted=label is None or INDEX_NOT_COUNTED not in label.because,
            shards_now=scenario.keys.shards if scenario else 1,
        )

    def _demand(
        self, limit: Limit, label: Label | None, track: EvidenceTrack | None
    ) -> MeasuredDemand | None:
        """By the schedule, else as it was measured; of the account, that of the table and its indexes."""
        constraint, resource, direction = limit
        planned = self.asked.get((resource, direction))
        if constraint != "account" and planned is not None:
            return MeasuredDemand(planned.per_s, by="schedule", scale=self.arranged.scale)
        if label is None:
            return None
        if constraint == "account":
            found = demand_of_all([one for one in self.arranged.tracks if one.direction == direction], label)
        else:
            found = demand(track, label) if track else None
        return found.unscaled(self.arranged.scale) if found else None


def _allowed(
    limit: Limit, label: Label | None, arranged: EvidenceTimeline, track: EvidenceTrack
) -> float | None:
    """What the constraint allows, units/s as they were measured; None where it is not known."""
    constraint, _, direction = limit
    at_s = label.start.timestamp() if label is not None else float(min(track.consumed or (0,)))
    match constraint:
        case "table":
            return _provisioned(track, at_s)
        case "max_on_demand":
            return track.maximum.at(at_s)
        case "account":
            return arranged.quota.of(direction) or QUOTAS[direction] * arranged.scale
        case "partition" if label is not None and label.rule == NOT_GROWN:
            return track.warm
    return None


def _provisioned(track: EvidenceTrack, at_s: float) -> float | None:
    """What was provisioned; where it was changed around then, the lower of both values, which throttled."""
    ways = track.provisioned.readings or (track.provisioned,)
    return min((rate for way in ways if (rate := way.at(at_s)) is not None), default=None)
