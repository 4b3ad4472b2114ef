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
from typing import Final

from keyheat.analysis.advice.case import AdviceCase
from keyheat.analysis.advice.demand import MeasuredDemand
from keyheat.analysis.advice.recommendations import recommend
from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.advice.schedule import Limit, owners_of, provisioned_in_time
from keyheat.analysis.advice.trial import Trial, taken, together, trial_of
from keyheat.model.resources import CAUSE_OF_CONSTRAINT
from keyheat.runs.formats import BEYOND, HARDLY, Cure, CureStep, Foreseen, MonthlyBill, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.search import SimulationOutcome
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

CaseOf = Callable[[Limit], AdviceCase]
"""Builds the case of a limit that shows only after another is cured."""


@dataclass(slots=True, kw_only=True)
class CureSearch:
    """The search for a cure, limit by limit."""

    rerun: Rerun
    cases: dict[Limit, AdviceCase]  # heaviest first; limits that others hid are added
    case_of: CaseOf
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

    def tried(self, case: AdviceCase, advice: Recommendation) -> Trial | None:
        """Try the advice, with the number that works, in the run with the other limits cured.

        None if it cannot be simulated.
        """
        key = case.at, advice.action, tuple(limit for limit in self.steps if limit != case.at)
        if key not in self._tried:
            self._tried[key] = trial_of(case, advice, self.with_steps(but=case.at))
        return self._tried[key]

    def _with(self, steps: dict[Limit, Trial]) -> Rerun | None:
        """The run with steps; None if one leaves nothing to change for another, as on-demand mode does."""
        then: Rerun | None = self.rerun
        for trial in steps.values():
            then = taken(then, trial.case, trial.advice) if then else None
        return then

    def _carried(self, scenario: Scenario, outcome: SimulationOutcome) -> list[Limit]:
        """Find limits that are exceeded only after the cure, as with copies that multiply writes.

        Burst would serve them for minutes only, so a lasting cure includes them.
        """
        if scenario.is_changing or scenario.table.billing_mode != "PROVISIONED":
            return []
        limits, scale = [], scenario.local.scale
        rates = outcome.accepted_per_s if self.rerun.by_schedule else outcome.going_on_per_s
        for (resource, owner), direction in product(owners_of(scenario).items(), Direction):
            limit: Limit = ("table", resource, direction)
            per_s = rates.get((index_of(resource), direction), 0.0) / scale
            has = provisioned_in_time(owner, direction, per_s)
            if has is None or per_s <= has * (1 + BEYOND) or limit in self.steps:
                continue
            case = replace(self.case_of(limit), demand=MeasuredDemand(per_s, by="cure"), limit=has)
            if not self.rerun.by_schedule and case.is_scaled_enough:  # a replay has no auto scaling
                continue
            self.cases[limit] = case
            self.on_burst = (*self.on_burst, limit)
            limits.append(limit)
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
        options = [item for item in usable if taken(context, case, [item]) is not None]
        works = [trial for item in options if (trial := self.tried(case, item)) and trial.works]
        priced = all(trial.dollars is not None for trial in works)
        best = min(works, key=lambda trial: trial.rank if priced else trial.rank[-1:], default=None)
        formula = max((item.shards or 1 for item in options), default=1)
        if best is not None and best.shards <= MANY * formula:
            return best
        pair = min(together(case, options, context), key=lambda trial: trial.shards, default=None)
        return pair if pair is not None and (best is None or MANY * pair.shards <= best.shards) else best


def cured(
    cases: Sequence[AdviceCase],
    rerun: Rerun,
    case_of: CaseOf,
    on_burst: Sequence[Limit] = (),
    notable: Collection[Limit] = (),
) -> tuple[list[Recommendation], Cure | None]:
    """Return the advice for each case with its simulated outcome and cost, and the cure, if found.

    A cure lasts: limits that only burst or a write buffer hides, `on_burst`, are cured with the others. If
    the simulation does not reproduce the run, or a `notable` limit of it, no simulated outcome is reported.
    """
    advice = [(case, item) for case in cases for item in recommend(case)]
    if not any(taken(rerun, case, [item]) for case, item in advice):
        return [item for _case, item in advice], None
    before = rerun.simulated()
    if rerun.measured is not None and max(rerun.measured, before.share()) <= HARDLY and not on_burst:
        return [billed(rerun, case, item) for case, item in advice if item.kind == "mitigation"], None
    by_limit = {case.at: case for case in cases}
    if not (_believed(rerun, before) and (rerun.by_schedule or _as_labelled(before, by_limit, notable))):
        return [billed(rerun, case, item) for case, item in advice], None
    search = CureSearch(rerun=rerun.brief(), cases=by_limit, case_of=case_of, on_burst=on_burst)
    search.search()
    if search.rerun is not rerun:  # what only shows later is cured as well
        search.rerun = rerun
        search.search()
    return list(_advice(search, before)), _cure(search, before)


