"""One recommendation tried on the simulator: with its own number, else with one that is enough."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Final

from keyheat.analysis.advice.actions import Applied, Setting, apply, counts
from keyheat.analysis.advice.case import CAUSES, AdviceCase
from keyheat.analysis.advice.hot_partition import crowded, pre_warm, too_few_partitions
from keyheat.analysis.advice.order import rank
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import Rerun
from keyheat.model.behaviour import DEFAULT
from keyheat.plan.charges import consumed_month, provisioned_month
from keyheat.runs.formats import HARDLY, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.outcome import STEADY, SimulationOutcome
from keyheat.simulator.whatif import shards_enough, smallest_shards
from keyheat.words import index_of

HELPS: Final = 0.5
"""Of what throttled, what is left at most where more of the same may be enough."""
MORE: Final = (1.5, 2.0, 3.0, 4.0)
"""Times a number that helps and is not enough: a demand may be known only from below, shards may meet."""
MOST_SHARDS: Final = 64
"""Shards of each key that anybody reads back: what takes more is no cure."""
WARMER: Final = (1.0, 2.0)
"""Times the units by the demand: partitions are paid once, every shard is paid with every read."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Advice for one limit with its numbers, tried on the simulator. Several: they work only together."""

    case: AdviceCase
    advice: tuple[Recommendation, ...]
    left: float  # what its limit throttles with it, of all attempts
    dollars: float | None  # a month with it

    @property
    def works(self) -> bool:
        """Whether the limit hardly throttles with it."""
        return self.left <= HARDLY

    @property
    def rank(self) -> int:
        """Its place among those that work."""
        return max(rank(one.action) for one in self.advice)

    @property
    def shards(self) -> int:
        """Of each key."""
        return max((one.shards or 1 for one in self.advice), default=1)

    def of(self, action: str) -> Recommendation | None:
        """Its advice of an action, if it has one."""
        return next((one for one in self.advice if one.action == action), None)


def advice_for(case: AdviceCase) -> tuple[Recommendation, ...]:
    """What is to be done about a limit, as far as the formulas say."""
    return tuple(_about(case, one) for one in recommend(case))


def _about(case: AdviceCase, advice: Recommendation) -> Recommendation:
    return advice.model_copy(update={"resource": case.resource, "direction": case.direction})


def taken(case: AdviceCase, advice: Recommendation, rerun: Rerun) -> Rerun | None:
    """The run with the advice taken; None if the simulator cannot show it."""
    on = Setting(target_utilisation=case.numbers.target_utilisation)
    applied = apply(advice, rerun.scenario, on)
    return rerun.taking(applied) if isinstance(applied, Applied) else None


def all_taken(case: AdviceCase, advice: Sequence[Recommendation], rerun: Rerun) -> Rerun | None:
    """The run with several recommendations taken; None if the simulator cannot show one of them."""
    for one in advice:
        if (then := taken(case, one, rerun)) is None:
            return None
        rerun = then
    return rerun


def trial_of(case: AdviceCase, advice: Recommendation, context: Rerun) -> Trial | None:
    """The advice with its own number, else with more of it where that helps and is not enough.

    None if the simulator cannot show it.
    """
    shards, units = (counts(advice.action, what) for what in ("shards", "units"))
    if taken(case, advice, context) is None:
        return None
    least = _with_enough_shards(case, advice, context) if shards else advice
    first = _trial(case, (least,), context)
    if first is None or first.works or not (shards or units):
        return first
    if units and first.left > HELPS * left(context.simulated(), case):
        return first  # of shards a few more may be what spreads them
    larger = (with_more(case, least, factor) for factor in MORE)
    return next((trial for one in larger if (trial := _trial(case, (one,), context)) and trial.works), first)


def with_more(case: AdviceCase, advice: Recommendation, factor: float) -> Recommendation:
    """The advice with a multiple of its number, and with its words."""
    if counts(advice.action, "shards"):
        return _reworded(replace(case, enough_shards=ceil(factor * (advice.shards or 1))), advice.action)
    return _reworded(replace(case, enough_units=factor * (advice.units or 0.0)), advice.action)


