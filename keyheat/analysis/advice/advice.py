"""Advice for a diagnosis: what to do about each constraint, with what the simulator says would come of it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from keyheat.analysis.advice.case import AdviceCase, demand, demand_of_all
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import Rerun, rerun_of
from keyheat.analysis.advice.table_changes import OF_UNITS, on_demand, with_units
from keyheat.analysis.heat import INDEX_NOT_COUNTED, RunHeat
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack, timeline
from keyheat.analysis.verdict import LabelGroup, groups
from keyheat.evidence.settings import QUOTAS, partition_ceiling
from keyheat.plan.charges import consumed_month, provisioned_month
from keyheat.plan.prices import Prices, load_prices
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Foreseen, Label, MonthlyBill, Recommendation
from keyheat.runs.provability import unreliable
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import eventually_consistent, in_shards
from keyheat.simulator.outcome import SimulationOutcome
from keyheat.words import Direction, index_of

HARDLY: Final = 0.001
"""A throttle share that an application with retries does not notice."""
NEAR_RATIO: Final = 0.75
"""Of the simulated and the measured throttle share, the smaller is at least so much of the larger."""


MOST_INDEXES: Final = 50
"""Of a table that is simulated again. DynamoDB's quota is 20, each is simulated second by second."""
MOST_SHOWN: Final = 10
"""Advice that is simulated, the heaviest limit first: each takes the whole run anew, or several times."""


def can_be_shown(case: AdviceCase, advice: Recommendation) -> bool:
    """Whether the advice is a change of the table or of what is sent that the simulator knows."""
    if advice.action in _IN_SHARDS:
        return advice.shards is not None
    if advice.action in OF_UNITS:
        return advice.units is not None
    return advice.action in ("read_eventually_consistent", "on_demand")


def with_outlooks(advice: Sequence[tuple[AdviceCase, Recommendation]], rerun: Rerun) -> list[Recommendation]:
    """The advice, where it can be shown, with what the simulator says of it and what it costs."""
    before = rerun.simulated()
    shown = [place for place, (case, one) in enumerate(advice) if can_be_shown(case, one)][:MOST_SHOWN]
    found = [
        _with_outlook(case, one, rerun, before) if place in shown else one
        for place, (case, one) in enumerate(advice)
    ]
    return [one for one in found if not _is_so_already(one)]


def _is_so_already(advice: Recommendation) -> bool:
    """Whether the reads that it would make eventually consistent are so already: then it changes nothing."""
    said = advice.foreseen if advice.action == "read_eventually_consistent" else None
    return said is not None and said.throttle_share_before == said.throttle_share_after


def _with_outlook(
    case: AdviceCase, advice: Recommendation, rerun: Rerun, before: SimulationOutcome
) -> Recommendation:
    changed = _changed(case, advice, rerun)
    if not _believed(rerun, before):  # then nothing is said of what is simulated, nor paid by request
        return advice.model_copy(update={"bill": _bill(rerun, changed)})
    after = changed.simulated()
    foreseen = Foreseen(
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        enough_shards=_enough(case, advice, rerun, after),
    )
    return advice.model_copy(update={"bill": _bill(rerun, changed, before, after), "foreseen": foreseen})


def _enough(case: AdviceCase, advice: Recommendation, rerun: Rerun, after: SimulationOutcome) -> int | None:
    """The next number of shards that leaves hardly a throttle, where the advised one does not, if any does.

    Shards that meet on one partition throttle although each alone would not; with more of them, less meets.
    """
    if advice.shards is None or after.share() <= HARDLY:
        return None
    count = advice.shards
    tried = sorted({count + 1, count + 2, 2 * count, 3 * count, 4 * count})
    more = (advice.model_copy(update={"shards": number}) for number in tried)
    return next(
        (one.shards for one in more if _changed(case, one, rerun).simulated().share() <= HARDLY), None
    )


def _believed(rerun: Rerun, before: SimulationOutcome) -> bool:
    """Whether the simulator repeats what was measured, nearly."""
    measured, share = rerun.measured, before.share()
    if not measured or not share:
        return False
    return NEAR_RATIO * max(measured, share) <= min(measured, share)


