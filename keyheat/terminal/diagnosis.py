"""The answer in a terminal: one line for a run, a diagnosis in a few."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import ReportRun
from keyheat.analysis.report.seconds import read_record
from keyheat.numbers import clock, moment, percent, some, whole
from keyheat.runs.formats import Diagnosis, Finding, Label, Verdict
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.terminal.layout import COLOURS, Paragraph
from keyheat.terms import CONFIDENCE, THROTTLED_BY
from keyheat.wording.advice import cards, carried_words, cure_of, outlook, side_words
from keyheat.wording.answers import Answer, answers_of
from keyheat.wording.constraints import NAMES, SHORT, crosses_midnight
from keyheat.wording.verdict import (
    about,
    expectation,
    is_as_expected,
    numbers,
    rival_words,
    sureness,
    verdict_sentence,
)
from keyheat.words import capital, sentence

MOST_LABELS = 20
MOST_FINDINGS = 20


def outcome(scenario: Scenario, diagnosis: Diagnosis, report: str, manifest: Manifest | None = None) -> Text:
    """A run in short: name, label, confidence, throttles, report; below, if that was expected, and the cure.

    Its client may have counted more than labels have, where nobody says what refused a part of a batch or a
    transaction. That it was stopped before its time is said before anything else.
    """
    verdict = diagnosis.verdict
    totals, stopped = (manifest.totals, manifest.stopped_by) if manifest else (None, None)
    throttles = max(totals.throttled if totals else 0, sum(label.throttles for label in diagnosis.labels))
    label = chip(verdict)
    label.pad_right(max(0, 12 - len(label)))
    early = Text(f"{scenario.name:<12} {stopped.words}\n" if stopped else "", style="bold yellow")
    line = Text.assemble(
        early, f"{scenario.name:<12} ", label, f"  confidence {sureness(verdict)}",
        f"  {whole(throttles):>8} throttles  ", (report, "bold"),
    )  # fmt: skip
    if not verdict.valid:
        line.append(f"\n{'':<13}{_why_invalid(diagnosis)}")
    elif diagnosis.generator.bound:
        line.append(f"\n{'':<13}{diagnosis.generator.shortfall}")
    if scenario.expects is not None:
        line.append(f"\n{'':<13}").append(expected(scenario.expects, verdict))
    for carried in carried_words(diagnosis):
        line.append(f"\n{'':<13}{carried}")
    if (cure := cure_of(diagnosis)) is not None:
        line.append(f"\n{'':<13}cure: {cure}")
    return line


def _why_invalid(diagnosis: Diagnosis) -> str:
    """Why a run says nothing about its table, in one line: its report has the rest."""
    if diagnosis.generator.bound:
        return f"the load generator was the limit: {next(iter(diagnosis.generator.checks), 'see its report')}"
    return next(iter(diagnosis.verdict.because), "evidence is missing").rstrip(".")


def summary(diagnosis: Diagnosis, run: ReportRun | None = None) -> RenderableType:
    """A diagnosis as a DBA reads it: the verdict in a sentence, what is asked next, what to do, and why.

    `run` is the run directory that it belongs to, if there is one: its numbers make the sentence fuller.
    """
    verdict, whole_run = diagnosis.verdict, run or ReportRun(diagnosis=diagnosis)
    facts = facts_of(whole_run, read_record(whole_run))
    said = verdict_sentence(verdict, facts, diagnosis.generator)
    broken = [
        f"{one.name}: {one.measured}, where {one.allowed} is allowed."
        for one in diagnosis.thresholds
        if one.broken
    ]
    expects = whole_run.manifest.expects if whole_run.manifest else None
    as_expected = [expected(expects, diagnosis.verdict)] if expects else []
    stopped = whole_run.manifest.stopped_by if whole_run.manifest else None
    return Group(
        *([Paragraph(sentence(stopped.words), style="bold yellow")] if stopped else []),
        Paragraph(said, style="bold"),
        chip(verdict),
        *as_expected,
        *_answers(answers_of(whole_run, facts, shared=False)),
        *_advice("What to do now", "mitigation", diagnosis),
        *_advice("What to do for good", "cure", diagnosis),
        *_advice("What was simulated, and is not enough", "insufficient", diagnosis),
        *_block("Why", verdict.because),
        *_block("What else it may be", rival_words(verdict)),
        *_labels(diagnosis.labels),
        *_findings(diagnosis.findings),
        *_block("Broken thresholds", broken, "red"),
        *_block("Thresholds that are not decided", undecided(diagnosis)),
        *_block("Missing", diagnosis.coverage.missing, "yellow"),
    )


def undecided(diagnosis: Diagnosis) -> list[str]:
    """The thresholds that a run of this kind cannot measure, a line each."""
    return [
        f"{one.name}, {one.allowed}, is not decided: {one.measured}"
        for one in diagnosis.thresholds
        if not one.decided
    ]


def _block(heading: str, lines: Sequence[str], style: str = "") -> list[RenderableType]:
    """Lines below a heading; nothing where there are none."""
    found = [Paragraph(line, "  - ", "    ", style) for line in lines]
    return [_heading(heading), *found] if found else []


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _findings(findings: Sequence[Finding]) -> list[RenderableType]:
    """What other analyzers found: whose finding, what about, and below it why, with the numbers."""
    parts: list[RenderableType] = []
    for one in findings[:MOST_FINDINGS]:
        head = f"{one.analyzer}: {one.label} ({about(one)}; {CONFIDENCE} {percent(one.confidence)})"
        parts.append(Paragraph(head, "  - ", "    ", "bold"))
        parts += [Paragraph(line, "    ", "    ") for line in (*one.because, numbers(one)) if line]
    more = len(findings) - MOST_FINDINGS
    rest = [Text(f"  and {some(more, 'more finding')}")] if more > 0 else []
    return [_heading("What else was found"), *parts, *rest] if parts else []


def _answers(answers: Sequence[Answer]) -> list[RenderableType]:
    """A paragraph for each question; its command stands below, whole, so that it can be copied."""
    width = max(len(one.question) for one in answers) + 2
    indent, parts = " " * width, list[RenderableType]([Text("")])
    for one in answers:
        said = " · ".join((one.said, *one.beside)).replace("`", "")
        parts.append(Paragraph(said, f"{one.question:<{width}}", indent))
        parts += [Text(f"{indent}{one.command}", style="bold")] if one.command else []
    return parts


def _advice(heading: str, kind: str, diagnosis: Diagnosis) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for card in cards(one for one in diagnosis.recommendations if one.kind == kind):
        parts.append(Text.assemble("  - ", (card.title, "bold")))
        for one in card.of:
            whose_is_it = f"{capital(side_words(one))}: " if card.several else ""
            parts.append(Paragraph(f"{whose_is_it}{one.why} {outlook(one)}".strip(), "    ", "    "))
        parts += [Paragraph(line, "    ", "    ") for line in card.expected]
    return [_heading(heading), *parts] if parts else []


def chip(verdict: Verdict) -> Text:
    """The constraint in its colour; a run that says nothing about the table says that first."""
    word = verdict.constraint if verdict.valid else f"invalid ({verdict.constraint})"
    if verdict.rule in SHORT:
        word = SHORT[verdict.rule].lower()
    return Text(word, style=f"bold {COLOURS[verdict.constraint]}")


def _day_and_minute(epoch_s: float) -> str:
    """A moment of a run over midnight: 11-20 23:59; more would not go into 80 columns."""
    return moment(epoch_s)[5:16]


def expected(expects: str, verdict: Verdict) -> Text:
    """Whether the verdict is what the scenario expects; what it is not is not overlooked."""
    return Text(
        expectation(expects, verdict), style="" if is_as_expected(expects, verdict) else "bold yellow"
    )


def _labels(labels: Sequence[Label]) -> list[RenderableType]:
    """The first labels, narrow enough for 80 columns; only the name of a resource is ever broken."""
    if not labels:
        return []
    first_s = min(one.start for one in labels).timestamp()
    last_s = max(one.end for one in labels).timestamp()
    days = crosses_midnight(first_s, last_s)
    say = _day_and_minute if days else clock
    table = Table(box=None, padding=(0, 1 if days else 2, 0, 0), pad_edge=False)
    for name in ("  from", "to", "resource", THROTTLED_BY, "throttles", CONFIDENCE):
        right = name in ("throttles", CONFIDENCE)
        table.add_column(
            name, overflow="fold", no_wrap=name != "resource", justify="right" if right else "left"
        )
    for one in labels[:MOST_LABELS]:
        table.add_row(
            f"  {say(one.start.timestamp())}", say(one.end.timestamp()),
            f"{one.resource} {one.direction}s", NAMES[one.constraint].lower(), whole(one.throttles),
            f"{percent(one.confidence)} {one.grade.removeprefix('cause_')}",
        )  # fmt: skip
    more = len(labels) - MOST_LABELS
    rest = [Text(f"  and {some(more, 'more label')}")] if more > 0 else []
    return [_heading("What was limited, and when (UTC)"), table, *rest]
