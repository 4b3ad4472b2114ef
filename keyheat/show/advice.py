"""Advice in words: a cure and its steps, what the simulator says of a change, what it costs, and cards."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from keyheat.analysis.advice.actions import in_order
from keyheat.analysis.report import ReportRun
from keyheat.analysis.verdict import NOTABLE, groups
from keyheat.masking import typed
from keyheat.numbers import a_month, percent, some, span, units, whole
from keyheat.runs.formats import HARDLY, Cure, CureStep, Diagnosis, Foreseen, MonthlyBill, Recommendation
from keyheat.shipped import shipped
from keyheat.show.answer import Fact, Section
from keyheat.show.verdict import SHORT
from keyheat.words import (
    LIMITS,
    READ,
    TABLE,
    Constraint,
    Direction,
    capital_first,
    enumerated,
    title_of,
    whose,
)  # fmt: skip

NOTABLE_BESIDE: Final = 0.02  # least share of the throttles at which a second limit's cure is named
ADVICE: Final = {
    "mitigation": ("now", "What to do now", "Now"),
    "cure": ("cure", "What to do for good", "For good"),
    "insufficient": ("not-enough", "What was simulated, and is not enough", ""),
}
BEFORE_UNITS: Final = {"raise_minimum": "of", "raise_account_quota": "of", "auto_scaling": "up to"}


def _counted(action: str, shards: int) -> str:
    """So many shards, or copies of what is read."""
    copies = action == "replicate_reads"
    return some(shards, "copy" if copies else "shard", "copies" if copies else None)


def side_words(advice: Recommendation) -> str:
    """Whose it is: writes of the table, reads of index by-day."""
    who = whose(advice.resource)
    return f"{advice.direction}s of {who}" if advice.direction else who


def cure_of(diagnosis: Diagnosis) -> str | None:
    """What cures it, with its numbers; None where nothing is known to, or the run says nothing."""
    if not diagnosis.verdict.valid:
        return None
    if diagnosis.cure is not None:
        return cure_steps(diagnosis.cure)
    first = first_cure(diagnosis)
    return None if first is None else in_short(first)


def now_of(diagnosis: Diagnosis) -> Recommendation | None:
    """What eases it tonight, if anything does: also where the limit is not known, if it helps under each."""
    if not diagnosis.verdict.valid and diagnosis.verdict.constraint != "undetermined":
        return None
    constraint = diagnosis.verdict.constraint
    easing = (option for option in diagnosis.recommendations if option.kind == "mitigation")
    if constraint != "undetermined":  # what little another limit throttles is not what eases this one
        easing = (
            each
            for each in easing
            if each.action != "collect_evidence"
            and (not diagnosis.labels or each.constraint in (None, constraint))
        )
    return next(easing, None)


def cures_now(diagnosis: Diagnosis) -> bool:
    """Whether what eases it tonight is the cure itself."""
    now = now_of(diagnosis)
    return now is not None and now.action in {step.action for step in steps_to_cure(diagnosis)}


def can_be_tried(diagnosis: Diagnosis) -> bool:
    """Whether `keyheat fix` can rerun the cure, or else any recommendation: without a number, none can."""
    if diagnosis.cure is not None:
        return all(map(_has_number, diagnosis.cure.steps))
    advice = (option for option in diagnosis.recommendations if option.kind != "insufficient")
    return any(map(_has_number, advice))


def _has_number(advice: Recommendation | CureStep) -> bool:
    return bool(advice.shards or advice.units or advice.action == "on_demand")


def steps_to_cure(diagnosis: Diagnosis) -> Sequence[Recommendation | CureStep]:
    """The steps of the simulated cure, else the first recommended one; none where nothing cures."""
    if diagnosis.cure is not None:
        return diagnosis.cure.steps
    first = first_cure(diagnosis)
    return () if first is None else (first,)


def first_cure(diagnosis: Diagnosis) -> Recommendation | None:
    """Where no cure was simulated, what `keyheat fix` tries first, else the first that lasts."""
    advice = [
        option for option in diagnosis.recommendations if option.kind != "insufficient" and _may_cure(option)
    ]
    of_limit = [option for option in advice if option.constraint in (None, diagnosis.verdict.constraint)]
    for options in (of_limit, advice):
        numbered = filter(_has_number, in_order(options, diagnosis))
        lasting = (option for option in options if option.kind == "cure")
        if first := next(numbered, None) or next(lasting, None):
            return first
    return None


def other_cures(diagnosis: Diagnosis) -> str:
    """What else lasts against the same limit, as commands within a sentence; empty if nothing does."""
    first = first_cure(diagnosis)
    others = [option for option in _cures(diagnosis) if first is None or _limit(option) == _limit(first)]
    return " or ".join(
        in_short(option) for option in others if first is None or option.action != first.action
    )


def cures_elsewhere(diagnosis: Diagnosis) -> Iterator[str]:
    """What else has to be cured, where no cure of all was simulated: a key that asks for more than a
    partition under a whole resource's limit, and other limits that throttle a notable part."""
    first = first_cure(diagnosis)
    if diagnosis.cure is not None or first is None:
        return
    if not diagnosis.labels:  # burst carries what exceeds each of these limits
        numbered = filter(_has_number, reversed(diagnosis.recommendations))
        of_limits = {_limit(option): option for option in numbered if option.kind != "insufficient"}
        others = (option for limit, option in of_limits.items() if limit != _limit(first))
        yield from (f"and for {side_words(option)}: {in_short(option)}" for option in others)
    if diagnosis.verdict.constraint == "table" and first.action in ("raise_capacity", "raise_minimum"):
        of_key = (option for option in _cures(diagnosis) if option.shards)
        yield from (f"and {in_short(option)}" for option in of_key if _limit(option) == _limit(first))
    total = sum(label.throttles for label in diagnosis.labels)
    for group in groups(diagnosis.labels):
        cure = next((option for option in _cures(diagnosis) if _limit(option) == group.limit), None)
        beside_first = group.limit[1:] == _limit(first)[1:]
        least = NOTABLE_BESIDE if beside_first else NOTABLE
        if cure is None or group.limit == _limit(first) or group.throttles < least * total:
            continue
        whose_share = f"for {side_words(cure)}, with {percent(group.throttles / total)} of the throttles"
        by = f", by {LIMITS[group.constraint]}" if beside_first else ""
        yield f"{whose_share}{by}: {in_short(cure)}"


