"""What a search tried: every number in a table and in two figures, every run with its report."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from keyheat.numbers import (
    NOTHING,
    UNITS,
    a_month,
    measured,
    milliseconds,
    percent,
    rate,
    some,
    whole,
)
from keyheat.plan.charges import monthly
from keyheat.plan.limit_use import LimitUse, used_by
from keyheat.plan.prices import Prices
from keyheat.runfiles import REPORT, SIMULATED
from keyheat.show.answer import Answer, Table, Tone
from keyheat.show.constraints import limit_of
from keyheat.simulator.outcome import Left
from keyheat.simulator.search import Step
from keyheat.simulator.whatif import Search, sent_in, steady
from keyheat.terms import DEMAND, P99, THROTTLED_BY
from keyheat.words import BROKEN, DONE, INVALID, WRITES_FIRST, Constraint, Direction, label_of, whose

if TYPE_CHECKING:
    from keyheat.show.compare import ComparedRun

WHOLE_READ: Final = "ReadCollection.logical"
AT_P99: Final = 3  # place among the percentiles of a report
READING: Final = (
    ("Throttled", "The share of the attempts that was refused; of two seeds the larger one."),
    ("Holds", "With both seeds at most the allowed share is throttled. Points of what does not are hollow."),
    ("Demand", "What the load asks of a limit in its busiest second, by its keys, sizes and operations."),
    ("Provisioned", "Dollars a month of what the table and its indexes have, at the hourly price."),
    ("On demand", "Dollars a month of what the load consumes; unknown where a part of it throttles."),
    (NOTHING, "Not known, or not a part of it; never zero."),
)
NOT_OF_THE_TABLE: Final = {"generator": "Generator-bound", "undecided": "Not decided"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search, where it was made, and how near each limit is at the answer and before it.

    `formula` is the number of shards that the formula says. `assumed` are sentences about items and keys.
    Only one that is `drawn` has figures, which take plotly.
    """

    search: Search
    target: str
    prices: Prices
    uses: tuple[LimitUse, ...] = ()
    uses_before: tuple[LimitUse, ...] = ()
    formula: int | None = None
    assumed: tuple[str, ...] = ()
    drawn: bool = False

    @property
    def simulated(self) -> bool:
        return self.target == SIMULATED

    @property
    def unit(self) -> str:
        """What is counted: shards, WCU, or the unit of the load."""
        question = self.search.question
        if question.kind == "load":
            return f"{question.scenario.load.target_unit}/s"
        return "shards" if question.kind == "shards" else UNITS[self.search.direction]

    def amount(self, value: float) -> str:
        """A number with what is counted."""
        if self.search.question.kind == "shards":
            return some(int(value), "shard")
        index = self.search.question.index
        return f"{number(value)} {self.unit}{f' for {whose(label_of(index))}' if index else ''}"

    @property
    def columns(self) -> "dict[float, ComparedRun]":
        """The runs that were loaded, by the number that was tried; the one with most throttles of each."""
        if self.simulated:
            return {}
        from keyheat.show.compare import ComparedRun

        steps = self.search.in_order
        return {step.value: ComparedRun.read(step.folder, self.prices) for step in steps if step.folder}


def found_of(
    search: Search,
    target: str,
    prices: Prices,
    folder: Path,
    *,
    formula: int | None = None,
    assumed: tuple[str, ...] = (),
    drawn: bool = False,
) -> Found:
    """A search with the demand on every limit; `folder` is the scenario's."""
    before, after = sides_of(search)
    return Found(
        search=search, target=target, prices=prices, formula=formula, assumed=assumed, drawn=drawn,
        uses=_uses(search, after, folder), uses_before=_uses(search, before, folder),
    )  # fmt: skip


def _uses(search: Search, step: Step | None, folder: Path) -> tuple[LimitUse, ...]:
    if step is None:
        return ()
    lasting = steady(step.scenario)
    return used_by(lasting, folder=folder, scale=lasting.local.scale, traffic=sent_in(search, step, folder))


def sides_of(search: Search) -> tuple[Step | None, Step]:
    """The number that the scenario has, else one that does not hold; and the answer, else the largest."""
    after = search.answer or search.in_order[0 if search.question.kind == "load" else -1]
    others = [step for step in search.in_order if step.value != after.value]
    present = next((step for step in others if step.value == search.question.present), None)
    smaller = [step for step in others if step.value < after.value and not step.holds]
    return present or (smaller[-1] if smaller else None), after


