"""Advice in words: a cure and its steps, what the simulator says of a change, what it costs, and cards."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from keyheat.analysis.advice.actions import in_order
from keyheat.numbers import UNITS, a_month, percent, some, span, units, whole
from keyheat.runs.formats import HARDLY, Cure, CureStep, Diagnosis, Foreseen, MonthlyBill, Recommendation
from keyheat.words import READ, TABLE, title_of, whose

BEFORE_UNITS: Final = {"raise_minimum": "of", "auto_scaling": "up to"}


def by_action(advice: Iterable[Recommendation]) -> Mapping[str, list[Recommendation]]:
    """Recommendations by what is to be done, in their order: several resources may need the same."""
    found: dict[str, list[Recommendation]] = {}
    for one in advice:
        found.setdefault(one.action, []).append(one)
    return found


def amount_words(one: Recommendation) -> str:
    """How much of it: 4 shards, 2,000 WCU/s; nothing where it has no number."""
    if one.shards:
        return _counted(one.action, one.shards)
    maximum = ", the maximum of its auto scaling as well" if one.max_units else ""
    unit = UNITS[one.direction] if one.direction else "units"
    return f"{whole(one.units)} {unit}/s{maximum}" if one.units else ""


def _counted(action: str, shards: int) -> str:
    """So many shards, or copies of what is read."""
    copies = action == "replicate_reads"
    return some(shards, "copy" if copies else "shard", "copies" if copies else None)


def side_words(one: Recommendation) -> str:
    """Whose it is: writes of the table, reads of index by-day."""
    who = whose(one.resource)
    return f"{one.direction}s of {who}" if one.direction else who


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
    return next((one for one in diagnosis.recommendations if one.kind == "mitigation"), None)


def cures_now(diagnosis: Diagnosis) -> bool:
    """Whether what eases it tonight is the cure itself."""
    cures = diagnosis.cure.steps if diagnosis.cure else filter(None, [first_cure(diagnosis)])
    now = now_of(diagnosis)
    return now is not None and now.action in {one.action for one in cures}


def can_be_tried(diagnosis: Diagnosis) -> bool:
    """Whether `keyheat fix` can rerun the cure, or else any recommendation: without a number, none can."""
    if diagnosis.cure is not None:
        return all(step.action != "read_eventually_consistent" for step in diagnosis.cure.steps)
    advice = (one for one in diagnosis.recommendations if one.kind != "insufficient")
    return any(map(_has_number, advice))


def _has_number(advice: Recommendation) -> bool:
    return bool(advice.shards or advice.units or advice.action == "on_demand")


def first_cure(diagnosis: Diagnosis) -> Recommendation | None:
    """Where no cure was simulated, what `keyheat fix` tries first, else the first that lasts."""
    advice = [one for one in diagnosis.recommendations if one.kind != "insufficient" and _may_cure(one)]
    numbered = filter(_has_number, in_order(advice, diagnosis))
    return next(numbered, None) or next((one for one in advice if one.kind == "cure"), None)


def other_cures(diagnosis: Diagnosis) -> str:
    """What else lasts, as commands within a sentence; empty if nothing does."""
    first = first_cure(diagnosis)
    others = [one for one in diagnosis.recommendations if one.kind == "cure" and _may_cure(one)]
    return " or ".join(in_short(one) for one in others if first is None or one.action != first.action)


def in_short(advice: Recommendation) -> str:
    """An action with its number, within a sentence."""
    amount = amount_words(advice)
    return _within(advice.action, advice.resource) + (f" ({amount})" if amount else "")


def carried_words(diagnosis: Diagnosis) -> Iterator[str]:
    """What burst or a write buffer kept from throttling in this run, and for how long it does."""
    throttled = {(label.resource, label.direction) for label in diagnosis.labels}
    for one in diagnosis.demands:
        if one.carried_s is None or (one.resource, one.direction) in throttled or not diagnosis.verdict.valid:
            continue
        saved = "saved burst" if one.resource == TABLE or one.direction == READ else "burst and write buffer"
        yield (
            f"{saved} carried {whose(one.resource)}, for {span(one.carried_s)} at most: a load that goes on "
            "will be throttled"
        )


def _may_cure(advice: Recommendation) -> bool:
    """Whether nothing shows that it does not: it was not simulated, or leaves hardly a throttle."""
    return advice.foreseen is None or advice.foreseen.throttle_share_after <= HARDLY


def step_words(step: CureStep) -> str:
    """One change of a cure, with its number, as a command within a sentence."""
    said = _within(step.action, step.resource)
    if step.shards:
        return f"{said} ({_counted(step.action, step.shards)})"
    if step.units:
        maximum = " (and the maximum of its auto scaling to as much)" if step.max_units else ""
        return f"{said} {BEFORE_UNITS.get(step.action, 'to')} {units(step.units, step.direction)}{maximum}"
    return said


def _within(action: str, resource: str | None) -> str:
    """What to do, as it is said within a sentence."""
    title = title_of(action, resource)
    return title[0].lower() + title[1:]


def cure_words(cure: Cure) -> str:
    """What is to be done, all of it; and what the simulator says of it and what it costs."""
    steps = cure_steps(cure)
    return f"{steps[0].upper()}{steps[1:]}. {simulated_words(cure)} {_bill(cure.bill)}".rstrip()


def cure_steps(cure: Cure) -> str:
    """What is to be done, as commands within a sentence."""
    *most, last = [step_words(step) for step in cure.steps]
    return f"{', '.join(most)} and {last}" if most else last


def simulated_words(cure: Cure) -> str:
    """What is throttled with it, and what is without it, when it is simulated."""
    left, before = cure.throttle_share_after, percent(cure.throttle_share_before)
    after = percent(left) if left else "no attempt"
    return f"Simulated{_without_retries(cure)}: {after} throttled then, instead of {before}."


def _without_retries(simulated: Cure | Foreseen) -> str:
    """Why its shares are others than the run's, where they are."""
    return " without retries" if simulated.sent_once else ""


def outlook(advice: Recommendation) -> str:
    """What the simulator says of one change, and what a month of it costs; nothing where neither is known."""
    return " ".join(filter(None, (_foreseen(advice), _bill(advice.bill))))


def _foreseen(advice: Recommendation) -> str:
    found = advice.foreseen
    if found is None:
        return ""
    before, after = percent(found.throttle_share_before), percent(found.throttle_share_after)
    left = "no attempt" if not found.throttle_share_after else f"{after} of the attempts"
    change = f"still {left}" if before == after else left
    alone = "this step of the cure alone" if found.in_cure else "this alone"
    said = f"Simulated{_without_retries(found)}: with {alone}, {change} would be throttled"
    said += "." if before == after else f", instead of {before}."
    if found.formula_shards is not None and found.formula_share_after:
        left = percent(found.formula_share_after)
        said += f" With the formula's {found.formula_shards:,} it would be {left}."
    return said


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
    through = ", for all that goes through then," if bill.by_request else ""
    return f"Capacity costs {after} a month{through} instead of {before}, {if_so}."
