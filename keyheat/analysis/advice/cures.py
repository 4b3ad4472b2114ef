"""The cure of a run: the fewest changes that, taken together, leave hardly a throttle when it is simulated.

    simulate the run --> which limit throttles most? --> of its advice, what works is taken, with its number
           ^                                                            |
           +------------------------ with that ------------------------+     until hardly a throttle is left

Where one limit hides another (an index that holds back its table, a hot key on a table that is too small),
the second shows once the first is cured, and the cure has two steps.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, zip_longest
from math import ceil
from typing import Final

from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.recommendations import crowded, pre_warm, recommend, too_few_partitions
from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.advice.table_changes import (
    CACHE,
    OF_UNITS,
    can_cache,
    on_demand,
    with_units,
)
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import Cause
from keyheat.plan.charges import consumed_month, provisioned_month
from keyheat.runs.formats import HARDLY, Cure, CureStep, Foreseen, MonthlyBill, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import with_index_shards
from keyheat.simulator.alterations import eventually_consistent, in_copies
from keyheat.simulator.outcome import STEADY, SimulationOutcome
from keyheat.simulator.search import shards_enough, smallest_shards
from keyheat.words import Constraint, Direction, index_of, label_of

NEAR_RATIO: Final = 0.75
"""Of the simulated and the measured throttle share, the smaller is at least so much of the larger."""
MOST_ROUNDS: Final = 6
"""Limits that are cured one after the other: a few, and some of them once more."""
MOST_SHOWN: Final = 10
"""Advice whose whole run is simulated anew, the heaviest limit first; of a long run less."""
MOST_SHOWN_S: Final = 2_000.0
"""Simulated seconds of all that together; four are shown of any run."""
HELPS: Final = 0.5
"""Of what throttled, what is left at most where more of the same may be enough."""
MORE: Final = (1.5, 2.0, 3.0, 4.0)
"""Times a number that helps and is not enough: a demand may be known only from below, shards may meet."""
MOST_SHARDS: Final = 64
"""Shards of each key that anybody reads back: what takes more is no cure."""
MANY: Final = 2
"""Times fewer shards, from where more partitions beside them are worth their price."""
WARMER: Final = (1.0, 2.0)
"""Times the units by the demand: partitions are paid once, every shard is paid with every read."""
CAUSES: Final[Mapping[Constraint, Cause]] = {
    "partition": Cause.KEY_RANGE,
    "table": Cause.PROVISIONED,
    "max_on_demand": Cause.MAX_ON_DEMAND,
    "account": Cause.ACCOUNT,
}
IN_SHARDS: Final = frozenset(("shard_writes", "shard_date_key", "replicate_reads", "change_index_key"))
PREFERRED: Final = (
    "shard_writes", "shard_date_key", "change_index_key", "raise_minimum", "raise_capacity",
    "raise_max_on_demand", "pre_warm", "cache_reads", "replicate_reads", "on_demand", "auto_scaling",
    "read_eventually_consistent",
)  # fmt: skip
"""Actions in the order in which one is chosen, where dollars do not decide."""

Limit = tuple[Constraint, str, Direction]
CaseOf = Callable[[Limit], AdviceCase | None]
"""The case of a limit that shows only once another is cured; None where too little is known of it."""


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


@dataclass(slots=True, kw_only=True)
class CureSearch:
    """The search for what cures a run, limit by limit."""

    rerun: Rerun
    cases: dict[Limit, AdviceCase]  # the heaviest first; those that show once others are cured join them
    case_of: CaseOf
    on_burst: Sequence[Limit] = ()  # what is asked for more than it has, whether or not it throttles yet
    taken: dict[Limit, Trial] = field(default_factory=dict)
    _tried: dict[tuple[Limit, str, tuple[Limit, ...]], Trial] = field(default_factory=dict)

    def search(self) -> None:
        """Take what is needed so that hardly a throttle is left, if it is found; nothing needless stays."""
        for limit in self.on_burst:
            self._take(limit)
        for _ in range(MOST_ROUNDS):
            outcome = _with(self.rerun, self.taken.values()).simulated()
            if outcome.share() <= HARDLY:
                self._drop_the_needless()
                return
            if not any(self._take(limit) for limit in _limits(outcome)):
                return

    def _take(self, limit: Limit) -> bool:
        """Take what works against a limit, if something does that is not taken yet."""
        case = self.cases.get(limit) or self.case_of(limit)
        if case is None:
            return False
        self.cases[limit] = case
        best = self._best(case)
        if best is None or self.taken.get(limit) == best:
            return False
        self.taken[limit] = best
        return True

    def _drop_the_needless(self) -> None:
        for limit in tuple(one for one in self.taken if one not in self.on_burst):
            if len(self.taken) == 1:
                return
            rest = {other: one for other, one in self.taken.items() if other != limit}
            if _with(self.rerun, rest.values()).simulated().share() <= HARDLY:
                self.taken = rest

    def _best(self, case: AdviceCase) -> Trial | None:
        """What works: the cheapest where all have a price, else the usual one; None: nothing does."""
        context = self.context(case)
        options = [one for one in advice_for(case) if can_be_shown(one, self.rerun)]
        works = [trial for one in options if (trial := self.tried(case, one)).works]
        best = None
        if any(trial.dollars is None for trial in works):
            best = min(works, key=lambda trial: trial.preferred)
        elif works:
            best = min(works, key=lambda trial: (_last(trial), trial.dollars, trial.preferred))
        formula = max((one.shards or 1 for one in options), default=1)
        if best is not None and best.shards <= MANY * formula:
            return best
        pairs = [trial for trial in _pairs(case, options, context) if trial.works]
        pair = min(pairs, key=lambda trial: trial.shards, default=None)
        return pair if pair is not None and (best is None or MANY * pair.shards <= best.shards) else best

    def context(self, case: AdviceCase) -> Rerun:
        """The run in which what else throttles is cured."""
        own = _limit(case)
        return _with(self.rerun, (one for limit, one in self.taken.items() if limit != own))

    def tried(self, case: AdviceCase, advice: Recommendation) -> Trial:
        """The advice with the number that works, if one does, where what else throttles is cured."""
        own = _limit(case)
        known = own, advice.action, tuple(limit for limit in self.taken if limit != own)
        if known not in self._tried:
            self._tried[known] = _tried(case, advice, self.context(case))
        return self._tried[known]


def cured(
    cases: Sequence[AdviceCase], rerun: Rerun, case_of: CaseOf, on_burst: Sequence[Limit] = ()
) -> tuple[list[Recommendation], Cure | None]:
    """The advice for each case, what the simulator says of it and its cost; and the cure, if one is found.

    A cure lasts: limits that only saved burst keeps from throttling, `on_burst`, are cured with the others.
    Where the simulator does not repeat the run, nothing is said of what is simulated.
    """
    if not any(can_be_shown(one, rerun) for case in cases for one in advice_for(case)):
        return [one for case in cases for one in advice_for(case)], None
    before = rerun.simulated()
    if rerun.measured is not None and max(rerun.measured, before.share()) <= HARDLY and not on_burst:
        return [one for case in cases for one in advice_for(case) if one.kind == "mitigation"], None
    if not _believed(rerun, before):
        return [_billed(rerun, case, one) for case in cases for one in advice_for(case)], None
    known = {_limit(case): case for case in cases}
    search = CureSearch(rerun=rerun.brief(), cases=known, case_of=case_of, on_burst=on_burst)
    search.search()
    if search.rerun is not rerun:  # what only shows later is cured as well
        search.rerun = rerun
        search.search()
    return list(_advice(search, before)), _cure(search, before)


def _advice(search: CureSearch, before: SimulationOutcome) -> Iterator[Recommendation]:
    """Every advice; what is taken with the number that it is taken with."""
    shown, lasts_s = 0, search.rerun.scenario.load.duration_s
    most = min(MOST_SHOWN, max(4, int(MOST_SHOWN_S / lasts_s)))
    for limit, case in search.cases.items():
        for one in advice_for(case):
            if shown >= most or not can_be_shown(one, search.rerun):
                yield one
                continue
            shown += 1
            own = search.taken.get(limit)
            trial = own if own and own.of(one.action) else search.tried(case, one)
            step = trial is own and sum(len(taken.advice) for taken in search.taken.values()) > 1
            found = _foreseen(trial, one, search.rerun, before, in_cure=step)
            if not _is_so_already(found):
                yield found


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
        return advice.units is not None
    if advice.action == "cache_reads":
        return rerun.by_schedule and can_cache(rerun.scenario)
    return advice.action in ("read_eventually_consistent", "on_demand")


def _limit(case: AdviceCase) -> Limit:
    return case.constraint, case.resource, case.direction


def _limits(outcome: SimulationOutcome) -> list[Limit]:
    """The limits that throttle, the one that does most first."""
    named = {cause: constraint for constraint, cause in CAUSES.items()}
    return [(named[one.cause], label_of(one.index), one.direction) for one in outcome.left]


def _last(trial: Trial) -> bool:
    """Whether it asks something of the application that not every one can bear."""
    return trial.of("read_eventually_consistent") is not None


def _with(rerun: Rerun, taken: Iterable[Trial]) -> Rerun:
    """The run with all of that."""
    for trial in taken:
        for one in trial.advice:
            rerun = _changed(trial.case, one, rerun)
    return rerun


def _tried(case: AdviceCase, advice: Recommendation, context: Rerun) -> Trial:
    """The advice with its own number, else with more of it where that helps and is not enough."""
    spreads = advice.action in IN_SHARDS
    asked = _sharded(case, advice, context) if spreads else advice
    first = _trial(case, (asked,), context)
    if first.works or not (spreads or advice.action in OF_UNITS):
        return first
    if not spreads and first.left > HELPS * _left(context.simulated(), case):
        return first  # of shards a few more may be what spreads them
    with_more = _with_shards if spreads else _with_units
    more = (_trial(case, (with_more(case, asked, factor),), context) for factor in MORE)
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
        formula = _changed(case, advice, context).simulated(STEADY)
        if _left(formula, case) <= HARDLY:
            return advice
    return _said(replace(case, enough_shards=enough), advice.action)


def _pairs(case: AdviceCase, options: Sequence[Recommendation], context: Rerun) -> Iterator[Trial]:
    """More partitions, and shards that spread over them, where neither alone is enough."""
    of_units = [one for one in options if one.action == "pre_warm"]
    if not of_units and crowded(case):
        of_units = [_about(case, pre_warm(case))]
    in_shards = [one for one in options if one.action in IN_SHARDS]
    for factor, warm, shards in product(WARMER, of_units, in_shards):
        warmed = _with_units(case, warm, factor)
        sharded = _sharded(
            replace(case, warm=warmed.units, partitions_then=None), shards, _changed(case, warmed, context)
        )
        yield _trial(case, (warmed, sharded), context)


def _trial(case: AdviceCase, advice: tuple[Recommendation, ...], context: Rerun) -> Trial:
    changed = context
    for one in advice:
        changed = _changed(case, one, changed)
    outcome = changed.simulated()
    return Trial(case, advice, left=_left(outcome, case), dollars=_dollars(changed, outcome))


def _left(outcome: SimulationOutcome, case: AdviceCase) -> float:
    """What the case's own limit throttles, of all attempts."""
    own = index_of(case.resource), case.direction, CAUSES.get(case.constraint)
    events = sum(one.events for one in outcome.left if (one.index, one.direction, one.cause) == own)
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
    spread = _index_sharded(case, 2, context) is not None
    if context.by_schedule and alone and not spread and not context.changes and context.shards is None:
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
    return searched.answer.value if searched.answer else None


