"""The answer of a search: shards or capacity that are enough, or the load that is carried."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from keyheat.model.resources import Cause
from keyheat.numbers import (
    NOTHING,
    UNITS,
    a_month,
    exact_percent,
    measured,
    percent,
    percent_above,
    some,
    whole,
)
from keyheat.plan.bill import monthly
from keyheat.plan.prices import Prices
from keyheat.runfiles import REPORT, SIMULATED
from keyheat.scenario.scenario import SCENARIOS
from keyheat.show.answer import Answer, Fact, Table, Tone
from keyheat.show.verdict import grade_words, limit_of, target_words
from keyheat.simulator.search import Step
from keyheat.simulator.whatif import Search
from keyheat.words import BROKEN, DONE, INVALID, WRITES_FIRST, Direction, capital, label_of, whose

NOT_OF_THE_TABLE: Final = {"generator": "Generator-bound", "undecided": "Not decided"}
BURST: Final = "Burst capacity counts here: the answer may not hold for longer than this load lasts."
PLACED: Final = (
    "A hash places the shards, so some share a partition. Your own key names hash differently: add a few."
)
STEADY: Final = (
    "Burst capacity does not count, because DynamoDB grants it on a best-effort basis: the answer holds for "
    "any length of load. Add --with-burst to count it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search, its target and prices, and assumptions about items and keys."""

    search: Search
    target: str
    prices: Prices
    assumed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.search.question.kind

    @property
    def direction(self) -> Direction | None:
        """The side that the question is about; None: both."""
        return self.search.question.direction

    @property
    def unit(self) -> str:
        """What is counted: shards, WCU, or the unit of the load."""
        if self.kind == "load":
            return f"{self.search.question.scenario.load.target_unit}/s"
        return "shards" if self.kind == "shards" else UNITS[self.search.direction]

    def amount(self, value: float) -> str:
        """A number with what is counted."""
        if self.kind == "shards":
            return some(int(value), "shard")
        index = self.search.question.index
        return f"{number(value)} {self.unit}{f' for {whose(label_of(index))}' if index else ''}"

    @property
    def edge(self) -> Step | None:
        """The failing number next to the answer; None if every number holds."""
        search = self.search
        if self.kind == "load" or search.answer is not None:
            return search.failing
        return search.in_order[-1]

    def throttled(self, step: Step) -> str:
        """The throttled share of a number, in digits that show whether it is allowed."""
        return percent_above(step.share, self.search.question.share_most) if step.share else "none"

    def accepted_per_s(self, step: Step, direction: Direction) -> float:
        """Units per second of the resource in question; of a load, of the table and its indexes together."""
        if self.kind == "load":
            return step.outcome.consumed_per_s(direction)
        return step.outcome.accepted_per_s.get((self.search.question.index, direction), 0.0)


def exit_code_of(search: Search) -> int:
    """0: answered; 1: the largest number is not enough; 3: a run is not valid."""
    if search.failing is not None and search.failing.state in NOT_OF_THE_TABLE:
        return INVALID
    return DONE if search.answer is not None or search.question.kind == "load" else BROKEN


def together(answers: Sequence[Answer]) -> Answer:
    """Combine the answers for writes and reads, if both are short."""
    if len(answers) == 1:
        return answers[0]
    return Answer(
        title=answers[0].title,
        label="; ".join(answer.label for answer in answers),
        tone=next((answer.tone for answer in answers if answer.tone != "none"), "none"),
        sentence=" ".join(answer.sentence for answer in answers),
        parts=tuple(answers),
        data={"answers": [answer.data for answer in answers]},
    )


def search_answer(result: Found) -> Answer:
    """The number, what throttles beyond it, and every number that was tried."""
    search, (label, tone) = result.search, _outcome(result)
    allowed = f"at most {exact_percent(search.question.share_most)} throttled"
    return Answer(
        title=search.question.scenario.name,
        label=label,
        tone=tone,
        sentence=_sentence(result),
        context=f"{target_words(result.target)} · {some(len(search.in_order), 'number')} tried · {allowed}",
        facts=tuple(_facts(result)),
        tables=(_steps_table(result),),
        notes=(*result.assumed, *_notes(result)),
        data=_data(result),
    )


