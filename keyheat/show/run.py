"""A run, or evidence alone, as an answer: verdict, main facts, actions and reasons.

A terminal shows it as it is; `keyheat.show.report` adds the charts and the numbers for a page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from keyheat.analysis.facts import Facts, facts_of
from keyheat.analysis.report import ReportRun
from keyheat.model import limits
from keyheat.numbers import clock, crosses_midnight, moment, percent, span, whole
from keyheat.runs.formats import Diagnosis, Label, Recommendation, diagnosis_json
from keyheat.show.advice import amount_words, by_action, carried_words, outlook, side_words
from keyheat.show.answer import Answer, Fact, Section, Table
from keyheat.show.questions import first_facts, times_of
from keyheat.show.verdict import (
    NAMES,
    about,
    expectation,
    in_two_words,
    is_as_expected,
    numbers,
    rival_words,
    target_words,
    tone_of,
    verdict_sentence,
)
from keyheat.terms import CONFIDENCE, THROTTLED_BY
from keyheat.words import capital, key_name, sentence, title_of

MOST_SPANS: Final = 200
ADVICE: Final = {
    "mitigation": ("now", "What to do now", "Now"),
    "cure": ("cure", "What to do for good", "For good"),
    "insufficient": ("not-enough", "What was simulated, and is not enough", ""),
}
ON_A_VIRTUAL_CLOCK: Final = "Simulated on a virtual clock: no request was sent, and there are no latencies."
TO_DO: Final = ("now", "do")
MODES: Final[Mapping[str | None, str]] = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on-demand"}


def run_answer(run: ReportRun) -> Answer:
    """The answer."""
    diagnosis, facts = run.diagnosis, facts_of(run)
    verdict, expects = diagnosis.verdict, run.manifest.expects if run.manifest else None
    scenario, table = run.manifest and run.manifest.name, run.table and run.table.name
    return Answer(
        title=scenario or table or "run",
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


def first_screen(run: ReportRun, *, brief: bool = False) -> Answer:
    """The answer in short, with broken thresholds: what verbs print after a run.

    One of several is `brief`: what happened, and what to do.
    """
    whole, verdict = run_answer(run), run.diagnosis.verdict
    why = () if verdict.valid else verdict.because[:1]
    thresholds = tuple(section for section in whole.sections if section.id == "thresholds")
    facts = tuple(fact for fact in whole.facts if not brief or fact.id in TO_DO)
    key = facts_of(run).hot_key if run.simulated and not brief else None  # simulated again at no cost
    digest = key is not None and key.shown is None and key_name(key.key, None) in whole.sentence
    hint = ("The key is shown by its digest: add --show-keys to see its value.",) if digest else ()
    return replace(whole, facts=facts, sections=thresholds, notes=(*why, *hint))


def _context(run: ReportRun, facts: Facts) -> str:
    """Table, billing mode, target, time and duration."""
    as_it_was = ", loaded as it was" if run.manifest and run.manifest.existing else ""
    target = run.manifest.target if run.manifest else None
    start_s, end_s = times_of(run, facts)
    when = "" if start_s is None or end_s is None else f"{moment(start_s)} UTC, {span(end_s - start_s)}"
    table = (f"table {run.table.name}{as_it_was}", MODES.get(run.table.billing_mode, "")) if run.table else ()
    return " · ".join(filter(None, (*table, target and target_words(target), when)))


def _warnings(run: ReportRun) -> Iterator[str]:
    """Warnings before relying on the numbers."""
    manifest = run.manifest
    if manifest is not None and manifest.stopped_by is not None:
        yield f"{sentence(manifest.stopped_by.words)} The record until then is valid."
    elif manifest is not None and manifest.status != "finished":
        how = "interrupted" if manifest.status == "interrupted" else "not finished"
        seconds = run.record.range()
        lasted = f", {span(seconds[1] - seconds[0])}" if seconds else ""
        yield f"The run was {how}: it shows what was recorded{lasted}."
    if manifest is not None and manifest.company is not None:
        yield manifest.company
    if run.simulated:
        yield ON_A_VIRTUAL_CLOCK
    yield from map(sentence, run.health.missing)
    if manifest is not None and manifest.auto_scaling is not None:
        yield from map(sentence, manifest.auto_scaling.in_words())
    yield from (f"{capital(words)}." for words in carried_words(run.diagnosis))
    if not run.units_hold:
        yield "Do not rely on units, shares and costs: this endpoint may count units differently."
    if run.scale != 1:
        word, kind = ("Simulated", "simulated") if run.simulated else ("Rehearsed", "local")
        admits = whole(limits.PARTITION_WRITE_UNITS_PER_S * run.scale)
        yield (
            f"{word} at scale {run.scale:g}: the {kind} table multiplies every rate limit by it, "
            f"so one partition admits {admits} WCU/s here."
        )


def sections_of(run: ReportRun) -> Iterator[Section]:
    """Actions, reasons, limited spans, other findings, thresholds, and missing files."""
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
        wrong, kept, undecided = [], [], []
        for each in diagnosis.thresholds:
            words = f"{each.name}: {each.measured} measured, {each.allowed} allowed"
            if not each.decided:
                undecided.append(f"{each.name}, {each.allowed}, is not decided: {each.measured}")
            elif each.broken:
                wrong.append(f"Broken: {words} by [thresholds] of the scenario")
            else:
                kept.append(f"Held: {words}")
        yield Section(
            id="thresholds", title="Thresholds", short="Thresholds", wrong=tuple(wrong),
            lines=(*kept, *undecided),
        )  # fmt: skip
    if missing := (*run.missing, *diagnosis.coverage.missing):
        yield Section(id="missing", title="Missing", short="Missing", lines=missing)


def _advice(run: ReportRun) -> Iterator[Section]:
    """Sections of mitigations, cures, and simulated options that are not enough."""
    for kind, (name, title, short) in ADVICE.items():
        chosen = by_action(option for option in run.diagnosis.recommendations if option.kind == kind)
        if chosen:
            steps = tuple(_step(action, advice) for action, advice in chosen.items())
            yield Section(id=name, title=title, short=short, facts=steps)


def _step(action: str, advice: Sequence[Recommendation]) -> Fact:
    """One action for one or several resources: why, simulated effect, and outcome."""
    expected = tuple(dict.fromkeys(f"Expected: {only.expected}" for only in advice))
    if len(advice) > 1:
        each = []
        for option in advice:
            name = ", ".join(filter(None, (capital(side_words(option)), amount_words(option))))
            each.append(f"{name}: {option.why} {outlook(option)}".strip())
        return Fact(name=title_of(action), value="", beside=(*each, *expected))
    (only,) = advice
    name, amount = title_of(action, only.resource), amount_words(only)
    simulated = tuple(filter(None, [outlook(only)]))
    return Fact(name=f"{name}: {amount}" if amount else name, value=only.why, beside=(*simulated, *expected))


def span_table(labels: tuple[Label, ...]) -> Table | None:
    """The spans with most throttles, by time; all spans if none throttled; None without labels."""
    throttled = [label for label in labels if label.throttles]
    most = sorted(throttled or labels, key=lambda span: -span.throttles)[:MOST_SPANS]
    if not most:
        return None
    ends = (min(span.start for span in labels).timestamp(), max(span.end for span in labels).timestamp())
    days = crosses_midnight(*ends)
    rows = tuple(
        {
            "from": _when(span.start.timestamp(), days), "to": _when(span.end.timestamp(), days),
            "resource": f"{span.resource} {span.direction}s", THROTTLED_BY: NAMES[span.constraint].lower(),
            "throttles": whole(span.throttles),
            CONFIDENCE: f"{percent(span.confidence)} {span.grade.removeprefix('cause_')}",
        }
        for span in sorted(most, key=lambda span: (span.start, span.resource, span.direction))
    )  # fmt: skip
    return Table(title="Spans with throttles" if throttled else "Spans", rows=rows)


def _when(epoch_s: float, days: bool) -> str:
    """A time; with its day if the run crosses midnight, `11-20 23:59`, to fit 80 columns."""
    return moment(epoch_s)[5:16] if days else clock(epoch_s)


def _findings(diagnosis: Diagnosis) -> Iterator[Section]:
    """Findings of other analyzers; on a page also failed ones, which verbs print themselves."""
    rows = tuple(
        Fact(
            name=f"{finding.analyzer}: {finding.label} ({about(finding)}; "
            f"{CONFIDENCE} {percent(finding.confidence)})",
            value=" ".join(finding.because), beside=tuple(filter(None, [numbers(finding)])),
        )
        for finding in diagnosis.findings
    )  # fmt: skip
    if rows:
        yield Section(id="findings", title="What else was found", short="Findings", facts=rows)
    if diagnosis.problems:
        title = "Analyzers that failed"
        yield Section(id="failed", title=title, short="Failed", wrong=diagnosis.problems, page_only=True)
