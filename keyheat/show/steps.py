"""A search and the numbers that it tried, as words, tables, parts and data of an answer."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from keyheat.numbers import NOTHING, UNITS, a_month, measured, percent, some, whole
from keyheat.plan.charges import monthly
from keyheat.plan.limit_use import LimitUse
from keyheat.plan.prices import Prices
from keyheat.runfiles import REPORT
from keyheat.show.answer import Answer, Table
from keyheat.show.constraints import limit_of
from keyheat.simulator.search import Step
from keyheat.simulator.whatif import Search
from keyheat.terms import DEMAND, THROTTLED_BY
from keyheat.words import WRITES_FIRST, Direction, label_of, whose

NOT_OF_THE_TABLE: Final = {"generator": "Generator-bound", "undecided": "Not decided"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search, where it was made, and how near each limit is at the answer.

    `formula` is the number of shards that the formula says. `assumed` are sentences about items and keys.
    """

    search: Search
    target: str
    prices: Prices
    uses: tuple[LimitUse, ...] = ()
    formula: int | None = None
    assumed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.search.question.kind

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
        """The number that does not hold and is next to the answer; None if everything holds."""
        search = self.search
        if self.kind == "load" or search.answer is not None:
            return search.failing
        return search.in_order[-1]


def at_last(search: Search) -> Step:
    """The answer; where there is none, the last resort: the largest number, of a load the smallest."""
    return search.answer or search.in_order[0 if search.question.kind == "load" else -1]


def limit_words(step: Step, direction: Direction | None) -> str:
    """What throttled most, and whose limit that is: `a partition limit of the table (writes)`."""
    left = step.left(direction)
    if left is None:
        return limit_of("undetermined", None)
    return f"{limit_of(left.cause.constraint, label_of(left.index))} ({left.direction}s)"


def steps_table(found: Found) -> Table:
    """Every number with what it throttles, by what, what is accepted and what that costs."""
    search = found.search
    sides = [
        side for side in WRITES_FIRST if any(accepted_per_s(search, step, side) for step in search.steps)
    ]
    rows = [
        {
            found.unit: number(step.value),
            "throttled": share_words(step),
            THROTTLED_BY: limited_by(step, search.question.direction),
            **{f"{UNITS[side]}/s accepted": measured(accepted_per_s(search, step, side)) for side in sides},
            **_month(found, step),
        }
        for step in search.in_order
    ]
    return Table(title="Numbers tried", rows=tuple(rows))


def _month(found: Found, step: Step) -> dict[str, str]:
    """Dollars a month; on demand only where no part of the load throttles."""
    if found.kind == "load" or step.folder is not None:
        return {}
    costs = monthly(step, found.prices)
    first = {"provisioned": a_month(costs.provisioned_dollars)} if found.kind == "capacity" else {}
    return first | {"on demand": a_month(costs.on_demand_dollars if step.holds else None)}


def number(value: float) -> str:
    """A number with the digits in which it was tried."""
    return whole(value) if value >= 100 or value == int(value) else f"{value:.4g}"


def share_words(step: Step) -> str:
    return percent(step.share) if step.share else "none"


def limited_by(step: Step, direction: Direction | None) -> str:
    """What throttled most, in few letters; in brackets what is no limit of the table."""
    if step.state in NOT_OF_THE_TABLE:
        return f"({NOT_OF_THE_TABLE[step.state].lower()})"
    left = step.left(direction)
    if left is None:
        return "undetermined" if step.state == "limited" else NOTHING
    owner = "" if left.index is None else f" ({left.index})"
    return f"{left.cause.constraint.replace('_', ' ')}{owner}{', on burst' if step.on_burst else ''}"


def accepted_per_s(search: Search, step: Step, direction: Direction) -> float:
    """Units per second of the resource in question; of a load, of the table and its indexes together."""
    if search.question.kind == "load":
        return step.outcome.consumed_per_s(direction)
    return step.outcome.accepted_per_s.get((search.question.index, direction), 0.0)


def limits_table(found: Found) -> Iterator[Table]:
    """How near the load comes to each limit with the answer, by its keys, sizes and operations alone."""
    rows = [
        {
            "limit": f"{limit_of(use.constraint, use.resource)}, {use.direction}s",
            "used": percent(use.share),
            DEMAND: number(use.asked_per_s),
            "of": f"{whole(use.limit_per_s)} {UNITS[use.direction]}/s",
            "hottest key": measured(use.key_per_s),
        }
        for use in found.uses
    ]
    if rows:
        amount = found.amount(at_last(found.search).value)
        yield Table(title=f"By the numbers, with {amount}", rows=tuple(rows))


def runs_of(found: Found) -> Iterator[Answer]:
    """Each run that was loaded, with the link to its report, relative to the folder of all of them."""
    for step in sorted(found.search.steps, key=lambda step: step.value):
        if step.folder is None or step.verdict is None:
            continue
        because = step.verdict.because[0] if step.verdict.because else "Nothing was throttled."
        yield Answer(
            title=f"{found.amount(step.value)}, seed {step.scenario.seed}",
            label="Holds" if step.holds else limited_by(step, None),
            tone="invalid" if step.state in NOT_OF_THE_TABLE else step.verdict.constraint,
            sentence=because,
            context=f"{share_words(step)} of {measured(step.attempts_per_s)} attempts/s throttled",
            link=f"{step.folder.name}/{REPORT}",
        )


def data_of(found: Found) -> dict[str, Any]:
    """The search for programs; times in seconds, rates per second."""
    search, question = found.search, found.search.question
    return {
        "question": question.kind, "scenario": question.scenario.name, "target": found.target,
        "unit": found.unit, "index": question.index, "direction": search.direction,
        "throttle_share_most": question.share_most, "burst": question.burst,
        "answer": search.answer and search.answer.value, "failing": search.failing and search.failing.value,
        "confirmed": search.confirmed, "formula": found.formula,
        "limits": [{**asdict(use), "share": use.share} for use in found.uses],
        "steps": [_step_data(found, step) for step in search.steps],
    }  # fmt: skip


def _step_data(found: Found, step: Step) -> dict[str, Any]:
    left = [{"constraint": one.cause.constraint, "index": one.index, "direction": one.direction,
             "throttle_events": one.events} for one in step.outcome.left]  # fmt: skip
    return {
        "value": step.value, "seed": step.outcome.seed, "state": step.state, "throttle_share": step.share,
        "attempts_per_s": step.attempts_per_s, "throttled_per_s": step.throttled_per_s,
        "accepted_units_per_s": {side.value: accepted_per_s(found.search, step, side) for side in Direction},
        "limited_by": left, "on_burst": step.on_burst, "folder": step.folder,
        **({} if step.folder else asdict(monthly(step, found.prices))),
    }  # fmt: skip