def _outcome(result: Found) -> tuple[str, Tone]:
    """The label, and the tone of the limit that throttles; none if a number is enough."""
    edge, answer = result.edge, result.search.answer
    if edge is not None and edge.state in NOT_OF_THE_TABLE:
        return NOT_OF_THE_TABLE[edge.state], "invalid"
    nothing = "None carried" if result.kind == "load" else "Not enough"
    label = result.amount(answer.value) if answer else nothing
    if edge is None or (result.kind != "load" and answer is not None):
        return label, "none"
    refused = edge.throttled_by(result.direction)
    return label, "undetermined" if refused is None else refused.cause.constraint


def _sentence(result: Found) -> str:
    """The answer, and what happens beyond it."""
    answer, edge = result.search.answer, result.edge
    outcome = "carried" if result.kind == "load" else "enough"
    so_far = "No number that was tried is"
    if answer is not None:
        verb = "is" if answer.value == 1 else "are"
        same = result.kind == "shards" and answer.value == result.search.question.present
        so_far = f"{result.amount(answer.value)}{', as now,' if same else ''} {verb}"
    most = ", the most that was tried" if result.kind == "load" else ""
    if edge is None:
        return f"{so_far} {outcome}{most}."
    return f"{so_far} {outcome}; {_beyond(result, edge)}."


def _beyond(result: Found, step: Step) -> str:
    amount, refused = result.amount(step.value), step.throttled_by(result.direction)
    if step.state == "generator":
        return f"with {amount}, the load generator is the limit, not the table"
    if step.state == "undecided":
        return f"the run with {amount} is not valid"
    limit = limit_of("undetermined", None)
    if refused is not None:
        limit = f"{limit_of(refused.cause.constraint, label_of(refused.index))} ({refused.direction}s)"
    if step.on_burst:
        return f"with {amount}, only burst capacity carries the load, beyond {limit}"
    attempts = "attempts" if result.direction is None else f"{result.direction}s"
    return f"with {amount}, {result.throttled(step)} of the {attempts} throttle, by {limit}"


def _facts(result: Found) -> Iterator[Fact]:
    """The evidence, the present number, and the cost in queries and dollars a month."""
    search, edge = result.search, result.edge
    if edge is not None and edge.verdict is not None and edge.state == "limited":
        grade = "inferred" if edge.on_burst else edge.verdict.grade
        words = capital(grade_words(grade, "local" if result.target == "local" else "aws"))
        yield Fact(name="Evidence", value=words, beside=(f"confidence {percent(edge.verdict.confidence)}",))
    if result.kind == "load":
        return
    present = next((step for step in search.in_order if step.value == search.question.present), None)
    if present is not None:
        name = f"With {result.amount(present.value)}, as now"
        yield Fact(name=name, value=f"{result.throttled(present)} throttled")
    costs = monthly(search.answer or search.in_order[-1], result.prices)
    if result.kind == "shards" and search.direction is Direction.READ:
        yield Fact(name="One write of a copied item", value=some(costs.queries_per_read, "write"))
    elif result.kind == "shards":
        value = some(costs.queries_per_read, "query", "queries")
        least = f"{costs.units_per_read:g} RCU at least"
        yield Fact(name="One read of a whole collection", value=value, beside=(least,))
    if result.target == SIMULATED and costs.provisioned_dollars is not None:
        was = None if present is None else monthly(present, result.prices).provisioned_dollars
        beside = (f"{a_month(was)} as now",) if was is not None else ()
        yield Fact(name="Provisioned, a month", value=a_month(costs.provisioned_dollars), beside=beside)


def number(value: float) -> str:
    """A number with the digits that were tried."""
    return whole(value) if value >= 100 or value == int(value) else f"{value:.4g}"


def _limited_by(step: Step, direction: Direction | None) -> str:
    """The main limit in short; in brackets if it is not the table's."""
    if step.state in NOT_OF_THE_TABLE:
        return f"({NOT_OF_THE_TABLE[step.state].lower()})"
    refused = step.throttled_by(direction)
    if refused is None:
        return "undetermined" if step.state == "limited" else NOTHING
    owner = "" if refused.index is None else f" ({refused.index})"
    return f"{refused.cause.constraint.replace('_', ' ')}{owner}{', on burst' if step.on_burst else ''}"


