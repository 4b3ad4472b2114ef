"""A run, or evidence alone, as an answer: the verdict, what a reader asks next, what to do, and why.

A terminal shows it as it is; `keyheat.show.report` adds the charts and the numbers for a page.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.text import Text

from keyheat.analysis.facts import Facts, facts_of
from keyheat.analysis.report import ReportRun
from keyheat.model import limits
from keyheat.numbers import clock, crosses_midnight, moment, percent, span, whole
from keyheat.runs.formats import Diagnosis, Label, Recommendation, ThresholdResult, Verdict, diagnosis_json
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.show.advice import amount_words, by_action, carried_words, cure_of, outlook, side_words
from keyheat.show.answer import Answer, Fact, Section, Table
from keyheat.show.questions import first_facts, times_of
from keyheat.show.text import COLOURS
from keyheat.show.verdict import (
    NAMES,
    SHORT,
    about,
    expectation,
    in_two_words,
    is_as_expected,
    numbers,
    rival_words,
    sureness,
    target_words,
    tone_of,
    verdict_sentence,
)
from keyheat.terms import CONFIDENCE, THROTTLED_BY
from keyheat.words import capital, sentence, title_of

MOST_SPANS: Final = 200
ADVICE: Final = {
    "mitigation": ("now", "What to do now", "Now"),
    "cure": ("cure", "What to do for good", "For good"),
    "insufficient": ("not-enough", "What was simulated, and is not enough", ""),
}
MODES: Final[Mapping[str | None, str]] = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on-demand"}


def run_answer(run: ReportRun) -> Answer:
    """The answer."""
    diagnosis, facts = run.diagnosis, facts_of(run)
    verdict, expects = diagnosis.verdict, run.manifest.expects if run.manifest else None
    return Answer(
        title=_name_of(run),
        label=in_two_words(verdict, on_burst=facts.on_burst, throttles=facts.run_throttles),
        tone=tone_of(verdict, on_burst=facts.on_burst),
        sentence=verdict_sentence(verdict, facts, diagnosis.generator),
        context=_context(run, facts),
        question=(run.manifest.question if run.manifest else None) or "",
        remark=expectation(expects, verdict) if expects else "",
        surprise=expects is not None and not is_as_expected(expects, verdict),
        facts=first_facts(run, facts),
        warnings=tuple(_warnings(run)),
        sections=tuple(sections_of(run)),
        data=diagnosis_json(diagnosis),
    )


def _name_of(run: ReportRun) -> str:
    """The name of a run: its scenario, else its table."""
    return (run.manifest.name if run.manifest else None) or (run.table.name if run.table else None) or "run"


def _context(run: ReportRun, facts: Facts) -> str:
    """Which table, how it is paid for, where it is, when and for how long it was loaded."""
    as_it_was = ", loaded as it was" if run.manifest and run.manifest.existing else ""
    target = run.manifest.target if run.manifest else None
    start_s, end_s = times_of(run, facts)
    when = "" if start_s is None or end_s is None else f"{moment(start_s)} UTC, {span(end_s - start_s)}"
    table = (f"table {run.table.name}{as_it_was}", MODES.get(run.table.billing_mode, "")) if run.table else ()
    return " · ".join(filter(None, (*table, target and target_words(target), when)))


def _warnings(run: ReportRun) -> Iterator[str]:
    """What to know before a number is relied on."""
    manifest = run.manifest
    if manifest is not None and manifest.stopped_by is not None:
        yield f"{sentence(manifest.stopped_by.words)} What was recorded until then holds."
    elif manifest is not None and manifest.status != "finished":
        how = "interrupted" if manifest.status == "interrupted" else "not finished"
        yield f"The run was {how}: it shows what was recorded{_recorded(run)}."
    if manifest is not None and manifest.company is not None:
        yield manifest.company
    if run.simulated:
        yield "Simulated on a virtual clock: no request was sent, and there are no latencies."
    yield from map(sentence, run.health.missing)
    yield from map(sentence, manifest.table_notes if manifest else ())
    if not run.units_hold:
        yield "Units, shares and costs are not to be relied on: this endpoint may count units in its own way."
    if run.scale != 1:
        word, place = ("Simulated", "simulated") if run.simulated else ("Rehearsed", "local")
        admits = whole(limits.PARTITION_WRITE_UNITS_PER_S * run.scale)
        yield (
            f"{word} at scale {run.scale:g}: the {place} table multiplies every rate limit by it, "
            f"so one partition admits {admits} WCU/s here."
        )


def _recorded(run: ReportRun) -> str:
    """How much of a run that never ended there is: `, 42 s`."""
    limits = run.record.range()
    return f", {span(limits[1] - limits[0])}" if limits else ""


def sections_of(run: ReportRun) -> Iterator[Section]:
    """What to do, why, what was limited when, what else was found, what is broken or missing."""
    diagnosis = run.diagnosis
    yield from _advice(run)
    why = diagnosis.verdict.because or ("The diagnosis gives no reasons.",)
    yield Section(id="evidence", title="Why", short="Why", lines=tuple(why))
    if rivals := rival_words(diagnosis.verdict):
        yield Section(id="rivals", title="What else it may be, and what that takes", lines=rivals)
    if spans := span_table(diagnosis.labels):
        title = "What was limited, and when (UTC)"
        yield Section(id="labels", title=title, short="Limits", tables=(spans,))
    yield from _findings(diagnosis)
    if diagnosis.thresholds:
        broken = tuple(f"Broken: {_threshold(one)}" for one in diagnosis.thresholds if one.broken)
        yield Section(
            id="thresholds", title="Thresholds", short="Thresholds", wrong=broken,
            lines=(
                *(
                    f"Held: {_threshold(one)}"
                    for one in diagnosis.thresholds
                    if one.decided and not one.broken
                ),
                *undecided(diagnosis),
            ),
        )  # fmt: skip
    files = (f"`{one.name}` {one.why}" for one in run.missing)
    if missing := (*files, *diagnosis.coverage.missing):
        yield Section(id="missing", title="Missing", short="Missing", lines=missing)


def _advice(run: ReportRun) -> Iterator[Section]:
    """A section for what eases it, for what cures it, and for what was tried and is not enough."""
    for kind, (name, title, short) in ADVICE.items():
        chosen = by_action(one for one in run.diagnosis.recommendations if one.kind == kind)
        if chosen:
            steps = tuple(_step(action, advice) for action, advice in chosen.items())
            yield Section(id=name, title=title, short=short, facts=steps)


def _step(action: str, advice: Sequence[Recommendation]) -> Fact:
    """One thing to do, for one resource or several: why, what the simulator says of it, what comes of it."""
    expected = tuple(dict.fromkeys(f"Expected: {one.expected}" for one in advice))
    if len(advice) > 1:
        return Fact(name=title_of(action), value="", beside=(*map(_of_resource, advice), *expected))
    (one,) = advice
    name, amount = title_of(action, one.resource), amount_words(one)
    simulated = tuple(filter(None, [outlook(one)]))
    return Fact(name=f"{name}: {amount}" if amount else name, value=one.why, beside=(*simulated, *expected))


def _of_resource(one: Recommendation) -> str:
    amount = amount_words(one)
    return f"{capital(side_words(one))}{f', {amount}' if amount else ''}: {one.why} {outlook(one)}".strip()


def span_table(labels: tuple[Label, ...]) -> Table | None:
    """The spans with most throttles, in order of time; without any, all of them. None without labels."""
    throttled = [label for label in labels if label.throttles]
    most = sorted(throttled or labels, key=lambda one: -one.throttles)[:MOST_SPANS]
    if not most:
        return None
    ends = (min(one.start for one in labels).timestamp(), max(one.end for one in labels).timestamp())
    days = crosses_midnight(*ends)
    rows = tuple(
        {
            "from": _when(one.start.timestamp(), days), "to": _when(one.end.timestamp(), days),
            "resource": f"{one.resource} {one.direction}s", THROTTLED_BY: NAMES[one.constraint].lower(),
            "throttles": whole(one.throttles),
            CONFIDENCE: f"{percent(one.confidence)} {one.grade.removeprefix('cause_')}",
        }
        for one in sorted(most, key=lambda one: (one.start, one.resource, one.direction))
    )  # fmt: skip
    return Table(title="Spans with throttles" if throttled else "Spans", rows=rows)


def _when(epoch_s: float, days: bool) -> str:
    """A moment; of a run over midnight with its day, `11-20 23:59`: more does not fit into 80 columns."""
    return moment(epoch_s)[5:16] if days else clock(epoch_s)


def _findings(diagnosis: Diagnosis) -> Iterator[Section]:
    """What other analyzers found, and on a page which of them failed: a verb says that by itself."""
    rows = tuple(
        Fact(
            name=f"{one.analyzer}: {one.label} ({about(one)}; {CONFIDENCE} {percent(one.confidence)})",
            value=" ".join(one.because), beside=tuple(filter(None, [numbers(one)])),
        )
        for one in diagnosis.findings
    )  # fmt: skip
    if rows:
        yield Section(id="findings", title="What else was found", short="Findings", facts=rows)
    if diagnosis.problems:
        title = "Analyzers that failed"
        yield Section(id="failed", title=title, short="Failed", wrong=diagnosis.problems, page_only=True)


def _threshold(one: ThresholdResult) -> str:
    return f"{one.name}: {one.measured} measured, {one.allowed} allowed"


def undecided(diagnosis: Diagnosis) -> list[str]:
    """The thresholds that a run of this kind cannot measure, a line each."""
    return [
        f"{one.name}, {one.allowed}, is not decided: {one.measured}"
        for one in diagnosis.thresholds
        if not one.decided
    ]


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
