"""How many shards or how much capacity is enough, or how much load is carried: the answer of a search."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from keyheat.model.resources import Cause
from keyheat.numbers import NOTHING, a_month, exact_percent, percent, some
from keyheat.plan.charges import monthly
from keyheat.plan.forecast import forecast
from keyheat.plan.limit_use import LimitUse, used_by
from keyheat.plan.prices import Prices
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import SCENARIOS
from keyheat.show.answer import Answer, Fact, Tone
from keyheat.show.constraints import target_words
from keyheat.show.steps import (
    NOT_OF_THE_TABLE,
    Found,
    at_last,
    data_of,
    limit_words,
    limits_table,
    number,
    runs_of,
    share_words,
    steps_table,
)
from keyheat.show.verdict import grade_words
from keyheat.simulator.search import Step
from keyheat.simulator.whatif import Search, sent_in, steady
from keyheat.words import BROKEN, DONE, INVALID, Constraint, Direction, capital, label_of, whose

KEY_SHARE: Final = 0.5
"""Part of a partition's demand from which it is one key that is its limit."""
BURST: Final = "Burst capacity counts here: the answer may not hold for longer than this load lasts."
STEADY: Final = (
    "Burst capacity does not count, since DynamoDB gives it on a best effort only: the answer holds however "
    "long the load lasts. Add --with-burst to count it."
)
READING: Final = (
    ("Throttled", "Share of the attempts that were throttled; the larger of two seeds."),
    ("Demand", "What the load asks of a limit in its busiest second, by its keys, sizes and operations."),
    ("Provisioned", "Dollars a month of what the table and its indexes have, at the hourly price."),
    ("On demand", "Dollars a month of what the load consumes; unknown where a part of it throttles."),
    (NOTHING, "Not known, or not a part of it; never zero."),
)


def found_of(search: Search, target: str, prices: Prices, folder: Path, assumed: tuple[str, ...]) -> Found:
    """A search with the demand on every limit; `folder` is the scenario's."""
    question, step = search.question, at_last(search)
    lasting, traffic = steady(step.scenario), sent_in(search, step, folder)
    key = None
    if question.kind == "shards" and question.index is None and search.direction is Direction.WRITE:
        key = forecast(question.scenario, prices, margin=1.0, folder=folder).hot_key
    return Found(
        search=search, target=target, prices=prices, assumed=assumed, formula=key.needed if key else None,
        uses=used_by(lasting, folder=folder, scale=lasting.local.scale, traffic=traffic),
    )  # fmt: skip


def use_of(uses: Sequence[LimitUse], step: Step | None) -> LimitUse | None:
    """The limit that a step was held to, at the demand that was carried."""
    left = step.left() if step is not None else None
    if left is None:
        return None
    limit = left.cause.constraint, label_of(left.index), left.direction
    return next((use for use in uses if (use.constraint, use.resource, use.direction) == limit), None)


def search_answer(found: Found) -> Answer:
    """The number, what throttles beyond it, and every number that was tried."""
    search = found.search
    allowed = f"at most {exact_percent(search.question.share_most)} throttled"
    return Answer(
        title=search.question.scenario.name,
        label=_label(found),
        tone=_tone(found),
        sentence=sentence_of(found),
        context=f"{target_words(found.target)} · {some(len(search.in_order), 'number')} tried · {allowed}",
        facts=tuple(_facts(found)),
        tables=(steps_table(found), *limits_table(found)),
        notes=(*found.assumed, *_notes(found)),
        parts=tuple(runs_of(found)),
        reading=READING,
        data=data_of(found),
    )


def together(answers: Sequence[Answer]) -> Answer:
    """Several answers about one scenario as one: those of writes and of reads that are both short."""
    if len(answers) == 1:
        return answers[0]
    return Answer(
        title=answers[0].title,
        label="; ".join(answer.label for answer in answers),
        tone=next((answer.tone for answer in answers if answer.tone != "none"), "none"),
        sentence=" ".join(answer.sentence for answer in answers),
        context=answers[0].context,
        facts=tuple(fact for answer in answers for fact in answer.facts),
        tables=tuple(table for answer in answers for table in answer.tables),
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        parts=tuple(part for answer in answers for part in answer.parts),
        reading=READING,
        data={"answers": [answer.data for answer in answers]},
    )


def exit_code_of(search: Search) -> int:
    """0: answered; 1: not even the largest number is enough; 3: a run does not say anything of its table."""
    if search.failing is not None and search.failing.state in NOT_OF_THE_TABLE:
        return INVALID
    return DONE if search.answer is not None or search.question.kind == "load" else BROKEN


def _label(found: Found) -> str:
    edge, answer = found.edge, found.search.answer
    if edge is not None and edge.state in NOT_OF_THE_TABLE:
        return NOT_OF_THE_TABLE[edge.state]
    return found.amount(answer.value) if answer else "None carried" if found.kind == "load" else "Not enough"


def _tone(found: Found) -> Tone:
    """The colour of the limit that throttles; none where everything holds or a number is enough."""
    edge = found.edge
    if edge is not None and edge.state in NOT_OF_THE_TABLE:
        return "invalid"
    if edge is None or (found.kind != "load" and found.search.answer is not None):
        return "none"
    return _constraint(edge, found.search.question.direction)


def _constraint(step: Step, direction: Direction | None) -> Constraint:
    left = step.left(direction)
    return "undetermined" if left is None else left.cause.constraint


def sentence_of(found: Found) -> str:
    """The number, and what happens with the next one."""
    answer, edge = found.search.answer, found.edge
    outcome = "carried" if found.kind == "load" else "enough"
    so_far = "No number that was tried is"
    if answer is not None:
        so_far = f"{found.amount(answer.value)} {'is' if answer.value == 1 else 'are'}"
    most = ", the most that was tried" if found.kind == "load" else ""
    return f"{so_far} {outcome}; {_beyond(found, edge)}." if edge else f"{so_far} {outcome}{most}."