def _steps_table(result: Found) -> Table:
    """Every number with its throttles, limit, accepted units and cost; one that was loaded has a report."""
    steps = result.search.in_order
    sides = [side for side in WRITES_FIRST if any(result.accepted_per_s(step, side) for step in steps)]
    indexed = any(not index.local for index in result.search.question.scenario.table.indexes)
    included = ", indexes included" if result.kind == "load" and indexed else ""
    rows = []
    for step in steps:
        row = {
            result.unit: number(step.value), "throttled": result.throttled(step),
            "limit": _limited_by(step, result.direction),
            **{f"{UNITS[side]}/s{included}": measured(result.accepted_per_s(step, side)) for side in sides},
        }  # fmt: skip
        if result.kind != "load" and step.folder is None:  # dollars a month; on demand if nothing throttles
            costs = monthly(step, result.prices)
            if result.kind == "capacity":
                row["provisioned"] = a_month(costs.provisioned_dollars)
            row["on demand"] = a_month(costs.on_demand_dollars if step.holds else None)
        rows.append(row)
    links = tuple(f"{step.folder.name}/{REPORT}" if step.folder else None for step in steps)
    return Table(
        title="Numbers tried, and what is accepted", rows=tuple(rows), links=links if any(links) else ()
    )


def _notes(result: Found) -> Iterator[str]:
    """Notes on the answer."""
    search, scenario, edge = result.search, result.search.question.scenario, result.edge
    yield from _instead(result)
    if result.kind == "load" and search.answer is not None and not search.confirmed:
        yield "The answer was not tried with a second seed: the search had no steps left."
    if result.kind == "load" and search.answer is None and edge is not None and edge.state == "limited":
        yield f"Nothing below {result.amount(edge.value)} was tried: the knee is there, or below."
    if result.kind == "load" and scenario.load.shape is not None:
        yield "The load's shape is left out: every step is a constant demand."
    if result.kind == "load" and scenario.local.scale != 1:
        yield f"At scale {scenario.local.scale:g} of every rate limit: divide by it for a real table."
    if result.kind == "shards" and search.answer is not None:
        yield PLACED
    if result.target == SIMULATED:
        yield BURST if search.question.burst else STEADY
    if result.target == SIMULATED and result.kind != "load":
        yield f"Dollars are a month of this load, around the clock; {result.prices.title}."
    if result.kind != "shards" and scenario.changes_capacity:
        yield "Timeline and auto scaling are left out: the capacity stays the same."


def _instead(result: Found) -> Iterator[str]:
    """Suggest the next question if no number is enough, or a limit caps the load."""
    question, edge = result.search.question, result.edge
    refused = edge.throttled_by(result.direction) if edge is not None else None
    if refused is None or (result.kind != "load" and result.search.answer is not None):
        return
    scenario, of_key = question.scenario.name, refused.cause is Cause.KEY_RANGE
    typed = scenario if (SCENARIOS / f"{scenario}.toml").exists() else "SCENARIO"
    other = f" --index {refused.index}" if refused.index is not None else ""
    ask = f"ask keyheat whatif {typed} {'shards' if of_key else 'capacity'}{other}"
    if result.kind == "load":
        yield f"To carry more, {ask}."
    elif of_key is not (result.kind == "shards"):
        more = "More capacity does not help with a partition's limit" if of_key else "More shards do not help"
        yield f"{more}: {ask}. If both are short, keyheat simulate {typed} tries their cures together."
    elif refused.index != question.index:
        owner = whose(label_of(refused.index))
        yield f"That is a limit of {owner}, unchanged here: keyheat whatif {typed} {result.kind}{other}."


def _data(result: Found) -> dict[str, Any]:
    """The search for programs; times in seconds, rates per second."""
    search, question = result.search, result.search.question
    return {
        "question": question.kind, "scenario": question.scenario.name, "target": result.target,
        "unit": result.unit, "index": question.index, "direction": search.direction,
        "throttle_share_most": question.share_most, "burst": question.burst,
        "answer": search.answer and search.answer.value, "failing": search.failing and search.failing.value,
        "confirmed": search.confirmed,
        "steps": [_step_data(result, step) for step in search.steps],
    }  # fmt: skip


def _step_data(result: Found, step: Step) -> dict[str, Any]:
    refused = [{"constraint": each.cause.constraint, "index": each.index, "direction": each.direction,
             "throttle_events": each.events} for each in step.outcome.limits]  # fmt: skip
    return {
        "value": step.value, "seed": step.outcome.seed, "state": step.state, "throttle_share": step.share,
        "attempts_per_s": step.attempts_per_s, "throttled_per_s": step.throttled_per_s,
        "accepted_units_per_s": {side.value: result.accepted_per_s(step, side) for side in Direction},
        "limited_by": refused, "on_burst": step.on_burst, "folder": step.folder,
        **({} if step.folder else asdict(monthly(step, result.prices))),
    }  # fmt: skip