def _bill(rerun: Rerun, changed: Rerun, *outcomes: SimulationOutcome) -> MonthlyBill | None:
    """Dollars a month before and after, if this demand went on; None where capacity changes on the way.

    What is paid by request is known only with the outcomes of both.
    """
    tables = rerun.scenario.table, changed.scenario.table
    if rerun.scenario.timeline or any(table.scaled for table in tables):
        return None
    if not outcomes and any(table.billing_mode == "PAY_PER_REQUEST" for table in tables):
        return None
    scenarios = rerun.scenario, changed.scenario
    before, after = (
        _dollars(scenario, outcome, rerun.prices) for scenario, outcome in zip_longest(scenarios, outcomes)
    )
    return MonthlyBill(
        before_dollars_per_month=before, after_dollars_per_month=after, prices=rerun.prices.shown
    )


def _dollars(scenario: Scenario, outcome: SimulationOutcome | None, prices: Prices) -> float:
    """A month of the table with its indexes: by what is provisioned, on demand by what was consumed."""
    reserved = provisioned_month(scenario.table, prices)
    if reserved is not None:
        return reserved
    assert outcome is not None, "what is paid by request is asked for with it"
    return consumed_month(outcome, scenario.local.scale, prices)


def _changed(case: AdviceCase, advice: Recommendation, rerun: Rerun) -> Rerun:
    """The run with the advice taken."""
    index = index_of(case.resource)
    if advice.action in _IN_SHARDS:
        return rerun.altered(in_shards(advice.shards or 1, Direction(case.direction), index))
    if advice.action == "read_eventually_consistent":
        return rerun.altered(eventually_consistent)
    if advice.action == "on_demand":
        return rerun.of(on_demand(rerun.scenario))
    return rerun.of(
        with_units(
            rerun.scenario, advice.action, advice.units or 0.0, index=index, direction=case.direction,
            target=case.numbers.target_utilisation,
        )
    )  # fmt: skip


_IN_SHARDS: Final = frozenset(("shard_writes", "shard_date_key", "replicate_reads", "change_index_key"))


def advise(
    labels: Sequence[Label],
    evidence: Evidence,
    heats: Sequence[RunHeat],
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
    keyed_by = {one.name: one.partition_key for one in scenario.table.indexes} if scenario else {}
    cases = [
        replace(
            _case(group, arranged, heats, numbers, scaled=scaled),
            index_key=keyed_by.get(group.resource),
            counted=INDEX_NOT_COUNTED not in group.heaviest.because,
        )
        for group in found
    ]
    advice = [(case, _about(case, one)) for case in cases for one in recommend(case)]
    many = len(evidence.table.indexes) > MOST_INDEXES
    if many or unreliable(evidence) or not any(can_be_shown(case, one) for case, one in advice):
        return _in_order(one for _, one in advice)
    rerun = rerun_of(
        evidence, arranged, found[0].heaviest, client=client, scenario=scenario, heats=heats,
        prices=load_prices(),
    )  # fmt: skip
    return _in_order(with_outlooks(advice, rerun) if rerun else [one for _, one in advice])


def _about(case: AdviceCase, advice: Recommendation) -> Recommendation:
    return advice.model_copy(update={"resource": case.resource, "direction": case.direction})


def _in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Mitigations first; what would be said of several limits in the same words is said of the heaviest."""
    once: dict[Recommendation, Recommendation] = {}
    for one in advice:
        once.setdefault(one.model_copy(update={"resource": None, "direction": None}), one)
    return tuple(sorted(once.values(), key=lambda one: one.kind == "cure"))


def _case(
    group: LabelGroup,
    arranged: EvidenceTimeline,
    heats: Sequence[RunHeat],
    numbers: Thresholds,
    *,
    scaled: bool,
) -> AdviceCase:
    """What was measured about a constraint, in the units of a table at scale 1."""
    track = arranged.track(index_of(group.resource), group.direction)
    heaviest, scale = group.heaviest, arranged.scale
    asked = demand(track, heaviest) if track else None
    if group.constraint == "account":
        asked = demand_of_all([t for t in arranged.tracks if t.direction == group.direction], heaviest)
    limit = _limit(group, arranged, track) if track else None
    heat_of = next((one for one in heats if one.direction == group.direction), None)
    return AdviceCase(
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


def _limit(group: LabelGroup, arranged: EvidenceTimeline, track: EvidenceTrack) -> float | None:
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


def _provisioned(track: EvidenceTrack, at_s: float) -> float | None:
    """What was provisioned; where it was changed around then, the lower of both values, which throttled."""
    ways = track.provisioned.readings or (track.provisioned,)
    return min((rate for way in ways if (rate := way.at(at_s)) is not None), default=None)
