"""A run in one line of a terminal: name, label, confidence, throttles, report."""

from rich.text import Text

from keyheat.numbers import whole
from keyheat.runs.formats import Diagnosis, Verdict
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.show.advice import carried_words, cure_of
from keyheat.show.constraints import SHORT
from keyheat.show.text import COLOURS
from keyheat.show.verdict import expectation, is_as_expected, sureness


def outcome(scenario: Scenario, diagnosis: Diagnosis, report: str, manifest: Manifest | None = None) -> Text:
    """A run in short; below, whether that was expected, and the cure.

    The client may have counted more throttles than labels have: nobody says what refused a part of a batch.
    That the run was stopped before its time comes before anything else.
    """
    verdict = diagnosis.verdict
    totals, stopped = (manifest.totals, manifest.stopped_by) if manifest else (None, None)
    throttles = max(totals.throttled if totals else 0, sum(label.throttles for label in diagnosis.labels))
    label = _chip(verdict)
    label.pad_right(max(0, 12 - len(label)))
    early = Text(f"{scenario.name:<12} {stopped.words}\n" if stopped else "", style="bold yellow")
    line = Text.assemble(
        early, f"{scenario.name:<12} ", label, f"  confidence {sureness(verdict)}",
        f"  {whole(throttles):>8} throttles  ", (report, "bold"),
    )  # fmt: skip
    below: list[str | Text] = []
    if not verdict.valid:
        below.append(_why_invalid(diagnosis))
    elif diagnosis.generator.bound:
        below.append(diagnosis.generator.shortfall)
    if scenario.expects is not None:
        style = "" if is_as_expected(scenario.expects, verdict) else "bold yellow"
        below.append(Text(expectation(scenario.expects, verdict), style))
    below += carried_words(diagnosis)
    if (cure := cure_of(diagnosis)) is not None:
        below.append(f"cure: {cure}")
    for words in below:
        line.append(f"\n{'':<13}").append(words)
    return line


def _chip(verdict: Verdict) -> Text:
    """The constraint in its colour; a run that says nothing about the table says that first."""
    word = verdict.constraint if verdict.valid else f"invalid ({verdict.constraint})"
    if verdict.rule in SHORT:
        word = SHORT[verdict.rule].lower()
    return Text(word, style=f"bold {COLOURS[verdict.constraint]}")


def _why_invalid(diagnosis: Diagnosis) -> str:
    """Why a run says nothing about its table, in one line: its report has the rest."""
    if diagnosis.generator.bound:
        return f"the load generator was the limit: {next(iter(diagnosis.generator.checks), 'see its report')}"
    return next(iter(diagnosis.verdict.because), "evidence is missing").rstrip(".")
