"""What advice changes in a run, seen on the simulator: with its own number, else with one that is enough."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Final

from keyheat.analysis.advice.case import CAUSES, AdviceCase
from keyheat.analysis.advice.hot_partition import crowded, pre_warm, too_few_partitions
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.advice.table_changes import (
    CACHE,
    OF_UNITS,
    can_cache,
    on_demand,
    with_units,
)
from keyheat.model.behaviour import DEFAULT
from keyheat.plan.charges import consumed_month, provisioned_month
from keyheat.runs.formats import HARDLY, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.part import MOST_UNITS
from keyheat.scenario.variants import with_index_shards
from keyheat.simulator.alterations import in_copies, in_eventual_reads
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
IN_SHARDS: Final = frozenset(("shard_writes", "shard_date_key", "replicate_reads", "change_index_key"))
PREFERRED: Final = (
    "shard_writes", "shard_date_key", "change_index_key", "raise_minimum", "raise_capacity",
    "raise_max_on_demand", "pre_warm", "cache_reads", "replicate_reads", "on_demand", "auto_scaling",
    "read_eventually_consistent",
)  # fmt: skip
"""Actions in the order in which one is chosen, where dollars do not decide."""


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
    def preferred(self) -> int:
        """Its place among those that work."""
        return max(PREFERRED.index(one.action) for one in self.advice)

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


def can_be_shown(advice: Recommendation, rerun: Rerun) -> bool:
    """Whether the advice is a change of the table or of what is sent that the simulator knows."""
    if advice.action in IN_SHARDS:
        return advice.shards is not None and rerun.scenario.dynamic_sharding is None
    if advice.action in OF_UNITS:
        return advice.units is not None and advice.units <= MOST_UNITS
    if advice.action == "cache_reads":
        return rerun.by_schedule and can_cache(rerun.scenario)
    return advice.action in ("read_eventually_consistent", "on_demand")


def trial_of(case: AdviceCase, advice: Recommendation, context: Rerun) -> Trial:
    """The advice with its own number, else with more of it where that helps and is not enough."""
    spreads = advice.action in IN_SHARDS
    asked = _sharded(case, advice, context) if spreads else advice
    first = _trial(case, (asked,), context)
    if first.works or not (spreads or advice.action in OF_UNITS):
        return first
    if not spreads and first.left > HELPS * _left(context.simulated(), case):
        return first  # of shards a few more may be what spreads them
    with_more = _with_shards if spreads else _with_units
    larger = (with_more(case, asked, factor) for factor in MORE)
    more = (_trial(case, (one,), context) for one in larger if can_be_shown(one, context))
    return next((trial for trial in more if trial.works), first)


def _with_shards(case: AdviceCase, advice: Recommendation, factor: float) -> Recommendation:
    return _said(replace(case, enough_shards=ceil(factor * (advice.shards or 1))), advice.action)


def _with_units(case: AdviceCase, advice: Recommendation, factor: float) -> Recommendation:
    return _said(replace(case, enough_units=factor * (advice.units or 0.0)), advice.action)


def _sharded(case: AdviceCase, advice: Recommendation, context: Rerun) -> Recommendation:
    """The advice with the number of shards that works: the formula's, which has a margin, else a larger one.

    The least that works may leave each shard at its partition's ceiling, where chance alone throttles it.
    """
    enough = _enough_shards(case, context)
    if enough is None:
        return advice
    if enough < (advice.shards or 0):
        formula = changed(case, advice, context).simulated(STEADY)
        if _left(formula, case) <= HARDLY:
            return advice
    return _said(replace(case, enough_shards=enough), advice.action)


def trials_of_pairs(case: AdviceCase, options: Sequence[Recommendation], context: Rerun) -> Iterator[Trial]:
    """More partitions, and shards that spread over them, where neither alone is enough."""
    of_units = [one for one in options if one.action == "pre_warm"]
    if not of_units and crowded(case):
        of_units = [_about(case, pre_warm(case))]
    in_shards = [one for one in options if one.action in IN_SHARDS]
    for factor, warm, shards in product(WARMER, of_units, in_shards):
        warmed = _with_units(case, warm, factor)
        if not can_be_shown(warmed, context):
            continue
        sharded = _sharded(
            replace(case, warm=warmed.units, partitions_then=None), shards, changed(case, warmed, context)
        )
        yield _trial(case, (warmed, sharded), context)


def _trial(case: AdviceCase, advice: tuple[Recommendation, ...], context: Rerun) -> Trial:
    then = context
    for one in advice:
        then = changed(case, one, then)
    outcome = then.simulated()
    return Trial(case, advice, left=_left(outcome, case), dollars=dollars(then, outcome))


def _left(outcome: SimulationOutcome, case: AdviceCase) -> float:
    """What the case's own limit throttles, of all attempts; any limit where its own is not determined."""
    own, cause = (index_of(case.resource), case.direction), CAUSES.get(case.constraint)
    left = [one for one in outcome.left if (one.index, one.direction) == own and cause in (None, one.cause)]
    events = sum(one.events for one in left)
    attempts = sum(outcome.attempts.values())
    return events / attempts if attempts else 0.0


