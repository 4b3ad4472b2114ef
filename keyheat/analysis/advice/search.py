"""The cure of a run: the fewest changes that together leave hardly a throttle in simulation.

    simulate the run --> which limit throttles most? --> take the advice that works, with its number
           ^                                                    |
           +----------------- with that change -----------------+     until hardly a throttle is left

If one limit hides another (an index that throttles its table, a hot key on a table that is too small), the
second shows once the first is cured, and the cure has two steps.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil, inf
from typing import Final

from keyheat.analysis.advice.actions import counts, rank
from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.demand import Limit, MeasuredDemand, owners_of, provisioned_in_time
from keyheat.analysis.advice.hot_partition import pre_warm, too_few_partitions
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import MOST_RETRIED, Rerun
from keyheat.model.behaviour import DEFAULT
from keyheat.model.resources import CAUSE_OF_CONSTRAINT
from keyheat.runs.formats import BEYOND, HARDLY, Cure, CureStep, Foreseen, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.search import STEADY, SimulationOutcome
from keyheat.simulator.whatif import shards_enough, smallest_shards
from keyheat.words import Direction, index_of, label_of

NEAR_RATIO: Final = 0.75
"""Least ratio of the smaller to the larger of the simulated and the measured throttle share."""
MOST_ROUNDS: Final = 3
"""Most limits that are cured one after the other, repetitions included."""
MOST_SHOWN: Final = 10
"""Most recommendations that are simulated, the heaviest limit first; fewer for a long run."""
MOST_SHOWN_S: Final = 2_000.0
"""Most simulated seconds for all of them; at least four recommendations are simulated."""
MANY: Final = 2
"""Least factor of saved shards at which more partitions, which are paid once, are worth their price."""
HELPS: Final = 0.5
"""Largest share of the throttles left by advice of which more may be enough."""
MORE: Final = (1.5, 2.0, 3.0, 4.0)
"""Times a number that helps and is not enough: a demand may be known only from below, shards may meet."""
MOST_SHARDS: Final = 64
"""Most shards of a key that anybody reads back: what takes more is no cure."""


def throttled_by(outcome: SimulationOutcome, limit: Limit) -> float:
    """Return the throttles by a limit, by any limit of its side if that is undetermined, per attempt."""
    constraint, resource, direction = limit
    side, cause = (index_of(resource), direction), CAUSE_OF_CONSTRAINT.get(constraint)
    events = sum(
        by.events for by in outcome.limits if (by.index, by.direction) == side and cause in (None, by.cause)
    )
    attempts = sum(outcome.attempts.values())
    return events / attempts if attempts else 0.0


def limits_of(outcome: SimulationOutcome) -> list[Limit]:
    """Return the limits that throttle, the heaviest first."""
    named = {cause: constraint for constraint, cause in CAUSE_OF_CONSTRAINT.items()}
    return [(named[limit.cause], label_of(limit.index), limit.direction) for limit in outcome.limits]


@dataclass(frozen=True, slots=True)
class Trial:
    """Advice for one limit with its numbers, simulated. Several: they work only together."""

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


def simulated(case: AdviceCase, context: Rerun, *advice: Recommendation) -> Trial | None:
    """Try advice with the numbers that it has; None if the simulator cannot show it."""
    then = context.taking(*advice)
    if then is None:
        return None
    outcome = then.simulated()
    return Trial(advice, share=throttled_by(outcome, case.at), dollars=then.dollars(outcome))


def trial_of(case: AdviceCase, advice: Recommendation, context: Rerun) -> Trial | None:
    """Try advice with its own number, else with more of it where that helps and is not enough."""
    shards, units = (counts(advice.action, what) for what in ("shards", "units"))
    if context.taking(advice) is None:
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
        by_formula = context.taking(advice)
        if by_formula and throttled_by(by_formula.simulated(STEADY), case.at) <= HARDLY:
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
        sharded = context.taking(advice.model_copy(update={"shards": candidate.keys.shards}))
        return (sharded or context).simulated(behaviour)

    searched = smallest_shards(
        scenario, measure=measure, share_of=lambda outcome: throttled_by(outcome, case.at), most=MOST_SHARDS
    )
    return int(searched.answer.value) if searched.answer else None


def _together(case: AdviceCase, options: Sequence[Recommendation], context: Rerun) -> Iterator[Trial]:
    """Try more partitions, and shards that spread over them, where neither alone is enough."""
    warm = [item for item in options if item.action == "pre_warm"]
    if not warm and too_few_partitions(case, case.numbers.target_utilisation):  # none has room to spare
        warm = [pre_warm(case)]
    in_shards = [item for item in options if counts(item.action, "shards")]
    for factor, partitions, shards in product((1.0, 2.0), warm, in_shards):
        warmed = _with_more(case, partitions, factor)
        if (then := context.taking(warmed)) is not None:
            on_more = replace(case, warm=warmed.units, partitions_then=None)
            enough = _with_enough_shards(on_more, shards, then.beginning())
            trial = simulated(case, context, warmed, enough)
            if trial is not None and trial.works:
                yield trial


@dataclass(slots=True, kw_only=True)
class CureSearch:
    """The search for a cure, limit by limit."""

    rerun: Rerun
    cases: dict[Limit, AdviceCase]  # heaviest first; limits that others hid are added
    case_of: Callable[[Limit], AdviceCase]  # of a limit that shows only after another is cured
    on_burst: Sequence[Limit] = ()  # limits that the demand exceeds, even if they do not throttle yet
    steps: dict[Limit, Trial] = field(default_factory=dict)
    _tried: dict[tuple[Limit, str, tuple[Limit, ...]], Trial | None] = field(default_factory=dict)

    def search(self) -> None:
        """Take changes until hardly a throttle is left, then drop those that are not needed."""
        for limit in self.on_burst:
            self._take(limit)
        for _ in range(MOST_ROUNDS):
            then = self.with_steps()
            outcome = then.simulated()
            if outcome.share() > HARDLY:
                if not any(self._take(limit) for limit in limits_of(outcome)):
                    return
            elif not any([self._take(limit) for limit in self._carried(then.scenario, outcome)]):
                break
        for limit in tuple(limit for limit in self.steps if limit not in self.on_burst):
            if len(self.steps) > 1 and self.with_steps(but=limit).simulated().share() <= HARDLY:
                del self.steps[limit]

    def with_steps(self, but: Limit | None = None) -> Rerun:
        """The run with all steps, or with those of all limits but one."""
        then = self._with({limit: trial for limit, trial in self.steps.items() if limit != but})
        assert then is not None, "a step is taken only where it goes with the others"
        return then

    def _with(self, steps: dict[Limit, Trial]) -> Rerun | None:
        """The run with steps; None if one leaves nothing to change for another, as on-demand mode does."""
        return self.rerun.taking(*(item for trial in steps.values() for item in trial.advice))

    def tried(self, case: AdviceCase, advice: Recommendation) -> Trial | None:
        """Try the advice in the run with the other limits cured; None if it cannot be simulated."""
        key = case.at, advice.action, tuple(limit for limit in self.steps if limit != case.at)
        if key not in self._tried:
            self._tried[key] = trial_of(case, advice, self.with_steps(but=case.at))
        return self._tried[key]

    def _carried(self, scenario: Scenario, outcome: SimulationOutcome) -> list[Limit]:
        """Find limits that are exceeded only after the cure, as with copies that multiply writes.

        Burst would serve them for minutes only, so a lasting cure includes them.
        """
        if scenario.is_changing or scenario.table.billing_mode != "PROVISIONED":
            return []
        limits, scale = list[Limit](), scenario.local.scale
        rates = outcome.accepted_per_s if self.rerun.by_schedule else outcome.going_on_per_s
        for (resource, owner), direction in product(owners_of(scenario).items(), Direction):
            limit: Limit = ("table", resource, direction)
            per_s = rates.get((index_of(resource), direction), 0.0) / scale
            has = provisioned_in_time(owner, direction, per_s)
            if has is None or per_s <= has * (1 + BEYOND):
                continue
            if limit in self.steps:
                if limit in self.on_burst:
                    continue  # its step is for as much already
                self._tried = {tried: trial for tried, trial in self._tried.items() if tried[0] != limit}
            case = replace(self.case_of(limit), demand=MeasuredDemand(per_s, by="cure"), limit=has)
            if not self.rerun.by_schedule and case.scaled_most is not None and not case.is_pinned:
                continue  # a replay has no auto scaling, which may follow the demand
            self.cases[limit] = case
            limits.append(limit)
        self.on_burst = (*self.on_burst, *limits)
        return limits

    def _take(self, limit: Limit) -> bool:
        """Take a change that works against a limit, unless it is taken already."""
        case = self.cases[limit] = self.cases.get(limit) or self.case_of(limit)
        best = self._best(case)
        if best is None or self.steps.get(limit) == best or self._with({**self.steps, limit: best}) is None:
            return False
        self.steps[limit] = best
        return True

    def _best(self, case: AdviceCase) -> Trial | None:
        """Return the change that works: the cheapest if all have a price, else the preferred one."""
        context = self.with_steps(but=case.at)
        # Shards beside a table's capacity are for what its partitions refuse, which is a limit of its own.
        usable = (item for item in recommend(case) if case.at[0] != "table" or not item.shards)
        options = [item for item in usable if context.taking(item) is not None]
        works = [trial for item in options if (trial := self.tried(case, item)) and trial.works]
        priced = all(trial.dollars is not None for trial in works)
        best = min(works, key=lambda trial: trial.rank if priced else trial.rank[-1:], default=None)
        formula = max((item.shards or 1 for item in options), default=1)
        if best is not None and best.shards <= MANY * formula:
            return best
        pair = min(_together(case, options, context), key=lambda trial: trial.shards, default=None)
        return pair if pair is not None and (best is None or MANY * pair.shards <= best.shards) else best


def cured(
    cases: Sequence[AdviceCase],
    rerun: Rerun,
    case_of: Callable[[Limit], AdviceCase],
    on_burst: Sequence[Limit] = (),
    notable: Collection[Limit] = (),
) -> tuple[list[Recommendation], Cure | None]:
    """Return the advice for each case with its simulated outcome and cost, and the cure, if found.

    A cure lasts: limits that only burst or a write buffer hides, `on_burst`, are cured with the others. If
    the simulation does not reproduce the run, or a `notable` limit of it, no simulated outcome is reported.
    """
    advice = [item for case in cases for item in recommend(case)]
    if not any(map(rerun.taking, advice)):
        return advice, None
    before = rerun.simulated()
    if rerun.measured is not None and max(rerun.measured, before.share()) <= HARDLY and not on_burst:
        return [billed(rerun, item) for item in advice if item.kind == "mitigation"], None
    by_limit = {case.at: case for case in cases}
    if not (_believed(rerun, before) and (rerun.by_schedule or _as_labelled(before, by_limit, notable))):
        return [billed(rerun, item) for item in advice], None
    search = CureSearch(rerun=rerun.brief(), cases=by_limit, case_of=case_of, on_burst=on_burst)
    search.search()
    if search.rerun is not rerun:  # what only shows later is cured as well
        search.rerun = rerun
        search.search()
    return list(_advice(search, before)), _cure(search, before)


def _believed(rerun: Rerun, before: SimulationOutcome) -> bool:
    """Whether the simulation nearly reproduces the measurement: with retries, if the client retried."""
    if rerun.retried_requests > MOST_RETRIED:  # too many to be asked one by one
        return False
    repeated = rerun.simulated(most_s=inf, retries=True) if rerun.retried_requests else before
    measured, share = rerun.measured, repeated.share()
    if not measured or not share:
        return False
    return NEAR_RATIO * max(measured, share) <= min(measured, share)


def _as_labelled(before: SimulationOutcome, labelled: Collection[Limit], notable: Collection[Limit]) -> bool:
    """Whether the limit that throttles the most in a replay has a label, or its resource an undetermined one.

    A table may have more partitions than its capacity shows, and another limit than a replay of it. And a
    replay whose hot key is not known lacks the limit that this key meets: `notable` ones have to show.
    """
    replayed = limits_of(before)
    if not set(notable) <= {*replayed}:
        return False
    return not replayed or replayed[0] in labelled or ("undetermined", *replayed[0][1:]) in labelled


def _advice(search: CureSearch, before: SimulationOutcome) -> Iterator[Recommendation]:
    """Yield all advice; taken advice has the number that it was taken with."""
    simulated, steps = 0, sum(len(trial.advice) for trial in search.steps.values())
    most = min(MOST_SHOWN, max(4, int(MOST_SHOWN_S / search.rerun.scenario.load.duration_s)))
    for limit, case in search.cases.items():
        for item in recommend(case):
            step = search.steps.get(limit)
            trial = step if step and step.of(item.action) else None
            if simulated < most:
                trial = trial or search.tried(case, item)
            if simulated >= most or trial is None:
                yield item
                continue
            simulated += 1
            outlook = _foreseen(trial, item, search.rerun, before, in_cure=trial is step and steps > 1)
            share = outlook.foreseen and outlook.foreseen.throttle_share_after
            if item.action != "read_eventually_consistent" or share != before.share():
                yield outlook  # else its reads are so already
        if limit in search.steps:
            advised = {item.action for item in recommend(case)}
            yield from (item for item in search.steps[limit].advice if item.action not in advised)


def _foreseen(
    trial: Trial, formula: Recommendation, rerun: Rerun, before: SimulationOutcome, *, in_cure: bool
) -> Recommendation:
    """Return the advice as tried, with its outcome alone, and that of the formula's number."""
    best = trial.of(formula.action) or formula
    alone = rerun.taking(best)
    if alone is None:
        return best
    by_formula = rerun.taking(formula) if formula.shards not in (None, best.shards) else None
    after = alone.simulated()
    foreseen = Foreseen(
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        in_cure=in_cure,
        sent_once=bool(rerun.retried_requests),
        formula_shards=formula.shards if by_formula else None,
        formula_share_after=by_formula.simulated().share() if by_formula else None,
    )
    outlook = {"foreseen": foreseen, "bill": rerun.bill(alone, before, after)}
    return best.model_copy(update=outlook if trial.works else {**outlook, "kind": "insufficient"})


def _cure(search: CureSearch, before: SimulationOutcome) -> Cure | None:
    """Return the steps, if they leave hardly a throttle: limits that throttled come first."""
    throttled, then = limits_of(before), search.with_steps()
    after = then.simulated()
    if not search.steps or after.share() > HARDLY:
        return None
    ordered = sorted(search.steps.items(), key=lambda step: step[0] not in throttled)
    return Cure(
        steps=tuple(step_of(item) for _limit, trial in ordered for item in trial.advice),
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        sent_once=bool(search.rerun.retried_requests),
        bill=search.rerun.bill(then, before, after),
    )


def step_of(advice: Recommendation) -> CureStep:
    """Take advice as a step of a cure."""
    return CureStep(**advice.model_dump(include=set(CureStep.model_fields)))


def billed(rerun: Rerun | None, advice: Recommendation) -> Recommendation:
    """Add the monthly bill of the advice, which needs no simulation."""
    then = rerun.taking(advice) if rerun else None
    return advice.model_copy(update={"bill": rerun.bill(then)}) if rerun and then else advice
