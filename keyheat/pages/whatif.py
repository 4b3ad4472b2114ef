"""A what-if search as a page: the answer in a sentence, what changes with it, and every number tried."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from keyheat.analysis.knee_steps import LimitUse, used_by
from keyheat.numbers import NOTHING, a_month, exact_percent, percent, some, whole
from keyheat.pages.charts.figures import Chart, PageTable
from keyheat.pages.charts.whatif import Pair, pairs_chart, tried_chart
from keyheat.pages.page import PageAnswer, Stat, write_answer
from keyheat.pages.run.sections import Section
from keyheat.plan.charges import monthly
from keyheat.plan.prices import Prices
from keyheat.simulator.outcome import SimulationOutcome
from keyheat.simulator.search import Trial, WhatIfSearch, present_value, sent_in, steady
from keyheat.wording.constraints import limit_of
from keyheat.wording.whatif import amount, attempts_in, columns_of, notes_of, row_of, sentence_of

NAME: Final = "whatif.html"
MOST_LIMITS: Final = 4  # of which the picture shows demand


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfAnswer:
    """A search with what its page shows beside it. `command` asks for it again.

    `before` is the number that the scenario has, else the largest that is not enough; None where every number
    is. `after` is the answer, else the largest that was tried.
    """

    search: WhatIfSearch
    prices: Prices
    formula: int | None
    command: str
    before: Trial | None
    after: Trial
    uses_before: tuple[LimitUse, ...]
    uses_after: tuple[LimitUse, ...]


def answered(
    search: WhatIfSearch, prices: Prices, formula: int | None, command: str, folder: Path = Path()
) -> WhatIfAnswer:
    """Hold the answer against what was before, limit by limit; `folder` is the scenario's."""
    after = search.answer or search.candidates[-1]
    before = _before(search, after)

    def uses(trial: Trial | None) -> tuple[LimitUse, ...]:
        if trial is None:
            return ()
        lasting, sent = steady(trial.scenario), sent_in(search, trial, folder)
        return used_by(lasting, folder=folder, scale=lasting.local.scale, traffic=sent)

    return WhatIfAnswer(
        search=search, prices=prices, formula=formula, command=command, before=before, after=after,
        uses_before=uses(before), uses_after=uses(after),
    )  # fmt: skip


def _before(search: WhatIfSearch, after: Trial) -> Trial | None:
    others = [one for one in search.candidates if one is not after]
    present = next((one for one in others if one.value == present_value(search)), None)
    smaller = [one for one in others if one.value < after.value and not one.enough]
    return present or (smaller[-1] if smaller else None)


def answer_of(found: WhatIfAnswer) -> PageAnswer:
    """The first screen of the page."""
    search = found.search
    asked = {"shards": "How many shards", "write-capacity": "How many WCU", "read-capacity": "How many RCU"}
    whose = f" for index {search.index}" if search.index else ""
    return PageAnswer(
        kind="what if",
        title=search.scenario.name,
        chip="Enough" if search.answer else "Not enough",
        role="none" if search.answer else "failed",
        sentence=sentence_of(search),
        question=f"{asked[search.question]}{whose} are enough, and what do they cost?",
        where=f"simulated · {some(len(search.candidates), 'number')} tried",
        stats=tuple(_stats(found)),
        command=found.command,
    )


def _stats(found: WhatIfAnswer) -> list[Stat]:
    search, before, after = found.search, found.before, found.after
    allowed = f"{exact_percent(search.share_most)} is allowed"
    made = [Stat(name=f"Throttled, with {amount(search, after.value)}", value=_share(after), beside=allowed)]
    if before is not None:
        was = "as the scenario has it" if before.value == present_value(search) else "one of those tried"
        made.append(
            Stat(name=f"Throttled, with {amount(search, before.value)}", value=_share(before), beside=was)
        )
    for cost in _costs(found):
        if cost.after is not None:
            beside = f"{a_month(cost.before)} before" if cost.before is not None else "of this load"
            made.append(Stat(name=f"{cost.name}, a month", value=a_month(cost.after), beside=beside))
    return made


def _share(trial: Trial) -> str:
    return percent(trial.share) if trial.share else "none"


