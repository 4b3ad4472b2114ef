"""A trial as a page: what DynamoDB did beside what the model says, and what explains it."""

from datetime import datetime
from pathlib import Path
from typing import Final

import plotly.graph_objects as go

from keyheat.model.behaviour import DEFAULT
from keyheat.numbers import measured, some, whole
from keyheat.pages.charts.figures import (
    Chart,
    PageTable,
    Section,
    Swatch,
    amounts,
    compact,
    figure,
    heading,
    lay_out,
)
from keyheat.pages.page import PageAnswer, Stat, figures_json, library, page, said_at
from keyheat.show.html import save
from keyheat.show.style import LIGHT
from keyheat.words import capital
from tools.trial.judgement import SEEDS, Comparison, Explanation, Judgement
from tools.trial.record import STEP_S, Trial
from tools.trial.scenarios import trial_scenario
from tools.trial.words import notes_of, sentence_of, value_words


def answer_of(trial: Trial, judgement: Judgement) -> PageAnswer:
    """The first screen of the page."""
    differs, compared = len(judgement.differing), len(judgement.compared)
    where = trial.region or {"aws": "AWS", "local": "local table", "endpoint": "endpoint"}[trial.target]
    stats = [Stat(name="As the model says", value=f"{compared - differs} of {compared}", beside="scenarios")]
    stats += [_stat(one) for one in judgement.explanations]
    return PageAnswer(
        kind="trial",
        title="Field trial",
        chip="Nothing compared" if not compared else "Differs" if differs else "As the model says",
        role="invalid" if not compared else "failed" if differs else "none",
        sentence=sentence_of(trial, judgement),
        question="Does DynamoDB do here what the model says?",
        where=f"{where} · {trial.day:%Y-%m-%d} · Keyheat {trial.version}",
        stats=tuple(stats),
        warnings=tuple(notes_of(trial, judgement)),
    )


def _stat(one: Explanation) -> Stat:
    if not one.determined:
        return Stat(
            name="Undetermined", value=some(len(one.guesses), "parameter"), beside="explain it as well"
        )
    (guess,) = one.guesses
    default = value_words(getattr(DEFAULT, guess.parameter))
    return Stat(name=guess.parameter, value=value_words(guess.value), beside=f"the model has {default}")


def sections_of(judgement: Judgement) -> tuple[Section, ...]:
    """A section for each scenario: a chart, and every number with its tolerance."""
    return tuple(
        Section(
            id=one.scenario,
            title=f"{capital(one.scenario)}: {'as the model says' if one.agrees else 'differs'}",
            short=one.scenario,
            charts=(_chart(one),),
            notes=(trial_scenario(one.scenario).question,),
            tables=(_table(one),),
        )
        for one in judgement.compared
    )


def _chart(one: Comparison) -> Chart:
    made = figure(height=220)
    sides = (("measured", "accent", one.seen), ("the model", "muted", one.said))
    lay_out(
        made, barmode="group", annotations=[heading("admitted write units in 10 s", 1.0)],
        xaxis=amounts(gridcolor="rgba(0,0,0,0)", rangemode="normal", dtick=STEP_S, title={"text": "seconds"}),
        yaxis=amounts(),
    )  # fmt: skip
    for name, role, side in sides:
        starts = [place * STEP_S for place in range(len(side.units_by_10_s))]
        made.add_trace(
            go.Bar(
                x=starts, y=compact(list(side.units_by_10_s)), marker={"color": LIGHT[role]},
                hovertemplate=f"from %{{x}} s: %{{y:,}} units, {name}<extra></extra>",
            )
        )  # fmt: skip
    totals = [sum(side.units_by_10_s) for _name, _role, side in sides]
    return Chart(
        id=f"chart-{one.scenario}",
        title="Admitted",
        summary=f"{whole(totals[0])} units were admitted meanwhile; the model says {whole(totals[1])}.",
        figure=made,
        legend=tuple(Swatch(name=name, role=role, mark="bar") for name, role, _side in sides),
    )


def _table(one: Comparison) -> PageTable:
    rows = tuple(
        (
            held.name, _number(held.seen), _number(held.said), f"± {_number(held.tolerance)}",
            "agrees" if held.agrees else "differs",
        )
        for held in one.held
    )  # fmt: skip
    columns = ("what", "measured", "the model", "tolerance", "verdict")
    return PageTable(caption="Numbers", columns=columns, rows=rows, numeric=frozenset({1, 2, 3}))


def _number(value: float) -> str:
    return whole(value) if value >= 100 else measured(value)


READING: Final = (
    ("The model", f"The scenario at the rate that was sent, simulated with {len(SEEDS)} seeds; their mean."),
    (
        "Tolerance",
        "Three standard deviations of the seeds, and at least what a load that begins within a second, or "
        "a busy machine, may make of it.",
    ),
    ("Explained by", "The parameter that brings these scenarios within tolerance, and none out of it."),
    ("Undetermined", "Several parameters do that, and these scenarios cannot tell them apart."),
)


def write_page(path: Path, trial: Trial, judgement: Judgement, generated_at: datetime) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    sections = sections_of(judgement)
    text = page(
        "answer.html.j2", answer=answer_of(trial, judgement), sections=sections, reading=READING,
        figures=figures_json([chart for section in sections for chart in section.charts]),
        generated_at=said_at(generated_at), plotlyjs=library(None),
    )  # fmt: skip
    return save(path, text)