def _cures(diagnosis: Diagnosis) -> list[Recommendation]:
    return [option for option in diagnosis.recommendations if option.kind == "cure" and _may_cure(option)]


def _limit(advice: Recommendation) -> tuple[Constraint | None, str, Direction | None]:
    return advice.constraint, advice.resource or TABLE, advice.direction


def in_short(step: Recommendation | CureStep) -> str:
    """An action with its number, as a command within a sentence."""
    title = title_of(step.action, step.resource)
    command = title[0].lower() + title[1:]
    if step.shards:
        return f"{command} ({_counted(step.action, step.shards)})"
    if step.units:
        amount = units(step.units, step.direction) if step.direction else f"{whole(step.units)} units/s"
        maximum = " (and the maximum of its auto scaling to as much)" if step.max_units else ""
        return f"{command} {BEFORE_UNITS.get(step.action, 'to')} {amount}{maximum}"
    return command


def carried_words(diagnosis: Diagnosis) -> Iterator[str]:
    """What burst or a write buffer kept from throttling in this run, and for how long it does.

    Not the table, where an index refused its writes: they did not reach it.
    """
    throttled = {(label.resource, label.direction) for label in diagnosis.labels}
    throttled |= {(TABLE, label.direction) for label in diagnosis.labels}
    for demand in diagnosis.demands:
        side = demand.resource, demand.direction
        if demand.carried_s is None or side in throttled or not diagnosis.verdict.valid:
            continue
        saved = (
            "saved burst"
            if demand.resource == TABLE or demand.direction == READ
            else "burst and write buffer"
        )
        side_in_words = f"{demand.direction}s of {whose(demand.resource)}"
        yield (
            f"{saved} carried {side_in_words}, for {span(demand.carried_s)} at most: a longer load will be "
            "throttled"
        )


def _may_cure(advice: Recommendation) -> bool:
    """Whether nothing shows that it does not: it was not simulated, or leaves hardly a throttle."""
    return advice.foreseen is None or advice.foreseen.throttle_share_after <= HARDLY


