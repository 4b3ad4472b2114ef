"""What a regress tells: in a terminal, to GitHub, Jenkins and programs.

`golden/` has every outcome in every form; below is what holds whatever the words are.
"""

import json
import math
import re
from itertools import cycle, islice
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from keyheat.analysis.measures import MEASURES
from keyheat.regression.exports import (
    MOST,
    annotations,
    command,
    content,
    json_schema,
    write_junit,
    write_summary,
)
from keyheat.regression.outcome import EXIT_CODES, Gate, SessionOutcome
from keyheat.regression.phrases import headline, relative
from keyheat.show.regression import comment, outcome_answer, write_session
from tests.conftest import Golden
from tests.pages.conftest import on_screen
from tests.regression.outcomes import (
    HOSTILE,
    HOSTILE_WORDS,
    OUTCOMES,
    REGRESSED,
    a_finding,
    an_outcome,
)

ANNOTATION = re.compile(r"::(error|warning|notice) title=([^,:\r\n]*)(,file=[^,:\r\n]*)?::([^\r\n]*)")


def junit(outcome: SessionOutcome, folder: Path) -> str:
    write_junit(folder / "junit.xml", outcome)
    return (folder / "junit.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_in_every_form(name: str, tmp_path: Path, golden: Golden) -> None:
    """The verdict comes first in a terminal, and all fits; annotations are lines that the runner reads."""
    outcome = OUTCOMES[name]
    forms = {
        "terminal": on_screen(outcome_answer(outcome)),
        "annotations": "\n".join(annotations(outcome)),
        "markdown": comment(outcome),
        "junit": junit(outcome, tmp_path),
    }
    text = "".join(f"==== {form}\n{said.rstrip()}\n" for form, said in forms.items())
    golden(f"{name.replace(' ', '-')}.txt", text)
    lines = forms["terminal"].splitlines()
    if name != "hostile":
        assert headline(outcome) in "\n".join(lines[:4])
        assert (max(map(len, lines)) <= 80, len(lines) <= 40) == (True, True)
    told = annotations(outcome)
    assert told
    assert all(ANNOTATION.fullmatch(line) for line in told), told
    assert any(line.startswith("::error ") for line in told) is (outcome.exit_code != 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [(None, "–"), (0.0, "0 %"), (1e-9, "0 %"), (0.12, "+12 %"), (-0.005, "-0.5 %"), (11.0, "x 12"),
     (1_001.0, "over x 1,000"), (float("inf"), "over x 1,000")],
)  # fmt: skip
def test_relative_changes(change: float | None, said: str) -> None:
    assert relative(change) == said


# Annotations and Markdown


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_what_is_escaped_in_an_annotation_comes_back() -> None:
    line = command("error", HOSTILE, HOSTILE, HOSTILE)
    found = ANNOTATION.fullmatch(line)
    assert unescaped(found[2]) == unescaped(found[4]) == HOSTILE
    assert unescaped(str(found[3]).removeprefix(",file=")) == HOSTILE
    assert "%0D%0A::error::" in line, "the message has no command of its own"
    assert command("error", "a", "50%") == "::error title=a::50%25"


def many(count: int) -> SessionOutcome:
    names = islice(cycle(MEASURES), count)
    return an_outcome("regressed", findings=tuple(a_finding(gate=Gate(measure=name)) for name in names))


@pytest.mark.parametrize("count", [MOST, MOST + 1, 450])
def test_no_more_annotations_than_github_shows(count: int) -> None:
    said = annotations(many(count))
    assert len(said) == MOST
    named = "\n".join(map(unescaped, said))
    assert all(name in named for name in [*MEASURES][:count]), "none is left unsaid"


def test_the_summary_of_the_step_is_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("from another command\n")
    other_setup = an_outcome("not_compared", cases=())
    assert write_session(other_setup, (), path) == other_setup
    assert path.read_text() == "from another command\n" + comment(other_setup)
    wrong = write_session(other_setup, (), tmp_path)
    assert "cannot write the step's summary" in wrong.problems[0]


def test_markdown_makes_nothing_of_words_from_outside_and_fits_into_a_comment() -> None:
    text = comment(HOSTILE_WORDS)
    assert not re.search(r"(?<!\\)<(?!!--)", text), "no element but its own"
    assert not re.search(r"(?<!\\)[@#](?=team|1)", text), "nobody is called"
    long = an_outcome("regressed", findings=many(2_000).findings, because=("because " * 20,) * 1_000)
    assert len(comment(long)) < 65_536
    assert "and 980 more" in comment(long)
    assert "24 more are below." in on_screen(outcome_answer(many(44)))


# JSON


def test_the_schema_forbids_what_is_no_outcome() -> None:
    validator = Draft202012Validator(json_schema())
    for change in ({"format": "keyheat.regression/2"}, {"verdict": "fine"}, {"more": 1}, {"findings": [{}]}):
        assert not validator.is_valid(content(REGRESSED) | change), change


@pytest.mark.parametrize("name", OUTCOMES)
def test_json_is_what_the_schema_says_and_can_be_read_again(tmp_path: Path, name: str) -> None:
    write_summary(tmp_path / "made.json", OUTCOMES[name])
    made = json.loads((tmp_path / "made.json").read_text())
    assert next(iter(made)) == "format"
    assert list(Draft202012Validator(json_schema()).iter_errors(made)) == []
    assert made.pop("exit_code") == EXIT_CODES[OUTCOMES[name].verdict]
    del made["format"]
    assert SessionOutcome.model_validate(made) == OUTCOMES[name]


def test_a_change_without_end_is_no_number(tmp_path: Path) -> None:
    write_summary(tmp_path / "made.json", an_outcome(findings=(a_finding(change=math.inf),)))
    assert json.loads((tmp_path / "made.json").read_text())["findings"][0]["change"] is None