def _reworded(case: AdviceCase, action: str) -> Recommendation:
    advice = next((one for one in advice_for(case) if one.action == action), None)
    return _about(case, pre_warm(case)) if advice is None else advice


def _with_enough_shards(case: AdviceCase, advice: Recommendation, context: Rerun) -> Recommendation:
    """The advice with the number of shards that works: the formula's, which has a margin, else a larger one.

    The least that works may leave each shard at its partition's ceiling, where chance alone throttles it.
    """
    enough = _enough_shards(case, advice, context)
    if enough is None:
        return advice
    if enough < (advice.shards or 0):
        by_formula = taken(case, advice, context)
        if by_formula is not None and left(by_formula.simulated(STEADY), case) <= HARDLY:
            return advice
    return _reworded(replace(case, enough_shards=enough), advice.action)


def _enough_shards(case: AdviceCase, advice: Recommendation, context: Rerun) -> int | None:
    """The smallest number of shards that is enough for ever, as `keyheat whatif` has it."""
    if case.on_demand and too_few_partitions(case):
        return None  # they all together are asked for more than they sustain
    scenario, now = context.scenario, context.simulated()
    alone = now.share() - left(now, case) <= HARDLY
    undivided = not context.alters and scenario.keys.shards == case.shards_now
    if context.by_schedule and alone and undivided:
        found = shards_enough(scenario, index_of(case.resource))
        if isinstance(found, int):
            return found

    # What scaling gives comes later: without burst, the table's limit would hide that of its keys.
    behaviour = DEFAULT if scenario.table.scaled else STEADY

    def measure(candidate: Scenario, _seed: int) -> SimulationOutcome:
        sharded = taken(case, advice.model_copy(update={"shards": candidate.keys.shards}), context)
        return (sharded or context).simulated(behaviour)

    searched = smallest_shards(
        scenario, measure=measure, share_of=lambda outcome: left(outcome, case), most=MOST_SHARDS
    )
    return int(searched.answer.value) if searched.answer else None


def trials_of_pairs(case: AdviceCase, options: Sequence[Recommendation], context: Rerun) -> Iterator[Trial]:
    """More partitions, and shards that spread over them, where neither alone is enough."""
    warm = [one for one in options if one.action == "pre_warm"]
    if not warm and crowded(case):
        warm = [_about(case, pre_warm(case))]
    in_shards = [one for one in options if counts(one.action, "shards")]
    for factor, partitions, shards in product(WARMER, warm, in_shards):
        warmed = with_more(case, partitions, factor)
        if (then := taken(case, warmed, context)) is None:
            continue
        on_more = replace(case, warm=warmed.units, partitions_then=None)
        trial = _trial(case, (warmed, _with_enough_shards(on_more, shards, then)), context)
        if trial is not None:
            yield trial


def _trial(case: AdviceCase, advice: tuple[Recommendation, ...], context: Rerun) -> Trial | None:
    then = all_taken(case, advice, context)
    if then is None:
        return None
    outcome = then.simulated()
    return Trial(case, advice, left=left(outcome, case), dollars=dollars(then, outcome))


def left(outcome: SimulationOutcome, case: AdviceCase) -> float:
    """What the case's own limit throttles, of all attempts; any limit where its own is not determined."""
    own, cause = (index_of(case.resource), case.direction), CAUSES.get(case.constraint)
    events = sum(
        one.events for one in outcome.left if (one.index, one.direction) == own and cause in (None, one.cause)
    )
    attempts = sum(outcome.attempts.values())
    return events / attempts if attempts else 0.0


def dollars(rerun: Rerun, outcome: SimulationOutcome | None) -> float | None:
    """A month of the table with its indexes: by what is provisioned, on demand by what was consumed."""
    scenario = rerun.scenario
    if scenario.changes_capacity:
        return None
    reserved = provisioned_month(scenario.table, rerun.billing.prices)
    if reserved is not None or outcome is None:
        return reserved
    return consumed_month(outcome, scenario, rerun.billing)