def cure_words(cure: Cure) -> str:
    """What is to be done, all of it; and what the simulator says of it and what it costs."""
    steps = cure_steps(cure)
    return f"{capital_first(steps)}. {simulated_words(cure)} {_bill(cure.bill)}".rstrip()


def cure_steps(cure: Cure) -> str:
    """What is to be done, as commands within a sentence."""
    return enumerated([in_short(step) for step in cure.steps])


BY_FORMULA: Final = "By formula, not simulated: it takes more where some of them share a partition"


def simulated_words(cure: Cure) -> str:
    """What is throttled with it when it is simulated.

    What throttles without it is said once, as it was measured; the simulation's share is nearly the same.
    """
    if cure.throttle_share_after is None:
        return f"{BY_FORMULA}." if any(step.shards for step in cure.steps) else "By formula, not simulated."
    after = percent(cure.throttle_share_after) if cure.throttle_share_after else "no attempt"
    return f"Simulated{_without_retries(cure)}: {after} throttled then."


def _without_retries(simulated: Cure | Foreseen) -> str:
    """Why its shares are others than the run's, where they are."""
    return " without retries" if simulated.sent_once else ""


def outlook(advice: Recommendation) -> str:
    """What the simulator says of one change, and what a month of it costs; nothing where neither is known."""
    return " ".join(filter(None, (_foreseen(advice), _bill(advice.bill))))


def _foreseen(advice: Recommendation) -> str:
    foreseen = advice.foreseen
    if foreseen is None:
        return ""
    before, after = percent(foreseen.throttle_share_before), percent(foreseen.throttle_share_after)
    outcome = "no attempt" if not foreseen.throttle_share_after else f"{after} of the attempts"
    change = f"still {outcome}" if before == after else outcome
    alone = "this step of the cure alone" if foreseen.in_cure else "this alone"
    sentence = f"Simulated{_without_retries(foreseen)}: with {alone}, {change} would be throttled"
    instead = foreseen.sent_once and foreseen.throttle_share_after and before != after
    sentence += f", instead of {before}." if instead else "."
    if foreseen.formula_shards is not None and foreseen.formula_share_after:
        outcome = percent(foreseen.formula_share_after)
        sentence += f" With the formula's {foreseen.formula_shards:,} it would be {outcome}."
    return sentence


def _bill(bill: MonthlyBill | None) -> str:
    if bill is None:
        return ""
    before, after = a_month(bill.before_dollars_per_month), a_month(bill.after_dollars_per_month)
    if_so = f"if the load goes on around the clock ({bill.prices})"
    if before == after:
        return f"The bill for capacity stays at {before} a month, {if_so}."
    through = " (including requests that throttle today)" if bill.by_request else ""
    return f"Capacity costs {after} a month{through} instead of {before}, {if_so}."


def now_fact(diagnosis: Diagnosis) -> Fact | None:
    """Tonight's step, where the cure is another one."""
    now = now_of(diagnosis)
    if now is None or cure_of(diagnosis) is None or cures_now(diagnosis):
        return None
    value, foreseen = capital_first(in_short(now)), now.foreseen
    enough = foreseen is not None and not foreseen.throttle_share_after
    helps = (
        "Simulated: no attempt throttled then, while it lasts." if enough else "Eases it; the cause stays."
    )
    return Fact(id="now", name="Now", value=value, beside=(helps,))


