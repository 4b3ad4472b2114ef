"""What is held against any bytes: a file of evidence, and a file that the AWS CLI is said to have printed."""

from datetime import UTC, datetime
from pathlib import Path

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.rules import load_thresholds
from keyheat.evidence.collection import from_answer
from keyheat.evidence.request import facts_from_file
from keyheat.evidence.series import answer_of
from keyheat.runfiles import FileProblem, parsed_json
from keyheat.runs.formats import Diagnosis, Evidence, Window
from keyheat.runs.plausibility import read_evidence, sound
from keyheat.runs.table_facts import TableFacts

NUMBERS = load_thresholds()
WINDOW = Window(
    start=datetime(2026, 11, 20, 12, 0, tzinfo=UTC), end=datetime(2026, 11, 20, 12, 10, tzinfo=UTC)
)
LONGEST_MESSAGE = 20_000


def read_as_evidence(path: Path) -> Evidence | None:
    """Either one clear list of mistakes, or evidence that is labelled and survives its file."""
    try:
        evidence = read_evidence(path)
    except FileProblem as problem:
        check_message(problem, path)
        return None
    check(evidence)
    return evidence


def read_as_answer(path: Path) -> Evidence | None:
    """Either one clear list of mistakes, or evidence."""
    try:
        content = parsed_json(path)
        evidence = sound(from_answer(answer_of([content]), table=TableFacts(name="orders"), window=WINDOW))
    except (FileProblem, ValueError) as problem:
        check_message(problem)
        return None
    check(evidence)
    return evidence


def check(evidence: Evidence) -> None:
    """The evidence survives its own format, and gets a diagnosis that its own format allows."""
    written = Evidence.model_validate(evidence.model_dump(mode="json"))
    assert sound(written) == evidence
    found = diagnosed(evidence, numbers=NUMBERS)
    assert Diagnosis.model_validate(found.model_dump(mode="json")) == found


def read_as_description(path: Path) -> None:
    """Either one clear message, or facts."""
    try:
        facts_from_file(path, TableFacts(name="orders"), WINDOW)
    except ValueError as problem:
        check_message(problem)


def check_message(problem: Exception, path: Path | None = None) -> None:
    """A message that a person can read to its end, about the file."""
    assert str(problem).startswith(str(path or ""))
    assert len(str(problem)) < LONGEST_MESSAGE