def _changed(case: AdviceCase, advice: Recommendation, rerun: Rerun) -> Rerun:
    """The run with the advice taken."""
    index = index_of(case.resource)
    if advice.action in IN_SHARDS:
        if (found := _index_sharded(case, advice.shards or 1, rerun)) is not None:
            return found
        if advice.action == "replicate_reads":
            return rerun.altered(in_copies(advice.shards or 1))
        return rerun.sharded(advice.shards or 1, case.direction, index)
    if advice.action == "read_eventually_consistent":
        return rerun.altered(eventually_consistent)
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


def _foreseen(
    trial: Trial, formula: Recommendation, rerun: Rerun, before: SimulationOutcome, *, in_cure: bool
) -> Recommendation:
    """The advice as it was tried, with what it brings alone, and what the formula's number would have."""
    found = trial.of(formula.action) or formula
    alone, other = _changed(trial.case, found, rerun), formula.shards not in (None, found.shards)
    after = alone.simulated()
    foreseen = Foreseen(
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        in_cure=in_cure,
        sent_once=bool(rerun.retried_requests),
        formula_shards=formula.shards if other else None,
        formula_share_after=_changed(trial.case, formula, rerun).simulated().share() if other else None,
    )
    said = {"foreseen": foreseen, "bill": _bill(rerun, alone, before, after)}
    return found.model_copy(update=said if trial.works else {**said, "kind": "insufficient"})


