"""How much load a table carries, and what throttles first: the answer."""

from collections.abc import Iterator
from typing import Final

from keyheat.numbers import UNITS, measured, percent, rate, some, span, whole
from keyheat.plan.limit_use import LimitUse
from keyheat.plan.quotas import ON_DEMAND
from keyheat.show.answer import Answer, Fact, Figure
from keyheat.show.constraints import NAMES, limit_of, target_words
from keyheat.show.steps import (
    NOT_OF_THE_TABLE,
    READING,
    Found,
    accepted_per_s,
    data_of,
    limit_words,
    limits_table,
    number,
    runs_of,
    steps_table,
    tone_of,
)
from keyheat.show.verdict import grade_words
from keyheat.simulator.search import Step
from keyheat.terms import DEMAND
from keyheat.words import Direction, Source, label_of

KEY_SHARE: Final = 0.5
"""Part of a partition's demand from which it is one key that is its limit."""
SOURCES: Final[dict[str, Source]] = {"simulated": "simulated", "local": "local"}


def load_answer(found: Found) -> Answer:
    """The answer to a question of load."""
    search, carried = found.search, found.search.answer
    where = (
        f"{target_words(found.target)} · {some(len(search.steps), 'run')} of {span(search.question.step_s)}"
    )
    return Answer(
        title=search.question.scenario.name,
        label=label_words(found),
        tone=tone_of(search.failing, None),
        sentence=sentence_of(found),
        context=where,
        facts=tuple(_facts(found)),
        tables=(steps_table(found), *(limits_table(found, found.amount(carried.value)) if carried else ())),
        figures=_figures(found) if found.drawn else (),
        notes=(*found.assumed, *_notes(found)),
        parts=tuple(runs_of(found)),
        reading=READING,
        data=data_of(found),
    )


def _figures(found: Found) -> tuple[Figure, ...]:
    from keyheat.show.step_figures import figures_of

    return figures_of(found)


def use_of(found: Found, step: Step) -> LimitUse | None:
    """The limit that a step was held to, at the demand that was carried."""
    left = step.left()
    if left is None:
        return None
    limit = left.cause.constraint, label_of(left.index), left.direction
    return next((use for use in found.uses if (use.constraint, use.resource, use.direction) == limit), None)


def _is_one_key(found: Found) -> bool:
    """Whether the limit is that of a partition most of whose demand is one key's."""
    step = found.search.failing
    use = use_of(found, step) if step is not None and _constraint(step) == "partition" else None
    return use is not None and (use.key_per_s or 0.0) >= KEY_SHARE * use.asked_per_s


def _constraint(step: Step) -> str:
    left = step.left()
    return "undetermined" if left is None else left.cause.constraint


def label_words(found: Found) -> str:
    """Whose knee it is, in two words."""
    step = found.search.failing
    if step is None:
        return "No constraint"
    if step.state != "limited":
        return NOT_OF_THE_TABLE[step.state]
    left = step.left()
    if left is None:
        return "A knee"
    if left.cause.constraint == "partition":
        return "The key's knee" if _is_one_key(found) else "A partition's knee"
    if left.cause.constraint == "table":
        return "The table's knee" if left.index is None else "The index's knee"
    return NAMES[left.cause.constraint]


def sentence_of(found: Found) -> str:
    """The answer, with the numbers that carry it."""
    carried, above = found.search.answer, found.search.failing
    if above is None:
        return f"No constraint up to {found.amount(found.search.in_order[-1].value)}: everything was carried."
    so_far = f"{found.amount(carried.value)} are carried" if carried else "nothing that was tried is carried"
    at = found.amount(above.value)
    if above.state == "limited":
        return f"{label_words(found)}: {so_far}; {_above(found, above)}."
    so_far = f"{so_far[0].upper()}{so_far[1:]}"
    if above.state == "generator":
        return f"{so_far}; at {at} the load generator is the limit, not the table."
    return f"{so_far}; the run at {at} is not valid."


def _above(found: Found, step: Step) -> str:
    """What happens at the lowest demand that is not carried."""
    if step.on_burst:
        return f"{found.amount(step.value)} need burst capacity, beyond {limit_words(step, None)}"
    by = f"{percent(step.share)} of the attempts are throttled"
    return f"at {found.amount(step.value)}, {by}, by {limit_words(step, None)}"


def _facts(found: Found) -> Iterator[Fact]:
    carried, above = found.search.answer, found.search.failing
    if carried is not None:
        sides = {side: accepted_per_s(found.search, carried, side) for side in Direction}
        units = [rate(per_s, UNITS[side]) for side, per_s in sides.items() if per_s]
        yield Fact(
            name="Carried", value=found.amount(carried.value), beside=(", ".join(units) or "no units",)
        )
    if above is not None:
        yield Fact(name="Not carried", value=found.amount(above.value), beside=(_throttled(above),))
    if above is not None and above.state == "limited":
        yield _evidence(found, above)
    use = use_of(found, above) if above is not None else next(iter(found.uses), None)
    if use is not None:
        demand = f"{number(use.asked_per_s)} of {whole(use.limit_per_s)} {UNITS[use.direction]}/s"
        limit = f"of {limit_of(use.constraint, use.resource)}: {DEMAND} {demand}"
        yield Fact(name="By the numbers", value=percent(use.share), beside=(limit,))


def _throttled(step: Step) -> str:
    if step.state == "generator":
        return "the generator was the limit"
    if step.on_burst:
        return "only burst capacity carries it"
    return f"{measured(step.throttled_per_s)} of {measured(step.attempts_per_s)} attempts/s throttled"


def _evidence(found: Found, above: Step) -> Fact:
    """Who says which limit it is."""
    source = SOURCES.get(found.target, "aws")
    grade = "inferred" if above.on_burst else above.verdict.grade if above.verdict else "reason"
    words = grade_words(grade, source)
    sure = (f"confidence {percent(above.verdict.confidence)}",) if above.verdict else ()
    return Fact(name="Evidence", value=f"{words[0].upper()}{words[1:]}", beside=sure)


def _notes(found: Found) -> Iterator[str]:
    """What has to be known beside the answer."""
    search, scenario = found.search, found.search.question.scenario
    above = search.failing
    if found.simulated and not search.question.burst:
        yield "Simulated without burst capacity: what is carried is carried however long the load lasts."
    if above is not None and above.on_burst:
        yield "Burst capacity serves a demand above the provisioned capacity for some minutes only."
    if not search.confirmed and search.answer is not None:
        yield "The answer was not tried a second time: the search had no steps left."
    if search.answer is None and above is not None and above.state == "limited":
        yield f"Nothing below {found.amount(above.value)} was tried: the knee is there, or below."
    if above is not None and _constraint(above) == "partition" and not _is_one_key(found):
        yield _of_partition(found)
    if scenario.changes_capacity:
        yield "Timeline and auto scaling are left out: the capacity stays the same."
    if scenario.load.shape is not None:
        yield "The load's shape is left out: every step is a constant demand."
    if scenario.local.scale != 1:
        yield f"At scale {scenario.local.scale:g} of every rate limit: divide by it for a real table."


def _of_partition(found: Found) -> str:
    if found.search.question.scenario.table.billing_mode == ON_DEMAND:
        return "A new on-demand table has few partitions: it grows with its peaks, or is pre-warmed."
    return "No key stands out on that partition: several of them share it, until it splits."