def exit_code_of(search: Search) -> int:
    """0: answered; 1: not even the largest number is enough; 3: a run does not say anything of its table."""
    if search.failing is not None and search.failing.state in NOT_OF_THE_TABLE:
        return INVALID
    return BROKEN if search.answer is None and search.question.kind != "load" else DONE


def together(answers: Sequence[Answer]) -> Answer:
    """One answer over several, such as those for reads and for writes."""
    if len(answers) == 1:
        return answers[0]
    brief = [replace(one, title=one.label, tables=(), figures=(), notes=(), parts=()) for one in answers]
    return Answer(
        title=answers[0].title,
        label="; ".join(one.label for one in answers),
        tone=next((one.tone for one in answers if one.tone != "none"), "none"),
        sentence=" ".join(one.sentence for one in answers),
        context=answers[0].context,
        tables=tuple(table for one in answers for table in one.tables),
        figures=tuple(figure for one in answers for figure in one.figures),
        notes=tuple(dict.fromkeys(note for one in answers for note in one.notes)),
        parts=(*brief, *(part for one in answers for part in one.parts)),
        data={"answers": [one.data for one in answers]},
    )


def data_of(found: Found) -> dict[str, Any]:
    """The search for programs; times in seconds, rates per second."""
    search, question = found.search, found.search.question
    return {
        "question": question.kind,
        "scenario": question.scenario.name,
        "target": found.target,
        "unit": found.unit,
        "index": question.index,
        "direction": search.direction.value,
        "throttle_share_most": question.share_most,
        "burst": question.burst,
        "answer": None if search.answer is None else search.answer.value,
        "failing": None if search.failing is None else search.failing.value,
        "confirmed": search.confirmed,
        "formula": found.formula,
        "limits": [{**asdict(use), "share": use.share} for use in found.uses],
        "steps": [_step_data(found, step) for step in search.steps],
    }


def _step_data(found: Found, step: Step) -> dict[str, Any]:
    costs = monthly(step, found.prices)
    return {
        "value": step.value,
        "seed": step.outcome.seed,
        "state": step.state,
        "throttle_share": step.share,
        "attempts_per_s": step.attempts_per_s,
        "throttled_per_s": step.throttled_per_s,
        "accepted_units_per_s": {side.value: accepted_per_s(found.search, step, side) for side in Direction},
        "limited_by": [
            {
                "constraint": left.cause.constraint,
                "index": left.index,
                "direction": left.direction.value,
                "throttle_events": left.events,
            }
            for left in step.outcome.left
        ],
        "on_burst": step.on_burst,
        "folder": None if step.folder is None else str(step.folder),
        **({} if step.folder else asdict(costs)),
    }


def number(value: float) -> str:
    """A number with the digits in which it was tried."""
    return whole(value) if value >= 100 or value == int(value) else f"{value:.4g}"


def share_words(step: Step) -> str:
    return percent(step.share) if step.share else "none"


def limit_words(step: Step, direction: Direction | None) -> str:
    """What throttled most, and whose limit that is: `one partition of the table (writes)`."""
    left = step.left(direction)
    if left is None:
        return limit_of("undetermined", None)
    return f"{limit_of(left.cause.constraint, label_of(left.index))} ({left.direction}s)"


def limited_by(step: Step, direction: Direction | None) -> str:
    """The same in few letters; in brackets what is no limit of the table."""
    if step.state in NOT_OF_THE_TABLE:
        return f"({NOT_OF_THE_TABLE[step.state].lower()})"
    left: Left | None = step.left(direction)
    if left is None:
        return "undetermined" if step.state == "limited" else NOTHING
    owner = "" if left.index is None else f" ({left.index})"
    return f"{left.cause.constraint.replace('_', ' ')}{owner}{', on burst' if step.on_burst else ''}"


def tone_of(step: Step | None, direction: Direction | None) -> Tone:
    """The colour of what does not hold: that of its limit; none where everything holds."""
    if step is None:
        return "none"
    if step.state in NOT_OF_THE_TABLE:
        return "invalid"
    left = step.left(direction)
    constraint: Constraint = "undetermined" if left is None else left.cause.constraint
    return constraint