def _is_so_already(advice: Recommendation) -> bool:
    """Whether the reads that it would make eventually consistent are so already: then it changes nothing."""
    said = advice.foreseen if advice.action == "read_eventually_consistent" else None
    return said is not None and said.throttle_share_before == said.throttle_share_after


def _believed(rerun: Rerun, before: SimulationOutcome) -> bool:
    """Whether the simulator repeats what was measured, nearly: with the retries that there were."""
    measured, repeated = rerun.measured, rerun.as_it_was_sent(before)
    share = repeated.share() if repeated is not None else 0.0
    if not measured or not share:
        return False
    return NEAR_RATIO * max(measured, share) <= min(measured, share)


def _cure(search: CureSearch, before: SimulationOutcome) -> Cure | None:
    """What was taken, if it leaves hardly a throttle."""
    changed = _with(search.rerun, search.taken.values())
    after = changed.simulated()
    if not search.taken or after.share() > HARDLY:
        return None
    steps = [
        CureStep(
            action=one.action, resource=resource, direction=direction, shards=one.shards, units=one.units
        )
        for (_, resource, direction), trial in search.taken.items()
        for one in trial.advice
    ]
    return Cure(
        steps=tuple(steps),
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        sent_once=bool(search.rerun.retried_requests),
        bill=_bill(search.rerun, changed, before, after),
    )


