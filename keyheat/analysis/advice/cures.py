"""The cure of a run: the fewest changes that together leave hardly a throttle in simulation.

    simulate the run --> which limit throttles most? --> take the advice that works, with its number
           ^                                                    |
           +----------------- with that change -----------------+     until hardly a throttle is left

If one limit hides another (an index that throttles its table, a hot key on a table that is too small), the
second shows once the first is cured, and the cure has two steps.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from keyheat.analysis.advice.case import (
    CAUSES,
    AdviceCase,
    Limit,
    MeasuredDemand,
    owners_of,
    provisioned_in_time,
)
from keyheat.analysis.advice.rerun import Rerun
from keyheat.analysis.advice.trial import (
    Trial,
    advice_for,
    all_taken,
    dollars,
    taken,
    trial_of,
    trials_of_pairs,
)
from keyheat.runs.formats import BEYOND, HARDLY, Cure, CureStep, Foreseen, MonthlyBill, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.outcome import SimulationOutcome
from keyheat.words import Direction, index_of, label_of

NEAR_RATIO: Final = 0.75
"""Least ratio of the smaller to the larger of the simulated and the measured throttle share."""
MOST_ROUNDS: Final = 6
"""Most limits that are cured one after the other, repetitions included."""
MOST_SHOWN: Final = 10
"""Most recommendations that are simulated, the heaviest limit first; fewer for a long run."""
MOST_SHOWN_S: Final = 2_000.0
"""Most simulated seconds for all of them; at least four recommendations are simulated."""
MANY: Final = 2
"""Least factor of saved shards at which additional partitions are worth their price."""

CaseOf = Callable[[Limit], AdviceCase | None]
"""Builds the case of a limit that shows only after another is cured; None if too little is known."""


@dataclass(slots=True, kw_only=True)
class CureSearch:
    """The search for a cure, limit by limit."""

    rerun: Rerun
    cases: dict[Limit, AdviceCase]  # heaviest first; limits that others hid are added
    case_of: CaseOf
    on_burst: Sequence[Limit] = ()  # limits that the demand exceeds, even if they do not throttle yet
    taken: dict[Limit, Trial] = field(default_factory=dict)
    _tried: dict[tuple[Limit, str, tuple[Limit, ...]], Trial | None] = field(default_factory=dict)

    def search(self) -> None:
        """Take changes until hardly a throttle is left, then drop those that are not needed."""
        for limit in self.on_burst:
            self._take(limit)
        for _ in range(MOST_ROUNDS):
            then = _with(self.rerun, self.taken.values())
            outcome = then.simulated()
            if outcome.share() <= HARDLY:
                if any([self._take(limit) for limit in self._carried(then.scenario, outcome)]):
                    continue
                self._drop_the_needless()
                return
            if not any(self._take(limit) for limit in _limits(outcome)):
                return

    def _carried(self, scenario: Scenario, outcome: SimulationOutcome) -> list[Limit]:
        """Find limits that are exceeded only after the cure, as with copies that multiply writes.

        Burst would serve them for minutes only, so a lasting cure includes them.
        """
        if not self.rerun.by_schedule or scenario.is_changing or scenario.table.billing_mode != "PROVISIONED":
            return []
        limits, scale = [], scenario.local.scale
        for resource, owner in owners_of(scenario).items():
            for direction in Direction:
                limit: Limit = ("table", resource, direction)
                per_s = outcome.accepted_per_s.get((index_of(resource), direction), 0.0) / scale
                has = provisioned_in_time(owner, direction, per_s)
                if has is None or per_s <= has * (1 + BEYOND) or limit in self.taken:
                    continue
                if (case := self.case_of(limit)) is not None:
                    self.cases[limit] = replace(case, demand=MeasuredDemand(per_s, by="cure"), limit=has)
                    self.on_burst = (*self.on_burst, limit)
                    limits.append(limit)
        return limits

    def _take(self, limit: Limit) -> bool:
        """Take a change that works against a limit, unless it is taken already."""
        case = self.cases.get(limit) or self.case_of(limit)
        if case is None:
            return False
        self.cases[limit] = case
        best = self._best(case)
        if best is None or self.taken.get(limit) == best:
            return False
        try:
            _with(self.rerun, {**self.taken, limit: best}.values())
        except DoNotGoTogether:
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
        """Return the change that works: the cheapest if all have a price, else the preferred one."""
        context = self.context(case)
        options = [one for one in advice_for(case) if taken(case, one, self.rerun) is not None]
        works = [trial for one in options if (trial := self.tried(case, one)) and trial.works]
        best = None
        if any(trial.dollars is None for trial in works):
            best = min(works, key=lambda trial: trial.rank)
        elif works:
            best = min(works, key=lambda trial: (_last(trial), trial.dollars, trial.rank))
        formula = max((one.shards or 1 for one in options), default=1)
        if best is not None and best.shards <= MANY * formula:
            return best
        pairs = [trial for trial in trials_of_pairs(case, options, context) if trial.works]
        pair = min(pairs, key=lambda trial: trial.shards, default=None)
        return pair if pair is not None and (best is None or MANY * pair.shards <= best.shards) else best

    def context(self, case: AdviceCase) -> Rerun:
        """Return the run with the other limits cured."""
        own_limit = _limit(case)
        return _with(self.rerun, (one for limit, one in self.taken.items() if limit != own_limit))

    def tried(self, case: AdviceCase, advice: Recommendation) -> Trial | None:
        """Try the advice, with the number that works, in the run with the other limits cured.

        None if it cannot be simulated.
        """
        own_limit = _limit(case)
        key = own_limit, advice.action, tuple(limit for limit in self.taken if limit != own_limit)
        if key not in self._tried:
            self._tried[key] = trial_of(case, advice, self.context(case))
        return self._tried[key]


def cured(
    cases: Sequence[AdviceCase], rerun: Rerun, case_of: CaseOf, on_burst: Sequence[Limit] = ()
) -> tuple[list[Recommendation], Cure | None]:
    """Return the advice for each case with its simulated outcome and cost, and the cure, if found.

    A cure lasts: limits that only burst or a write buffer hides, `on_burst`, are cured with the others. If
    the simulation does not reproduce the run, no simulated outcome is reported.
    """
    if not any(taken(case, one, rerun) for case in cases for one in advice_for(case)):
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
    """Yield all advice; taken advice has the number that it was taken with."""
    shown, lasts_s = 0, search.rerun.scenario.load.duration_s
    most = min(MOST_SHOWN, max(4, int(MOST_SHOWN_S / lasts_s)))
    for limit, case in search.cases.items():
        for one in advice_for(case):
            own = search.taken.get(limit)
            trial = own if own and own.of(one.action) else None
            if shown < most:
                trial = trial or search.tried(case, one)
            if shown >= most or trial is None:
                yield one
                continue
            shown += 1
            step = trial is own and sum(len(taken.advice) for taken in search.taken.values()) > 1
            found = _foreseen(trial, one, search.rerun, before, in_cure=step)
            if not _is_so_already(found):
                yield found


def _limit(case: AdviceCase) -> Limit:
    return case.constraint, case.resource, case.direction


def _limits(outcome: SimulationOutcome) -> list[Limit]:
    """Return the limits that throttle, the heaviest first."""
    named = {cause: constraint for constraint, cause in CAUSES.items()}
    return [(named[one.cause], label_of(one.index), one.direction) for one in outcome.left]


def _last(trial: Trial) -> bool:
    """Whether it demands a change that not every application can accept."""
    return trial.of("read_eventually_consistent") is not None


class DoNotGoTogether(ValueError):
    """Changes of which one leaves nothing to change for another, as on-demand mode does for capacities."""


def _with(rerun: Rerun, trials: Iterable[Trial]) -> Rerun:
    """Apply all trials to a run. Raises `DoNotGoTogether`."""
    for trial in trials:
        then = all_taken(trial.case, trial.advice, rerun)
        if then is None:
            raise DoNotGoTogether
        rerun = then
    return rerun


def _foreseen(
    trial: Trial, formula: Recommendation, rerun: Rerun, before: SimulationOutcome, *, in_cure: bool
) -> Recommendation:
    """Return the advice as tried, with its outcome alone, and that of the formula's number."""
    best = trial.of(formula.action) or formula
    alone = taken(trial.case, best, rerun)
    if alone is None:
        return best
    by_formula = None
    if formula.shards not in (None, best.shards):
        by_formula = taken(trial.case, formula, rerun)
    after = alone.simulated()
    foreseen = Foreseen(
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        in_cure=in_cure,
        sent_once=bool(rerun.retried_requests),
        formula_shards=formula.shards if by_formula else None,
        formula_share_after=by_formula.simulated().share() if by_formula else None,
    )
    said = {"foreseen": foreseen, "bill": _bill(rerun, alone, before, after)}
    return best.model_copy(update=said if trial.works else {**said, "kind": "insufficient"})


