"""How many shards, or how much capacity, are enough, and what they cost: the answer."""

from collections.abc import Iterator
from typing import Final

from keyheat.model.resources import Cause
from keyheat.numbers import a_month, exact_percent, percent, some, whole
from keyheat.plan.charges import monthly
from keyheat.scenario.scenario import SCENARIOS
from keyheat.show.answer import Answer, Fact, Figure
from keyheat.show.constraints import target_words
from keyheat.show.steps import (
    NOT_OF_THE_TABLE,
    READING,
    Found,
    data_of,
    limit_words,
    limits_table,
    runs_of,
    share_words,
    sides_of,
    steps_table,
    tone_of,
)
from keyheat.simulator.outcome import Left
from keyheat.simulator.search import Step
from keyheat.words import Direction, label_of, whose

STEADY: Final = (
    "Burst capacity does not count, since DynamoDB gives it on a best effort only: the answer holds however "
    "long the load lasts. Add --with-burst to count it."
)
BURST: Final = (
    "Burst capacity counts here: the answer is enough for the time of this load, and may not be for longer."
)


def smallest_answer(found: Found) -> Answer:
    """The answer to a question of shards or of capacity."""
    search, (before, after) = found.search, sides_of(found.search)
    sides = ("" if before is None else found.amount(before.value), found.amount(after.value))
    return Answer(
        title=search.question.scenario.name,
        label=found.amount(after.value) if search.answer else NOT_OF_THE_TABLE.get(after.state, "Not enough"),
        tone=tone_of(None if search.answer else after, search.question.direction),
        sentence=sentence_of(found),
        context=f"{target_words(found.target)} · {some(len(search.in_order), 'number')} tried",
        facts=tuple(_facts(found, before, after)),
        tables=(steps_table(found), *limits_table(found, sides[1])),
        figures=_figures(found, *sides) if found.drawn else (),
        notes=(*found.assumed, *notes_of(found)),
        parts=tuple(runs_of(found)),
        reading=READING,
        data=data_of(found),
    )


def _figures(found: Found, before: str, after: str) -> tuple[Figure, ...]:
    from keyheat.show.step_figures import figures_of, limits_figure

    return (*figures_of(found), *limits_figure(found, before, after))


def attempts_words(found: Found) -> str:
    direction = found.search.question.direction
    return "attempts" if direction is None else f"{direction}s"


def sentence_of(found: Found) -> str:
    """The verdict, with the numbers that carry it."""
    search = found.search
    direction, answer = search.question.direction, search.answer
    if answer is None:
        return _none_is_enough(found, search.in_order[-1])
    said = (
        f"{found.amount(answer.value)} {'is' if answer.value == 1 else 'are'} enough: "
        f"{share_words(answer)} of the {attempts_words(found)} throttled, where "
        f"{exact_percent(search.question.share_most)} is allowed"
    )
    before = search.failing
    if before is None or before.value > answer.value:
        return f"{said}."
    if before.on_burst:
        return f"{said}; with {whole(before.value)} burst capacity carried the load."
    by = f"{percent(before.share)}, by {limit_words(before, direction)}"
    return f"{said}; with {whole(before.value)} it was {by}."


def _none_is_enough(found: Found, last: Step) -> str:
    verb = "is" if last.value == 1 else "are"
    if last.state == "generator":
        return f"With {found.amount(last.value)} the load generator is the limit, not the table."
    if last.state == "undecided":
        return f"The run with {found.amount(last.value)} is not valid, so it does not answer the question."
    if last.on_burst:
        return f"Not even {found.amount(last.value)} {verb} enough: only burst capacity carries the load."
    return (
        f"Not even {found.amount(last.value)} {verb} enough: {percent(last.share)} is still throttled, by "
        f"{limit_words(last, found.search.question.direction)}."
    )


