"""A knee as a page: what the table carries, what throttles next, and how near every limit is."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from keyheat.analysis.knee import KneeStep
from keyheat.analysis.knee_steps import SHARE_MOST, LimitUse
from keyheat.numbers import NOTHING, UNITS, exact_percent, measured, percent, rate, some, span, whole
from keyheat.pages.charts.figures import PageTable
from keyheat.pages.charts.knee import accepted_chart, throttled_chart
from keyheat.pages.page import PageAnswer, Stat, write_answer
from keyheat.pages.run.sections import Section
from keyheat.terms import DEMAND, THROTTLED_BY
from keyheat.wording.constraints import limit_of, target_words
from keyheat.wording.knee import KneeAnswer, chip_of, limited_by, notes_of, sentence_of, whole_or_not
from keyheat.wording.verdict import grade_words
from keyheat.words import capital

NAME: Final = "knee.html"


def answer_of(found: KneeAnswer) -> PageAnswer:
    """The first screen of the page."""
    knee, above = found.knee, found.knee.limited
    role: str = "none"
    if above is not None:
        role = above.constraint if above.state == "limited" else "invalid"
    place = target_words(found.target)
    return PageAnswer(
        kind="knee",
        title=found.scenario.name,
        chip=chip_of(found),
        role=role,
        sentence=sentence_of(found),
        question="How much does it carry, and what throttles first?",
        where=f"{place} · {some(len(knee.steps), 'step')} of {span(found.step_s)}",
        stats=_stats(found),
        warnings=tuple(notes_of(found)),
    )


def _stats(found: KneeAnswer) -> tuple[Stat, ...]:
    knee = found.knee
    carried, above = knee.carried, knee.limited
    made = []
    if carried is not None:
        made.append(Stat(name="Carried", value=found.demand(carried), beside=_units(carried)))
    if above is not None:
        beside = "only what was saved carries it" if above.on_burst else _throttled(above)
        made.append(Stat(name="Not carried", value=found.demand(above), beside=beside))
    if above is not None and above.state == "limited":
        sure = f"confidence {percent(above.confidence)}; " if above.confidence else ""
        again = "said twice" if knee.confirmed else "the second time it was not the same"
        said = capital(grade_words(above.grade, found.source))
        made.append(Stat(name="Evidence", value=said, beside=f"{sure}{again}"))
    use = found.use_of(above) if above is not None else next(iter(found.uses), None)
    if use is not None:
        made.append(Stat(name="By the numbers", value=percent(use.share), beside=_of(use)))
    return tuple(made)


def _units(step: KneeStep) -> str:
    sides = ((step.write_units_per_s, "write"), (step.read_units_per_s, "read"))
    return ", ".join(rate(units, UNITS[side]) for units, side in sides if units) or "no units"


def _throttled(step: KneeStep) -> str:
    if step.state == "generator":
        return "the generator was the limit"
    return f"{measured(step.throttled_per_s)} of {measured(step.attempts_per_s)} attempts/s throttled"


def _of(use: LimitUse) -> str:
    """A limit in words, with the demand on it."""
    demand = f"{whole_or_not(use.asked_per_s)} of {whole(use.limit_per_s)} {UNITS[use.direction]}/s"
    return f"of {limit_of(use.constraint, use.resource)}: {DEMAND} {demand}"


def sections_of(found: KneeAnswer) -> tuple[Section, ...]:
    """Charts against the demand, every step, and the use of every limit."""
    charts = (accepted_chart(found.knee, found.unit), throttled_chart(found.knee, found.unit))
    tables = (steps_table(found),)
    apart = exact_percent(found.knee.range.precision)
    rule = (
        f"A step is carried where at most {exact_percent(SHARE_MOST)} of its attempts are throttled. Demand "
        f"is doubled until a step is not, then halved between, to {apart}; "
        "both ends are tried twice."
    )
    made = [
        Section(id="demand", title="Against the demand", short="Demand", charts=charts, notes=(rule,)),
        Section(id="steps", title="Step by step", short="Steps", charts=(), notes=(), tables=tables),
    ]
    if found.uses:
        told = "Demand on each limit at the highest one that was carried, by the numbers."
        made.append(
            Section(
                id="limits", title="How near every limit is", short="Limits", charts=(), notes=(told,),
                tables=(uses_table(found.uses),),
            )
        )  # fmt: skip
    return tuple(made)


def steps_table(found: KneeAnswer) -> PageTable:
    """Every step, by its demand."""
    columns = (
        f"{found.unit}/s", "attempts/s", "throttled/s", "throttled", "WCU/s", "RCU/s", THROTTLED_BY, "seed",
    )  # fmt: skip
    rows = tuple(
        (
            whole_or_not(step.demand_per_s), measured(step.attempts_per_s), measured(step.throttled_per_s),
            percent(step.throttled_share) if step.throttled_share else "none",
            measured(step.write_units_per_s), measured(step.read_units_per_s), limited_by(step),
            str(step.seed),
        )
        for step in found.knee.in_order
    )  # fmt: skip
    return PageTable(caption="Steps", columns=columns, rows=rows, numeric=frozenset({0, 1, 2, 3, 4, 5}))


def uses_table(uses: Sequence[LimitUse]) -> PageTable:
    """The limits, the most used one first."""
    rows = tuple(
        (
            limit_of(use.constraint, use.resource),
            f"{use.direction}s", whole_or_not(use.asked_per_s), whole(use.limit_per_s), percent(use.share),
            NOTHING if use.key_per_s is None else measured(use.key_per_s),
        )
        for use in uses
    )  # fmt: skip
    columns = ("limit", "of", f"{DEMAND}, units/s", "has, units/s", "used", "by its hottest key, units/s")
    return PageTable(caption="Limits", columns=columns, rows=rows, numeric=frozenset({2, 3, 4, 5}))


READING: Final = (
    ("Carried", "A demand of which hardly an attempt is throttled, however long it lasts."),
    ("Not carried", "The lowest demand that was tried of which more is."),
    ("By the numbers", "What the load test asks of the limit, by its keys, sizes and operations alone."),
    ("WCU/s, RCU/s", "Units that were consumed, of the table and its indexes together."),
)


def write_knee(path: Path, found: KneeAnswer, generated_at: datetime) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    return write_answer(path, answer_of(found), sections_of(found), READING, generated_at)
