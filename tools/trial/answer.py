"""A trial as an answer: what DynamoDB did beside what the model says, and what explains it."""

from typing import Any, Final

from keyheat.model.behaviour import DEFAULT
from keyheat.numbers import measured, some, whole
from keyheat.show.answer import Answer, Fact, Section, Table
from keyheat.words import capital
from tools.trial.judgement import FIRST, SEEDS, Comparison, Explanation, Guess, Judgement, comparable
from tools.trial.record import Trial, trial_scenario

WHO: Final = {"aws": "DynamoDB", "local": "The local table", "endpoint": "The endpoint"}
SAYS_NOTHING: Final = {
    "measured": "it was sent too few requests, or too many",
    "generator": "the load generator was the limit",
    "invalid": "its run says nothing about the table",
    "stopped": "it was stopped before its end",
}


def value_words(value: Any) -> str:
    return " to ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"


def model_words(guess: Guess) -> str:
    return value_words(getattr(DEFAULT, guess.parameter))


def explanation_words(one: Explanation) -> str:
    where = " and ".join(sorted(one.scenarios))
    guesses = "; ".join(
        f"{guess.parameter} = {value_words(guess.value)} (the model has {model_words(guess)})"
        for guess in one.guesses
    )
    how = "explained by" if one.determined else "undetermined, for each explains it as well:"
    return f"{where}: {how} {guesses}."


def sentence_of(trial: Trial, judgement: Judgement) -> str:
    who, compared, differs = WHO[trial.target], len(judgement.compared), len(judgement.differing)
    if not compared:
        return "Nothing was measured that could be held against the model."
    if not differs:
        return f"{who} did what the model says, in {some(compared, 'scenario')} of {len(trial.scenarios)}."
    return f"{who} did otherwise than the model says, in {differs} of {some(compared, 'scenario')}."


BUSY: Final = (
    "Load and table share this machine: where it was busy with something else, the table had less time than "
    "the model takes it to have. Try it again on a quiet machine before anything is made of it."
)


def notes_of(trial: Trial, judgement: Judgement) -> list[str]:
    """What explains the differences, what does not, and what was not measured."""
    said = [capital(explanation_words(one)) for one in judgement.explanations]
    if judgement.unexplained:
        where = " and ".join(judgement.unexplained)
        said.append(f"No parameter of the model explains {where}.")
    said += [
        f"{capital(one.scenario)} is not compared: {SAYS_NOTHING[one.state]}."
        for one in trial.scenarios
        if not comparable(one)
    ]
    if judgement.differing and trial.target == "local":
        said.append(BUSY)
    if not trial.complete:
        said.append("Not all six scenarios were run, which leaves more explanations possible.")
    return said


def answer_of(trial: Trial, judgement: Judgement) -> Answer:
    """How many scenarios agree, then each with its numbers; `data` is the same for programs."""
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
        warnings=(notes := tuple(notes_of(trial, judgement))),
        tables=(Table(title="Scenarios", rows=tuple(map(_row, judgement.compared))),),
        sections=tuple(map(_section, judgement.compared)),
        notes=tuple(f"{name}: {meaning}" for name, meaning in MEANINGS),
        data={
            "trial": trial.model_dump(mode="json"),
            "sentence": sentence_of(trial, judgement),
            "differing": list(judgement.differing),
            "explanations": [
                {
                    "scenarios": sorted(one.scenarios),
                    "determined": one.determined,
                    "parameters": {guess.parameter: guess.value for guess in one.guesses},
                }
                for one in judgement.explanations
            ],
            "unexplained": list(judgement.unexplained),
            "notes": list(notes),
        },
    )


def _row(one: Comparison) -> dict[str, str]:
    first = next(held for held in one.held if held.name == FIRST)
    return {
        "scenario": one.scenario,
        "units": whole(sum(one.seen.units_by_10_s)),
        "model": whole(sum(one.said.units_by_10_s)),
        "throttled from": f"{first.seen:.0f} s",
        "by the model": f"{first.said:.0f} s",
        "verdict": "agrees" if one.agrees else "differs",
    }


def _fact(one: Explanation) -> Fact:
    if not one.determined:
        many = some(len(one.guesses), "parameter")
        return Fact(name="Undetermined", value=many, beside=("explain it as well",))
    (guess,) = one.guesses
    beside = (f"the model has {model_words(guess)}",)
    return Fact(name=guess.parameter, value=value_words(guess.value), beside=beside)


def _section(one: Comparison) -> Section:
    return Section(
        id=one.scenario, title=f"{capital(one.scenario)}: {'as the model says' if one.agrees else 'differs'}",
        short=one.scenario, lines=(trial_scenario(one.scenario).question,),
        tables=(_table(one),), page_only=True,
    )  # fmt: skip


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