def _beyond(found: Found, step: Step) -> str:
    amount, direction = found.amount(step.value), found.search.question.direction
    if step.state == "generator":
        return f"with {amount}, the load generator is the limit, not the table"
    if step.state == "undecided":
        return f"the run with {amount} is not valid"
    if step.on_burst:
        return f"with {amount}, only burst capacity carries the load, beyond {limit_words(step, direction)}"
    attempts = "attempts" if direction is None else f"{direction}s"
    return (
        f"with {amount}, {percent(step.share)} of the {attempts} throttle, by {limit_words(step, direction)}"
    )


def _facts(found: Found) -> Iterator[Fact]:
    search, edge = found.search, found.edge
    if edge is not None and edge.verdict is not None and edge.state == "limited":
        grade = "inferred" if edge.on_burst else edge.verdict.grade
        words = capital(grade_words(grade, "local" if found.target == "local" else "aws"))
        yield Fact(name="Evidence", value=words, beside=(f"confidence {percent(edge.verdict.confidence)}",))
    if found.kind == "load":
        return
    present = next((step for step in search.in_order if step.value == search.question.present), None)
    if present is not None:
        name = f"With {found.amount(present.value)}, as now"
        yield Fact(name=name, value=f"{share_words(present)} throttled")
    yield from _cost(found, present, at_last(search))


def _cost(found: Found, before: Step | None, after: Step) -> Iterator[Fact]:
    """What the number costs: requests for each shard, and dollars a month."""
    costs = monthly(after, found.prices)
    if found.kind == "shards" and found.search.direction is Direction.READ:
        yield Fact(name="One write of a copied item", value=some(costs.queries_per_read, "write"))
    elif found.kind == "shards":
        value = some(costs.queries_per_read, "query", "queries")
        least = f"{costs.units_per_read:g} RCU at least"
        yield Fact(name="One read of a whole collection", value=value, beside=(least,))
    if found.target == SIMULATED and costs.provisioned_dollars is not None:
        was = None if before is None else monthly(before, found.prices).provisioned_dollars
        beside = (f"{a_month(was)} as now",) if was is not None else ()
        yield Fact(name="Provisioned, a month", value=a_month(costs.provisioned_dollars), beside=beside)


def _notes(found: Found) -> Iterator[str]:
    """What a reader has to know beside the answer."""
    search, question = found.search, found.search.question
    if found.kind == "load":
        yield from _of_load(found)
    else:
        yield from _instead(found)
    if found.formula is not None:
        yield (
            f"By the formula {some(found.formula, 'shard')} would do if each had a partition to itself; "
            "shards are placed by a hash, and some of them share one. Your own key names have other hashes: "
            "add a few shards."
        )
    least = search.answer.value if search.answer else question.within.most + 1
    if found.kind == "shards" and (
        lucky := [number(s.value) for s in search.in_order if s.holds and s.value < least]
    ):
        yield f"{', '.join(lucky)} held as well, but only by luck: one shard more did not."
    if found.target == SIMULATED:
        yield BURST if question.burst else STEADY
    if found.target == SIMULATED and found.kind != "load":
        yield f"Dollars are a month of this load, around the clock; {found.prices.title}."
    if found.kind != "shards" and question.scenario.changes_capacity:
        yield "Timeline and auto scaling are left out: the capacity stays the same."


def _of_load(found: Found) -> Iterator[str]:
    search, scenario, edge = found.search, found.search.question.scenario, found.edge
    if search.answer is not None and not search.confirmed:
        yield "The answer was not tried with a second seed: the search had no steps left."
    if search.answer is None and edge is not None and edge.state == "limited":
        yield f"Nothing below {found.amount(edge.value)} was tried: the knee is there, or below."
    if edge is not None and _constraint(edge, None) == "partition":
        yield _of_partition(found, edge)
    if scenario.load.shape is not None:
        yield "The load's shape is left out: every step is a constant demand."
    if scenario.local.scale != 1:
        yield f"At scale {scenario.local.scale:g} of every rate limit: divide by it for a real table."


def _of_partition(found: Found, edge: Step) -> str:
    """What is so hot about the partition, and what helps."""
    use = use_of(found.uses, edge)
    if use is not None and (use.key_per_s or 0.0) >= KEY_SHARE * use.asked_per_s:
        return "One key takes most of that partition's demand: more shards help, more capacity does not."
    if found.search.question.scenario.table.billing_mode == "PAY_PER_REQUEST":
        return "A new on-demand table has few partitions: it grows with its peaks, or is pre-warmed."
    return "No key stands out on that partition: several of them share it, until it splits."


def _instead(found: Found) -> Iterator[str]:
    """What to ask where no number is enough."""
    question, last = found.search.question, found.search.in_order[-1]
    left = last.left(question.direction)
    if found.search.answer is not None or left is None:
        return
    scenario, of_key = question.scenario.name, left.cause is Cause.KEY_RANGE
    typed = scenario if (SCENARIOS / f"{scenario}.toml").exists() else "SCENARIO"
    other = f" --index {left.index}" if left.index is not None else ""
    if of_key is not (found.kind == "shards"):
        more = "More capacity does not help with a partition's limit" if of_key else "More shards do not help"
        ask = f"keyheat whatif {typed} {'shards' if of_key else 'capacity'}{other}"
        yield f"{more}: ask {ask}. If both are short, keyheat simulate {typed} tries their cures together."
    elif left.index != question.index:
        owner = whose(label_of(left.index))
        yield f"That is a limit of {owner}, unchanged here: keyheat whatif {typed} {found.kind}{other}."
