"""Advice in words: a cure and its steps, what the simulator says of a change, what it costs, and cards."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from keyheat.analysis.advice.actions import in_order
from keyheat.analysis.groups import groups
from keyheat.analysis.verdict import NOTABLE
from keyheat.numbers import UNITS, a_month, percent, some, span, units, whole
from keyheat.runs.formats import HARDLY, Cure, CureStep, Diagnosis, Foreseen, MonthlyBill, Recommendation
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
BEFORE_UNITS: Final = {"raise_minimum": "of", "auto_scaling": "up to"}


def by_action(advice: Iterable[Recommendation]) -> Mapping[str, list[Recommendation]]:
    """Recommendations by what is to be done, in their order: several resources may need the same."""
    result: dict[str, list[Recommendation]] = {}
    for step in advice:
        result.setdefault(step.action, []).append(step)
    return result


def amount_words(advice: Recommendation) -> str:
    """How much of it: 4 shards, 2,000 WCU/s; nothing where it has no number."""
    if advice.shards:
        return _counted(advice.action, advice.shards)
    maximum = ", the maximum of its auto scaling as well" if advice.max_units else ""
    unit = UNITS[advice.direction] if advice.direction else "units"
    return f"{whole(advice.units)} {unit}/s{maximum}" if advice.units else ""


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
    decided = diagnosis.verdict.constraint != "undetermined"
    easing = (option for option in diagnosis.recommendations if option.kind == "mitigation")
    return next((option for option in easing if not (decided and option.action == "collect_evidence")), None)


def cures_now(diagnosis: Diagnosis) -> bool:
    """Whether what eases it tonight is the cure itself."""
    cures = diagnosis.cure.steps if diagnosis.cure else filter(None, [first_cure(diagnosis)])
    now = now_of(diagnosis)
    return now is not None and now.action in {option.action for option in cures}


def can_be_tried(diagnosis: Diagnosis) -> bool:
    """Whether `keyheat fix` can rerun the cure, or else any recommendation: without a number, none can."""
    if diagnosis.cure is not None:
        return all(map(_has_number, diagnosis.cure.steps))
    advice = (option for option in diagnosis.recommendations if option.kind != "insufficient")
    return any(map(_has_number, advice))


def _has_number(advice: Recommendation | CureStep) -> bool:
    return bool(advice.shards or advice.units or advice.action == "on_demand")


def first_cure(diagnosis: Diagnosis) -> Recommendation | None:
    """Where no cure was simulated, what `keyheat fix` tries first, else the first that lasts."""
    advice = [
        option for option in diagnosis.recommendations if option.kind != "insufficient" and _may_cure(option)
    ]
    numbered = filter(_has_number, in_order(advice, diagnosis))
    return next(numbered, None) or next((option for option in advice if option.kind == "cure"), None)


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


def in_short(advice: Recommendation) -> str:
    """An action with its number, within a sentence."""
    amount = amount_words(advice)
    return _within(advice.action, advice.resource) + (f" ({amount})" if amount else "")


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


def step_words(step: CureStep) -> str:
    """One change of a cure, with its number, as a command within a sentence."""
    command = _within(step.action, step.resource)
    if step.shards:
        return f"{command} ({_counted(step.action, step.shards)})"
    if step.units:
        maximum = " (and the maximum of its auto scaling to as much)" if step.max_units else ""
        return f"{command} {BEFORE_UNITS.get(step.action, 'to')} {units(step.units, step.direction)}{maximum}"
    return command


def _within(action: str, resource: str | None) -> str:
    """What to do, as it is said within a sentence."""
    title = title_of(action, resource)
    return title[0].lower() + title[1:]


def cure_words(cure: Cure) -> str:
    """What is to be done, all of it; and what the simulator says of it and what it costs."""
    steps = cure_steps(cure)
    return f"{capital_first(steps)}. {simulated_words(cure)} {_bill(cure.bill)}".rstrip()


def cure_steps(cure: Cure) -> str:
    """What is to be done, as commands within a sentence."""
    return enumerated([step_words(step) for step in cure.steps])


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


def how_long_a_day(bill: MonthlyBill) -> str:
    """For how much of each day a bill has the load go on."""
    return "around the clock" if bill.hours_per_day == 24 else f"for {bill.hours_per_day:g} hours a day"


def _bill(bill: MonthlyBill | None) -> str:
    if bill is None:
        return ""
    before, after = a_month(bill.before_dollars_per_month), a_month(bill.after_dollars_per_month)
    if_so = f"if the load goes on {how_long_a_day(bill)} ({bill.prices})"
    if before == after:
        return f"The bill for capacity stays at {before} a month, {if_so}."
    through = " (including requests that throttle today)" if bill.by_request else ""
    return f"Capacity costs {after} a month{through} instead of {before}, {if_so}."
