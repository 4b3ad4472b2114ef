"""Advice for a diagnosis: what to do about each constraint, with what the simulator says would come of it."""

from collections.abc import Iterable, Sequence

from keyheat.analysis.advising.cases import Case
from keyheat.analysis.advising.demand import demand, demand_of_all
from keyheat.analysis.advising.foreseen import MOST_INDEXES, can_be_shown, with_outlooks
from keyheat.analysis.advising.rerun import rerun_of
from keyheat.analysis.endpoint import unreliable
from keyheat.analysis.heat import Heat
from keyheat.analysis.recommendations import recommend
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import Timeline, Track, timeline
from keyheat.analysis.verdict import Group, groups
from keyheat.evidence.facts import QUOTAS, partition_ceiling
from keyheat.plan.prices import load_prices
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Label, Recommendation
from keyheat.scenario.scenario import Scenario


def advise(
    labels: Sequence[Label],
    evidence: Evidence,
    heats: Sequence[Heat],
    numbers: Thresholds,
    *,
    client: ClientFiles | None,
    scenario: Scenario | None,
) -> tuple[Recommendation, ...]:
    """Advice for every constraint that was found, mitigations first, each said once with its outlook.

    `client` is None where the load was not ours, `scenario` where nobody says what it was.
    """
    arranged, found = timeline(evidence), groups(labels)
    scaled = scenario is not None and scenario.table.scaled
    cases = [_case(group, arranged, heats, numbers, scaled=scaled) for group in found]
    advice = [(case, _about(case, one)) for case in cases for one in recommend(case)]
    many = len(evidence.table.indexes) > MOST_INDEXES
    if many or unreliable(evidence) or not any(can_be_shown(case, one) for case, one in advice):
        return _in_order(one for _, one in advice)
    rerun = rerun_of(
        evidence, arranged, found[0].heaviest, client=client, scenario=scenario, heats=heats,
        prices=load_prices(),
    )  # fmt: skip
    return _in_order(with_outlooks(advice, rerun) if rerun else [one for _, one in advice])


def _about(case: Case, advice: Recommendation) -> Recommendation:
    return advice.model_copy(update={"resource": case.resource, "direction": case.direction})


def _in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Mitigations first; what would be said of several limits in the same words is said of the heaviest."""
    once: dict[Recommendation, Recommendation] = {}
    for one in advice:
        once.setdefault(one.model_copy(update={"resource": None, "direction": None}), one)
    return tuple(sorted(once.values(), key=lambda one: one.kind == "cure"))


def _case(
    group: Group, arranged: Timeline, heats: Sequence[Heat], numbers: Thresholds, *, scaled: bool
) -> Case:
    """What was measured about a constraint, in the units of a table at scale 1."""
    track = arranged.track(None if group.resource == "table" else group.resource, group.direction)
    heaviest, scale = group.heaviest, arranged.scale
    asked = demand(track, heaviest) if track else None
    if group.constraint == "account":
        asked = demand_of_all([t for t in arranged.tracks if t.direction == group.direction], heaviest)
    limit = _limit(group, arranged, track) if track else None
    heat_of = next((one for one in heats if one.direction == group.direction), None)
    return Case(
        constraint=group.constraint,
        resource=group.resource,
        direction=group.direction,
        rule=heaviest.rule,
        demand=asked.unscaled(scale) if asked else None,
        limit=None if limit is None else limit / scale,
        warm=track.warm / scale if track and track.warm else None,
        heat=heat_of.unscaled(scale) if heat_of else None,
        ceiling=partition_ceiling(group.direction),
        numbers=numbers.recommend,
        scaled=scaled,
    )


def _limit(group: Group, arranged: Timeline, track: Track) -> float | None:
    """What the constraint allows, units/s as they were measured; None where it is not known."""
    at_s = group.heaviest.start.timestamp()
    match group.constraint:
        case "table":
            return _provisioned(track, at_s)
        case "max_on_demand":
            return track.maximum.at(at_s)
        case "account":
            return arranged.quota.of(group.direction) or QUOTAS[group.direction] * arranged.scale
        case "partition" if group.heaviest.rule == NOT_GROWN:
            return track.warm
    return None


def _provisioned(track: Track, at_s: float) -> float | None:
    """What was provisioned; where it was changed around then, the lower of both values, which throttled."""
    ways = track.provisioned.readings or (track.provisioned,)
    return min((rate for way in ways if (rate := way.at(at_s)) is not None), default=None)
