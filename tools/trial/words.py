"""A trial in words and for programs: what DynamoDB did beside what the model says, and what explains it."""

from typing import Any, Final

from keyheat.model.behaviour import DEFAULT
from keyheat.numbers import some
from keyheat.words import capital
from tools.trial.judgement import Explanation, Guess, Judgement, comparable
from tools.trial.record import Trial

WHO: Final = {"aws": "DynamoDB", "local": "The local table", "endpoint": "The endpoint"}
SAYS_NOTHING: Final = {
    "measured": "it was sent too few requests, or too many",
    "generator": "the load generator was the limit",
    "invalid": "its run says nothing about the table",
    "stopped": "it was stopped before its end",
}


def value_words(value: Any) -> str:
    """The value of a parameter: a number, or a span."""
    return " to ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"


def guess_words(guess: Guess) -> str:
    """A parameter with the value that explains what was seen, and the model's own."""
    default = value_words(getattr(DEFAULT, guess.parameter))
    return f"{guess.parameter} = {value_words(guess.value)} (the model has {default})"


def explanation_words(one: Explanation) -> str:
    """What explains some scenarios, in a sentence."""
    where = " and ".join(sorted(one.scenarios))
    if one.determined:
        return f"{where}: explained by {guess_words(one.guesses[0])}."
    return f"{where}: undetermined, for each explains it as well: {'; '.join(map(guess_words, one.guesses))}."


def sentence_of(trial: Trial, judgement: Judgement) -> str:
    """The answer."""
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


def trial_json(trial: Trial, judgement: Judgement) -> dict[str, Any]:
    """The same for programs."""
    return {
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
        "notes": notes_of(trial, judgement),
    }