def accepted_per_s(search: Search, step: Step, direction: Direction) -> float:
    """Units per second of the resource in question; of a load, of the table and its indexes together."""
    if search.question.kind == "load":
        return step.outcome.consumed_per_s(direction)
    return step.outcome.accepted_per_s.get((search.question.index, direction), 0.0)


def steps_table(found: Found) -> Table:
    """Every number with what it throttles, by what, what is accepted and what that costs."""
    columns = found.columns
    rows = [_row(found, step, columns.get(step.value)) for step in found.search.in_order]
    return Table(title="Numbers tried", rows=tuple(rows))


def _row(found: Found, step: Step, run: "ComparedRun | None") -> dict[str, str]:
    search = found.search
    row = {
        found.unit: number(step.value),
        "throttled": share_words(step),
        THROTTLED_BY: limited_by(step, search.question.direction),
    }
    if search.question.kind == "load":
        sides = {f"{UNITS[side]}/s": measured(accepted_per_s(search, step, side)) for side in _sides(search)}
        return row | {"attempts/s": measured(step.attempts_per_s)} | sides
    row["accepted"] = rate(accepted_per_s(search, step, search.direction), UNITS[search.direction])
    if run is None:
        return row | _costs(found, step)
    return row | (_reading(run) if search.question.kind == "shards" else {})


def _sides(search: Search) -> list[Direction]:
    """The directions in which anything was consumed."""
    return [side for side in WRITES_FIRST if any(accepted_per_s(search, step, side) for step in search.steps)]


def _reading(run: "ComparedRun") -> dict[str, str]:
    """What reading a whole collection took in a run: one query for each shard."""
    latency, result = run.latency(WHOLE_READ), run.numbers
    return {
        f"whole read, {P99}": milliseconds(latency.table[AT_P99]) if latency else NOTHING,
        "RCU of one": measured(result.units_per_read if result else None),
    }


def _costs(found: Found, step: Step) -> dict[str, str]:
    """Dollars a month; on demand only where no part of the load throttles."""
    costs = monthly(step, found.prices)
    provisioned = found.search.question.kind == "capacity"
    first = {"provisioned": a_month(costs.provisioned_dollars)} if provisioned else {}
    return first | {"on demand": a_month(costs.on_demand_dollars if step.holds else None)}


def limits_of(found: Found) -> list[tuple[str, float | None, float | None]]:
    """The demand on each limit as a share of it, before and after; the one most used before first."""
    before, after = ({_limit(use): use.share for use in uses} for uses in (found.uses_before, found.uses))
    return [(name, before.get(name), after.get(name)) for name in before | after]


def limits_table(found: Found, what: str) -> Iterator[Table]:
    """How near the load comes to each limit with the answer, by its keys, sizes and operations alone."""
    if not found.uses:
        return
    before = {_limit(use): percent(use.share) for use in found.uses_before}
    rows = [
        {
            "limit": _limit(use),
            **({"before": before.get(_limit(use), NOTHING)} if before else {}),
            "used": percent(use.share),
            DEMAND: number(use.asked_per_s),
            "of": f"{whole(use.limit_per_s)} {UNITS[use.direction]}/s",
            "hottest key": measured(use.key_per_s),
        }
        for use in found.uses
    ]
    yield Table(title=f"By the numbers, with {what}", rows=tuple(rows))


def _limit(use: LimitUse) -> str:
    return f"{limit_of(use.constraint, use.resource)}, {use.direction}s"


def runs_of(found: Found) -> Iterator[Answer]:
    """Each run that was loaded, with the link to its report, relative to the folder of all of them."""
    for step in sorted(found.search.steps, key=lambda step: step.value):
        if step.folder is None or step.verdict is None:
            continue
        because = step.verdict.because[0] if step.verdict.because else "Nothing was throttled."
        yield Answer(
            title=f"{found.amount(step.value)}, seed {step.scenario.seed}",
            label="Holds" if step.holds else limited_by(step, None),
            tone="none" if step.holds else tone_of(step, None),
            sentence=because,
            context=f"{share_words(step)} throttled · {rate(step.attempts_per_s, 'attempts')}",
            link=f"{step.folder.name}/{REPORT}",
        )
