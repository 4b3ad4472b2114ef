"""Advice for one limit, tried on the simulator: with its own number, else with one that is enough."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Final

from keyheat.analysis.advice.actions import Applied, Setting, apply, counts, rank
from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.hot_partition import crowded, pre_warm, too_few_partitions
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.advice.schedule import Limit
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import CAUSE_OF_CONSTRAINT
from keyheat.runs.formats import HARDLY, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.search import STEADY, SimulationOutcome
from keyheat.simulator.whatif import shards_enough, smallest_shards
from keyheat.words import index_of

HELPS: Final = 0.5
"""Largest share of the throttles left by advice of which more may be enough."""
MORE: Final = (1.5, 2.0, 3.0, 4.0)
"""Times a number that helps and is not enough: a demand may be known only from below, shards may meet."""
MOST_SHARDS: Final = 64
"""Most shards of a key that anybody reads back: what takes more is no cure."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Advice for one limit with its numbers, simulated. Several: they work only together."""

    case: AdviceCase
    advice: tuple[Recommendation, ...]
    share: float  # throttles of its limit with it, per attempt
    dollars: float | None  # a month with it

    @property
    def works(self) -> bool:
        """Whether the limit hardly throttles with it."""
        return self.share <= HARDLY

    @property
    def shards(self) -> int:
        """Shards of each key."""
        return max((item.shards or 1 for item in self.advice), default=1)

    @property
    def rank(self) -> tuple[bool, float, int]:
        """Order among those that work: what any application can accept, the price, the preference."""
        actions = [item.action for item in self.advice]
        return "read_eventually_consistent" in actions, self.dollars or 0.0, max(map(rank, actions))

    def of(self, action: str) -> Recommendation | None:
        """Its advice of an action, if any."""
        return next((item for item in self.advice if item.action == action), None)


def taken(rerun: Rerun, case: AdviceCase, advice: Iterable[Recommendation]) -> Rerun | None:
    """Return the run with advice taken; None if the simulator cannot show it."""
    on = Setting(target_utilisation=case.numbers.target_utilisation)
    for item in advice:
        applied = apply(item, rerun.scenario, on)
        if not isinstance(applied, Applied):
            return None
        rerun = rerun.taking(applied)
    return rerun


def throttled_by(outcome: SimulationOutcome, limit: Limit) -> float:
    """Return the throttles by a limit, by any limit of its side if that is undetermined, per attempt."""
    constraint, resource, direction = limit
    side, cause = (index_of(resource), direction), CAUSE_OF_CONSTRAINT.get(constraint)
    events = sum(
        by.events for by in outcome.limits if (by.index, by.direction) == side and cause in (None, by.cause)
    )
    attempts = sum(outcome.attempts.values())
    return events / attempts if attempts else 0.0


def simulated(case: AdviceCase, context: Rerun, *advice: Recommendation) -> Trial | None:
    """Try advice with the numbers that it has; None if the simulator cannot show it."""
    then = taken(context, case, advice)
    if then is None:
        return None
    outcome = then.simulated()
    return Trial(case, advice, share=throttled_by(outcome, case.at), dollars=then.dollars(outcome))


def trial_of(case: AdviceCase, advice: Recommendation, context: Rerun) -> Trial | None:
    """Try advice with its own number, else with more of it where that helps and is not enough."""
    shards, units = (counts(advice.action, what) for what in ("shards", "units"))
    if taken(context, case, [advice]) is None:
        return None
    least = _with_enough_shards(case, advice, context.beginning()) if shards else advice
    first = simulated(case, context, least)
    if first is None or first.works or not (shards or units):
        return first
    if units and first.share > HELPS * throttled_by(context.simulated(), case.at):
        return first  # of shards a few more may be what spreads them
    larger = (simulated(case, context, _with_more(case, least, factor)) for factor in MORE)
    return next((trial for trial in larger if trial is not None and trial.works), first)


def _with_more(case: AdviceCase, advice: Recommendation, factor: float) -> Recommendation:
    """The advice with a multiple of its number, and with its words."""
    if counts(advice.action, "shards"):
        return _reworded(replace(case, enough_shards=ceil(factor * (advice.shards or 1))), advice.action)
    return _reworded(replace(case, enough_units=factor * (advice.units or 0.0)), advice.action)


def _reworded(case: AdviceCase, action: str) -> Recommendation:
    return next((item for item in recommend(case) if item.action == action), None) or pre_warm(case)


def _with_enough_shards(case: AdviceCase, advice: Recommendation, context: Rerun) -> Recommendation:
    """The advice with the number of shards that works: the formula's, which has a margin, else a larger one.

    The least that works may leave each shard at its partition's ceiling, where chance alone throttles it.
    """
    enough = _enough_shards(case, advice, context)
    if enough is None:
        return advice
    if enough < (advice.shards or 0):
        by_formula = taken(context, case, [advice])
        if by_formula is not None and throttled_by(by_formula.simulated(STEADY), case.at) <= HARDLY:
            return advice
    return _reworded(replace(case, enough_shards=enough), advice.action)


def _enough_shards(case: AdviceCase, advice: Recommendation, context: Rerun) -> int | None:
    """The smallest number of shards that is enough for ever, as `keyheat whatif` has it."""
    if case.on_demand and too_few_partitions(case):
        return None  # the demand exceeds what all of them sustain together
    scenario, now = context.scenario, context.simulated()
    alone = now.share() - throttled_by(now, case.at) <= HARDLY
    undivided = not context.alters and scenario.keys.shards == case.shards_now
    if context.by_schedule and alone and undivided:
        enough = shards_enough(scenario, index_of(case.resource))
        if isinstance(enough, int):
            return enough

    # What scaling gives comes later: without burst, the table's limit would hide that of its keys.
    behaviour = DEFAULT if scenario.table.scaled else STEADY

    def measure(candidate: Scenario, _seed: int) -> SimulationOutcome:
        sharded = taken(context, case, [advice.model_copy(update={"shards": candidate.keys.shards})])
        return (sharded or context).simulated(behaviour)

    searched = smallest_shards(
        scenario, measure=measure, share_of=lambda outcome: throttled_by(outcome, case.at), most=MOST_SHARDS
    )
    return int(searched.answer.value) if searched.answer else None


def together(case: AdviceCase, options: Sequence[Recommendation], context: Rerun) -> Iterator[Trial]:
    """Try more partitions, and shards that spread over them, where neither alone is enough."""
    warm = [item for item in options if item.action == "pre_warm"]
    if not warm and crowded(case):
        warm = [pre_warm(case)]
    in_shards = [item for item in options if counts(item.action, "shards")]
    for factor, partitions, shards in product((1.0, 2.0), warm, in_shards):
        warmed = _with_more(case, partitions, factor)
        if (then := taken(context, case, [warmed])) is not None:
            on_more = replace(case, warm=warmed.units, partitions_then=None)
            enough = _with_enough_shards(on_more, shards, then.beginning())
            trial = simulated(case, context, warmed, enough)
            if trial is not None and trial.works:
                yield trial