def cure_fact(run: ReportRun) -> Fact:
    answer = partial(Fact, id="do", name="What to do")
    diagnosis = run.diagnosis
    verdict, scenario = diagnosis.verdict, _scenario_of(run)
    if (cure := cure_of(diagnosis)) is not None:
        simulated = (simulated_words(diagnosis.cure),) if diagnosis.cure is not None else ()
        tried = verdict.constraint != "none" and can_be_tried(diagnosis)
        question = "What to do" if now_of(diagnosis) is None else "For good"
        question = "Now and for good" if cures_now(diagnosis) else question
        command = f"keyheat fix {typed(run.folder)}" if tried and run.folder else None
        beside = (*simulated, *cures_elsewhere(diagnosis))
        return Fact(id="do", name=question, value=capital_first(cure), beside=beside, command=command)
    if verdict.rule in SHORT:
        value = "Run it on a target that can throttle"
        return answer(value=value, command=scenario and f"keyheat run {scenario}")
    if diagnosis.generator.bound:
        return answer(
            value="Run it again with a generator that keeps up"
            if diagnosis.generator.shortfall
            else "Correct what went wrong, and run it again",
            beside=diagnosis.generator.checks[:1],
        )
    if verdict.valid and verdict.constraint == "none":
        command = f"keyheat whatif {scenario} load" if scenario else None
        beside = ("how much more it holds:",) if command else ()
        return answer(value="Nothing needs to change", beside=beside, command=command)
    since = run.evidence.table.on_demand_since if run.evidence else None
    if verdict.constraint == "table" and since is not None:
        return answer(value=f"Nothing more: the table is on demand since {since:%F %R} UTC")
    advised = {option.action for option in diagnosis.recommendations}
    if verdict.constraint == "max_on_demand" and "raise_max_on_demand" not in advised:
        return answer(value="Nothing more: the on-demand maximum was raised since, and that is enough")
    now = now_of(diagnosis)
    if verdict.settled_by and (now is None or now.action == "collect_evidence"):
        return answer(value="Get the evidence that settles it", beside=(verdict.settled_by,))
    if now is not None:
        return Fact(id="do", name="Now", value=capital_first(in_short(now)), beside=(now.why,))
    return answer(value="Not enough evidence to recommend a change")


def _scenario_of(run: ReportRun) -> str | None:
    """The run's scenario as a verb takes it here: ours by its name, another by its path if that is known."""
    stated = run.manifest.scenario_path if run.manifest else None
    if stated is None:
        return None
    path = Path(stated)
    if path.parent == shipped("configs") / "scenarios":
        return path.stem
    return typed(path) if path.is_file() else "SCENARIO"


def cost_fact(diagnosis: Diagnosis) -> Fact | None:
    answer = partial(Fact, id="cost", name="What it costs")
    easing = filter(None, [now_of(diagnosis)])
    priced = easing if cure_of(diagnosis) is None else diagnosis.recommendations
    bills = (diagnosis.cure.bill if diagnosis.cure else None, *(advice.bill for advice in priced))
    bill = next((each for each in bills if each is not None), None)
    if bill is None:
        scaled = any(step.max_units for step in (diagnosis.cure.steps if diagnosis.cure else ()))
        why = ("auto scaling changes the capacity, and the bill with it",)
        return answer(value="Not known", beside=why) if scaled else None
    before, after = a_month(bill.before_dollars_per_month), a_month(bill.after_dollars_per_month)
    value = f"{before} a month, as before" if before == after else f"{before} → {after} a month"
    more = ", including requests that throttle today" if bill.by_request else ""
    beside = f"if the load goes on around the clock{more}; {bill.prices}"
    once = "pre-warming is charged once on top, and cannot be lowered afterwards"
    warm = any(step.action == "pre_warm" for step in steps_to_cure(diagnosis))
    return answer(value=value, beside=(beside, once) if warm else (beside,))


def advice_sections(run: ReportRun) -> Iterator[Section]:
    """Sections of mitigations, cures, and simulated options that are not enough."""
    for kind, (name, title, short) in ADVICE.items():
        chosen: dict[str, list[Recommendation]] = {}  # several resources may need the same action
        for option in run.diagnosis.recommendations:
            if option.kind == kind:
                chosen.setdefault(option.action, []).append(option)
        if chosen:
            yield Section(id=name, title=title, short=short, facts=tuple(map(_step, chosen.values())))


def _step(advice: Sequence[Recommendation]) -> Fact:
    """One action for one or several resources: why, simulated effect, and outcome."""
    expected = dict.fromkeys(f"Expected: {option.expected}" for option in advice)
    if len(advice) > 1:
        named = (in_short(option) if _has_number(option) else side_words(option) for option in advice)
        each = (
            f"{capital_first(name)}: {option.why} {outlook(option)}".strip()
            for name, option in zip(named, advice, strict=True)
        )
        return Fact(name=title_of(advice[0].action), value="", beside=(*each, *expected))
    simulated = filter(None, [outlook(advice[0])])
    return Fact(name=capital_first(in_short(advice[0])), value=advice[0].why, beside=(*simulated, *expected))