def _is_so_already(advice: Recommendation) -> bool:
    """Whether the reads are eventually consistent already, so that the advice changes nothing."""
    foreseen = advice.foreseen if advice.action == "read_eventually_consistent" else None
    return foreseen is not None and foreseen.throttle_share_before == foreseen.throttle_share_after


def _believed(rerun: Rerun, before: SimulationOutcome) -> bool:
    """Whether the simulation, with the run's retries, nearly reproduces the measurement."""
    measured, repeated = rerun.measured, rerun.as_it_was_sent(before)
    share = repeated.share() if repeated is not None else 0.0
    if not measured or not share:
        return False
    return NEAR_RATIO * max(measured, share) <= min(measured, share)


def _cure(search: CureSearch, before: SimulationOutcome) -> Cure | None:
    """Return the taken changes, if they leave hardly a throttle: limits that throttled come first."""
    throttled = _limits(before)
    then = _with(search.rerun, search.taken.values())
    after = then.simulated()
    if not search.taken or after.share() > HARDLY:
        return None
    steps = [
        CureStep(
            action=one.action,
            resource=resource,
            direction=direction,
            shards=one.shards,
            units=one.units,
            max_units=one.max_units,
        )
        for (_, resource, direction), trial in sorted(
            search.taken.items(), key=lambda one: one[0] not in throttled
        )
        for one in trial.advice
    ]
    return Cure(
        steps=tuple(steps),
        throttle_share_before=before.share(),
        throttle_share_after=after.share(),
        sent_once=bool(search.rerun.retried_requests),
        bill=_bill(search.rerun, then, before, after),
    )


def _billed(rerun: Rerun, case: AdviceCase, advice: Recommendation) -> Recommendation:
    """Add the monthly bill of the advice, which needs no simulation."""
    then = taken(case, advice, rerun)
    return advice.model_copy(update={"bill": _bill(rerun, then)}) if then else advice


def _bill(rerun: Rerun, then: Rerun, *outcomes: SimulationOutcome) -> MonthlyBill | None:
    """Return dollars a month before and after, if this demand continues; None if capacity changes.

    Without the outcomes of both, only provisioned capacity has a price.
    """
    before, after = (dollars(one, outcome) for one, outcome in zip_longest((rerun, then), outcomes))
    if before is None or after is None:
        return None
    return MonthlyBill(
        before_dollars_per_month=before,
        after_dollars_per_month=after,
        prices=rerun.billing.prices.title,
        hours_per_day=rerun.billing.hours_per_day,
        by_request=then.scenario.table.billing_mode == "PAY_PER_REQUEST",
    )