def _billed(rerun: Rerun, case: AdviceCase, advice: Recommendation) -> Recommendation:
    """The advice with what is provisioned then, which nobody needs to simulate."""
    if not can_be_shown(advice, rerun):
        return advice
    return advice.model_copy(update={"bill": _bill(rerun, _changed(case, advice, rerun))})


def _bill(rerun: Rerun, changed: Rerun, *outcomes: SimulationOutcome) -> MonthlyBill | None:
    """Dollars a month before and after, if this demand went on; None where capacity changes on the way.

    What is paid by request is known only with the outcomes of both.
    """
    before, after = (_dollars(one, outcome) for one, outcome in zip_longest((rerun, changed), outcomes))
    if before is None or after is None:
        return None
    return MonthlyBill(
        before_dollars_per_month=before,
        after_dollars_per_month=after,
        prices=rerun.billing.prices.shown,
        hours_per_day=rerun.billing.hours_per_day,
        by_request=changed.scenario.table.billing_mode == "PAY_PER_REQUEST",
    )


def _dollars(rerun: Rerun, outcome: SimulationOutcome | None) -> float | None:
    """A month of the table with its indexes: by what is provisioned, on demand by what was consumed."""
    scenario = rerun.scenario
    if scenario.timeline or scenario.table.scaled:
        return None
    reserved = provisioned_month(scenario.table, rerun.billing.prices)
    if reserved is not None or outcome is None:
        return reserved
    return consumed_month(outcome, scenario, rerun.billing)