def _costs(found: WhatIfAnswer) -> list[Pair]:
    """Dollars a month of both; on demand only where nothing is left out because it throttled."""
    sides = [None if one is None else monthly(one, found.prices) for one in (found.before, found.after)]
    trials = (found.before, found.after)
    provisioned = [None if side is None else side.provisioned_dollars for side in sides]
    on_demand = [
        side.on_demand_dollars if side is not None and trial is not None and trial.enough else None
        for side, trial in zip(sides, trials, strict=True)
    ]
    pairs = [
        Pair(name=name, before=before, after=after)
        for name, (before, after) in (("Provisioned", provisioned), ("On demand", on_demand))
    ]
    return [pair for pair in pairs if (pair.before, pair.after) != (None, None)]


def sections_of(found: WhatIfAnswer) -> tuple[Section, ...]:
    """What changes, every number that was tried, and the command."""
    search = found.search
    notes = tuple(notes_of(search, found.prices, found.formula))
    tried = tried_chart(search, columns_of(search)[0], attempts_in(search))
    return (
        Section(
            id="change", title="Before and after", short="Change", charts=tuple(_changes(found)), notes=(),
            tables=(_change_table(found),),
        ),
        Section(
            id="tried", title="Number by number", short="Tried", charts=(tried,), notes=notes,
            tables=(_tried_table(found),),
        ),
    )  # fmt: skip


def _changes(found: WhatIfAnswer) -> list[Chart]:
    if found.before is None:
        return []
    sides = amount(found.search, found.before.value), amount(found.search, found.after.value)
    shares, dollars = _limits(found)[:MOST_LIMITS], _costs(found)
    limits = [Pair(name=one.name, before=_hundred(one.before), after=_hundred(one.after)) for one in shares]
    made = []
    if limits:
        made.append(
            pairs_chart(
                "chart-limits", "Demand against the limits", "% of the limit", limits, sides,
                lambda value: percent(None if value is None else value / 100), limit=100.0,
            )
        )  # fmt: skip
    if dollars:
        made.append(pairs_chart("chart-dollars", "What it costs", "dollars a month", dollars, sides, a_month))
    return made


def _hundred(share: float | None) -> float | None:
    return None if share is None else share * 100


def _limits(found: WhatIfAnswer) -> list[Pair]:
    """Demand as a share of each limit, the one that was most used before first."""

    def shares(uses: tuple[LimitUse, ...]) -> dict[str, float]:
        return {f"{limit_of(use.constraint, use.resource)}, {use.direction}s": use.share for use in uses}

    before, after = shares(found.uses_before), shares(found.uses_after)
    return [Pair(name=name, before=before.get(name), after=after.get(name)) for name in (before | after)]


def _change_table(found: WhatIfAnswer) -> PageTable:
    """The numbers of the pictures."""
    search, trials = found.search, (found.before, found.after)

    def row(name: str, before: str, after: str) -> tuple[str, ...]:
        return (name, before, after) if found.before is not None else (name, after)

    shares = [NOTHING if one is None else _share(one) for one in trials]
    attempts = [NOTHING if one is None else whole(_attempts_per_s(one.outcomes[0])) for one in trials]
    rows = [row("throttled", *shares), row("attempts a second", *attempts)]
    rows += [
        row(f"demand, of {pair.name}", percent(pair.before), percent(pair.after)) for pair in _limits(found)
    ]
    rows += [
        row(f"{cost.name.lower()}, a month", a_month(cost.before), a_month(cost.after))
        for cost in _costs(found)
    ]
    heads = [amount(search, one.value) for one in trials if one is not None]
    return PageTable(
        caption="Before and after", columns=("measure", *heads), rows=tuple(rows), numeric=frozenset({1, 2})
    )


def _attempts_per_s(outcome: SimulationOutcome) -> float:
    return sum(outcome.attempts.values()) / outcome.seconds


def _tried_table(found: WhatIfAnswer) -> PageTable:
    search = found.search
    rows = tuple(tuple(row_of(search, one, found.prices)) for one in search.candidates)
    return PageTable(
        caption="Numbers tried", columns=columns_of(search), rows=rows, numeric=frozenset({0, 1, 3, 4, 5})
    )


READING: Final = (
    (
        "Throttled",
        "The share of the attempts that was refused; the worse of two seeds where both were tried.",
    ),
    ("Demand", "What the load asks of a limit in its busiest second, by its keys, sizes and operations."),
    ("Provisioned, a month", "What the table and its indexes have provisioned, at the hourly price."),
    ("On demand, a month", "What the load consumes, by the unit; not said where a part of it throttled."),
    (NOTHING, "Not known, or not a part of it; never zero."),
)


def write_whatif(path: Path, found: WhatIfAnswer, generated_at: datetime) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    return write_answer(path, answer_of(found), sections_of(found), READING, generated_at)
