"""A trial as a page: what DynamoDB did beside what the model says, and what explains it."""

from datetime import datetime
from pathlib import Path
from typing import Final

import plotly.graph_objects as go

from keyheat.model.behaviour import DEFAULT
from keyheat.numbers import measured, some, whole
from keyheat.show.answer import Answer, Fact, Figure, Section, Table
from keyheat.show.charts import LIGHT, compact, figure
from keyheat.show.render import html_of, save
from keyheat.words import capital
from tools.trial.judgement import SEEDS, Comparison, Explanation, Judgement
from tools.trial.record import STEP_S, Trial
from tools.trial.scenarios import trial_scenario
from tools.trial.words import notes_of, sentence_of, value_words


def answer_of(trial: Trial, judgement: Judgement) -> Answer:
    """The trial as an answer: how many scenarios agree, then each with its chart and its numbers."""
    differs, compared = len(judgement.differing), len(judgement.compared)
    where = trial.region or {"aws": "AWS", "local": "local table", "endpoint": "endpoint"}[trial.target]
    agree = Fact(name="As the model says", value=f"{compared - differs} of {compared}", beside=("scenarios",))
    return Answer(
        title="Field trial",
        label="Nothing compared" if not compared else "Differs" if differs else "As the model says",
        tone="invalid" if not compared else "failed" if differs else "none",
        sentence=sentence_of(trial, judgement),
        question="Does DynamoDB do here what the model says?",
        context=f"{where} · {trial.day:%Y-%m-%d} · Keyheat {trial.version}",
        facts=(agree, *map(_fact, judgement.explanations)),
        warnings=tuple(notes_of(trial, judgement)),
        sections=tuple(map(_section, judgement.compared)),
        notes=tuple(f"{name}: {meaning}" for name, meaning in MEANINGS),
    )


def _fact(one: Explanation) -> Fact:
    if not one.determined:
        many = some(len(one.guesses), "parameter")
        return Fact(name="Undetermined", value=many, beside=("explain it as well",))
    (guess,) = one.guesses
    default = value_words(getattr(DEFAULT, guess.parameter))
    beside = (f"the model has {default}",)
    return Fact(name=guess.parameter, value=value_words(guess.value), beside=beside)


def _section(one: Comparison) -> Section:
    return Section(
        id=one.scenario, title=f"{capital(one.scenario)}: {'as the model says' if one.agrees else 'differs'}",
        short=one.scenario, figures=(_figure(one),), lines=(trial_scenario(one.scenario).question,),
        tables=(_table(one),), page_only=True,
    )  # fmt: skip


def _figure(one: Comparison) -> Figure:
    sides = (("measured", "accent", one.seen), ("the model", "muted", one.said))
    bars = [
        go.Bar(
            x=[place * STEP_S for place in range(len(side.units_by_10_s))],
            y=compact(side.units_by_10_s), marker={"color": LIGHT[role]}, name=name,
            hovertemplate=f"from %{{x}} s: %{{y:,}} units, {name}<extra></extra>",
        )
        for name, role, side in sides
    ]  # fmt: skip
    axis = {"dtick": STEP_S, "title": {"text": "seconds"}}
    made = figure(bars, 250, "admitted write units in 10 s", barmode="group", xaxis=axis)
    totals = [whole(sum(side.units_by_10_s)) for _name, _role, side in sides]
    words = f"{totals[0]} units were admitted meanwhile; the model says {totals[1]}."
    return Figure(title=f"Admitted: {one.scenario}", summary=words, figure=made)


def _table(one: Comparison) -> Table:
    rows = tuple(
        {
            "what": held.name, "measured": _number(held.seen), "the model": _number(held.said),
            "tolerance": f"± {_number(held.tolerance)}", "verdict": "agrees" if held.agrees else "differs",
        }
        for held in one.held
    )  # fmt: skip
    return Table(title="Numbers", rows=rows)


def _number(value: float) -> str:
    return whole(value) if value >= 100 else measured(value)


MEANINGS: Final = (
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
    return save(path, html_of(answer_of(trial, judgement), generated_at))