def _said(case: AdviceCase, action: str) -> Recommendation:
    found = next((one for one in advice_for(case) if one.action == action), None)
    return _about(case, pre_warm(case)) if found is None else found


def _enough_shards(case: AdviceCase, context: Rerun) -> int | None:
    """The smallest number of shards that is enough for ever, as `keyheat whatif` has it."""
    if case.on_demand and too_few_partitions(case):
        return None  # they all together are asked for more than they sustain
    index, now = index_of(case.resource), context.simulated()
    alone = now.share() - _left(now, case) <= HARDLY
    if context.by_schedule and alone and not context.changes and context.shards is None:
        found = shards_enough(context.scenario, index)
        if isinstance(found, int):
            return found

    # What scaling gives comes later: without burst, the table's limit would hide that of its keys.
    lasts = not context.scenario.table.scaled

    def measure(candidate: Scenario, _seed: int) -> SimulationOutcome:
        count = candidate.keys.shards
        sharded = _index_sharded(case, count, context) or context.sharded(count, case.direction, index)
        return sharded.simulated(STEADY if lasts else DEFAULT)

    scenario = context.scenario
    searched = smallest_shards(
        scenario, measure=measure, share_of=lambda outcome: _left(outcome, case), most=MOST_SHARDS
    )
    return int(searched.answer.value) if searched.answer else None


def changed(case: AdviceCase, advice: Recommendation, rerun: Rerun) -> Rerun:
    """The run with the advice taken."""
    index = index_of(case.resource)
    if advice.action in IN_SHARDS:
        if (found := _index_sharded(case, advice.shards or 1, rerun)) is not None:
            return found
        if advice.action == "replicate_reads":
            return rerun.altered(in_copies, advice.shards or 1)
        return rerun.sharded(advice.shards or 1, case.direction, index)
    if advice.action == "read_eventually_consistent":
        return rerun.altered(in_eventual_reads)
    if advice.action == "cache_reads":
        return rerun.sending(rerun.scenario.model_copy(update={"cache": CACHE}))
    if advice.action == "on_demand":
        return rerun.of(on_demand(rerun.scenario))
    return rerun.of(
        with_units(
            rerun.scenario, advice.action, advice.units or 0.0, index=index, direction=case.direction,
            target=case.numbers.target_utilisation,
        )
    )  # fmt: skip


def _index_sharded(case: AdviceCase, shards: int, rerun: Rerun) -> Rerun | None:
    """The run whose scenario spreads the index's key, as `keyheat fix` tries it; None where none says how."""
    index = index_of(case.resource)
    if index is None or not rerun.by_schedule or case.direction != "write":
        return None
    changed = with_index_shards(rerun.scenario, index, shards)
    return None if changed is None else rerun.sending(changed).of(changed)


def dollars(rerun: Rerun, outcome: SimulationOutcome | None) -> float | None:
    """A month of the table with its indexes: by what is provisioned, on demand by what was consumed."""
    scenario = rerun.scenario
    if scenario.changes_capacity:
        return None
    reserved = provisioned_month(scenario.table, rerun.billing.prices)
    if reserved is not None or outcome is None:
        return reserved
    return consumed_month(outcome, scenario, rerun.billing)