def _facts(found: Found, before: Step | None, after: Step) -> Iterator[Fact]:
    search = found.search
    allowed = f"{exact_percent(search.question.share_most)} is allowed"
    yield Fact(
        name=f"Throttled, with {found.amount(after.value)}", value=share_words(after), beside=(allowed,)
    )
    if before is not None:
        was = "as the scenario has it" if before.value == search.question.present else "one of those tried"
        yield Fact(
            name=f"Throttled, with {found.amount(before.value)}", value=share_words(before), beside=(was,)
        )
    if search.question.kind == "shards":
        yield _of_reading(found, after)
    if found.simulated:
        for name, was_dollars, dollars in _dollars(found, before, after):
            was = f"{a_month(was_dollars)} before" if was_dollars is not None else ""
            yield Fact(name=f"{name}, a month", value=a_month(dollars), beside=tuple(filter(None, [was])))


def _of_reading(found: Found, after: Step) -> Fact:
    """What the shards cost: a query for each to read a collection; of copies to read, a write for each."""
    costs = monthly(after, found.prices)
    if found.search.direction is Direction.READ:
        return Fact(name="One write of a copied item", value=some(costs.queries_per_read, "write"))
    least = f"{costs.units_per_read:g} RCU at least"
    value = some(costs.queries_per_read, "query", "queries")
    return Fact(name="One read of a whole collection", value=value, beside=(least,))


def _dollars(found: Found, before: Step | None, after: Step) -> Iterator[tuple[str, float | None, float]]:
    """Dollars a month of both; on demand only where nothing is left out because it throttled."""
    was = None if before is None else monthly(before, found.prices)
    then = monthly(after, found.prices)
    if then.provisioned_dollars is not None:
        yield "Provisioned", None if was is None else was.provisioned_dollars, then.provisioned_dollars
    if after.holds:
        paid = was.on_demand_dollars if was is not None and before is not None and before.holds else None
        yield "On demand", paid, then.on_demand_dollars


def notes_of(found: Found) -> Iterator[str]:
    """What has to be known beside the answer."""
    search, question = found.search, found.search.question
    last = search.in_order[-1]
    left = last.left(question.direction)
    if question.kind == "shards":
        yield from _of_shards(found, left)
    elif search.answer is None and left is not None and left.cause is Cause.KEY_RANGE:
        yield (
            "More capacity does not help a partition's limit: ask how many shards are enough "
            f"(keyheat whatif {_typed(found)} shards{_of_index(left)}). Where both are short, "
            f"keyheat simulate {_typed(found)} tries their cures together."
        )
    own = Cause.KEY_RANGE if question.kind == "shards" else Cause.PROVISIONED
    if search.answer is None and left and left.cause is own and left.index != question.index:
        yield (
            f"That is a limit of {whose(label_of(left.index))}, which this search leaves as it is: "
            f"keyheat whatif {_typed(found)} {question.kind}{_of_index(left)}."
        )
    if found.simulated:
        yield BURST if question.burst else STEADY
        yield f"Dollars are a month of this load, around the clock; {found.prices.shown}."
    if question.kind == "capacity" and question.scenario.changes_capacity:
        yield "Timeline and auto scaling are left out: the capacity stays the same."


def _of_shards(found: Found, left: Left | None) -> Iterator[str]:
    search = found.search
    if found.formula is not None:
        yield (
            f"By the formula {some(found.formula, 'shard')} would do if each had a partition to itself; "
            "shards are placed by a hash, and some of them share one. Other key names than the scenario's "
            "fall otherwise: a few shards more make that sure."
        )
    if search.answer is None and left is not None and left.cause is not Cause.KEY_RANGE:
        yield (
            "More shards do not help with what is left. Where several limits are short at once, "
            f"keyheat simulate {_typed(found)} tries their cures together."
        )
    least = search.answer.value if search.answer else search.question.within.most + 1
    if lucky := [f"{step.value}" for step in search.in_order if step.holds and step.value < least]:
        yield f"{', '.join(lucky)} held as well, but only by luck: one shard more did not."


def _typed(found: Found) -> str:
    """The scenario as it is typed: one of ours by its name, of a file of one's own it is not known here."""
    name = found.search.question.scenario.name
    return name if (SCENARIOS / f"{name}.toml").exists() else "SCENARIO"


def _of_index(left: Left) -> str:
    return f" --index {left.index}" if left.index is not None else ""