def _believed(rerun: Rerun, before: SimulationOutcome) -> bool:
    """Whether the simulation, with the run's retries, nearly reproduces the measurement."""
    measured, repeated = rerun.measured, rerun.as_it_was_sent(before)
    share = repeated.share() if repeated is not None else 0.0
    if not measured or not share:
        return False
    return NEAR_RATIO * max(measured, share) <= min(measured, share)


def _as_labelled(before: SimulationOutcome, labelled: Collection[Limit], notable: Collection[Limit]) -> bool:
    """Whether the limit that throttles the most in a replay has a label, or its resource an undetermined one.

    A table may have more partitions than its capacity shows, and another limit than a replay of it. And a
    replay whose hot key is not known lacks the limit that this key meets: `notable` ones have to show.
    """
    heaviest = next(iter(limits_of(before)), None)
    if not set(notable) <= {*limits_of(before)}:
        return False
    return heaviest is None or heaviest in labelled or ("undetermined", *heaviest[1:]) in labelled


def limits_of(outcome: SimulationOutcome) -> list[Limit]:
    """Return the limits that throttle, the heaviest first."""
    named = {cause: constraint for constraint, cause in CAUSE_OF_CONSTRAINT.items()}
    return [(named[limit.cause], label_of(limit.index), limit.direction) for limit in outcome.limits]


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
            if not _is_so_already(outlook):
                yield outlook
        if limit in search.steps:
            advised = {item.action for item in recommend(case)}
            yield from (item for item in search.steps[limit].advice if item.action not in advised)


def _foreseen(
    trial: Trial, formula: Recommendation, rerun: Rerun, before: SimulationOutcome, *, in_cure: bool
) -> Recommendation:
    """Return the advice as tried, with its outcome alone, and that of the formula's number."""
    best = trial.of(formula.action) or formula
    alone = taken(rerun, trial.case, [best])
    if alone is None:
        return best
    by_formula = None
    if formula.shards not in (None, best.shards):
        by_formula = taken(rerun, trial.case, [formula])
    after = alone.simulated()
    foreseen = Foreseen(
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        in_cure=in_cure,
        sent_once=bool(rerun.retried_requests),
        formula_shards=formula.shards if by_formula else None,
        formula_share_after=by_formula.simulated().share() if by_formula else None,
    )
    outlook = {"foreseen": foreseen, "bill": _bill(rerun, alone, before, after)}
    return best.model_copy(update=outlook if trial.works else {**outlook, "kind": "insufficient"})


def _is_so_already(advice: Recommendation) -> bool:
    """Whether the reads are eventually consistent already, so that the advice changes nothing."""
    foreseen = advice.foreseen if advice.action == "read_eventually_consistent" else None
    return foreseen is not None and foreseen.throttle_share_before == foreseen.throttle_share_after


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
        bill=_bill(search.rerun, then, before, after),
    )


def step_of(advice: Recommendation) -> CureStep:
    """Take advice as a step of a cure."""
    return CureStep(**advice.model_dump(include=set(CureStep.model_fields)))


def billed(rerun: Rerun | None, case: AdviceCase, advice: Recommendation) -> Recommendation:
    """Add the monthly bill of the advice, which needs no simulation."""
    then = taken(rerun, case, [advice]) if rerun else None
    return advice.model_copy(update={"bill": _bill(rerun, then)}) if rerun and then else advice


def _bill(
    rerun: Rerun, then: Rerun, before: SimulationOutcome | None = None, after: SimulationOutcome | None = None
) -> MonthlyBill | None:
    """Return dollars a month before and after, if this demand continues; None if capacity changes.

    Without the outcomes of both, only provisioned capacity has a price.
    """
    was, becomes = rerun.dollars_now(before), rerun.dollars_with(then, after)
    if was is None or becomes is None:
        return None
    return MonthlyBill(
        before_dollars_per_month=was,
        after_dollars_per_month=becomes,
        prices=rerun.billing.prices.title,
        hours_per_day=rerun.billing.hours_per_day,
        by_request=then.scenario.table.billing_mode == "PAY_PER_REQUEST",
    )
