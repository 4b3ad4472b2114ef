"""The first screen of a report: the verdict in a sentence, and the numbers that carry it."""

from collections.abc import Mapping
from dataclasses import dataclass

from keyheat.model import limits
from keyheat.numbers import UNITS, moment, percent, rate, some, span, whole
from keyheat.pages.run.record import ReportRun
from keyheat.pages.run.timeline import table_facts
from keyheat.pages.run.verdict import (
    Facts,
    expectation,
    grade_meaning,
    grade_words,
    is_as_expected,
    sureness,
    verdict_sentence,
)
from keyheat.pages.wording import NAMES, SHORT, in_two_words
from keyheat.runfiles import SIMULATED
from keyheat.runs.formats import Verdict
from keyheat.words import Source, capital, sentence

PLACES = {"local": "local table", SIMULATED: "simulated"}
"""Targets in words; any other one is its own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One number of the first screen, with what it is and what it is to be held against."""

    name: str
    value: str
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hero:
    """The first screen."""

    title: str
    question: str | None
    where: str
    chip: str
    expected: str | None  # whether the scenario expected this label; None where it does not say
    surprise: bool
    role: str
    sentence: str
    stats: tuple[Stat, ...]
    warnings: tuple[str, ...]


def hero_of(run: ReportRun, facts: Facts) -> Hero:
    """The verdict and the numbers that carry it."""
    diagnosis = run.diagnosis
    verdict = diagnosis.verdict
    expects = run.manifest.expects if run.manifest else None
    return Hero(
        title=title_of(run),
        question=run.manifest.question if run.manifest else None,
        where=_where(run, facts),
        chip=in_two_words(verdict),
        expected=expectation(expects, verdict) if expects else None,
        surprise=expects is not None and not is_as_expected(expects, verdict),
        role="invalid" if not verdict.valid else verdict.constraint,
        sentence=verdict_sentence(verdict, facts, generator_bound=diagnosis.generator.bound),
        stats=_stats(run, facts),
        warnings=_warnings(run),
    )


def title_of(run: ReportRun) -> str:
    """The name of a run: its scenario, else its table."""
    facts = table_facts(run)
    return (run.manifest.name if run.manifest else None) or (facts.name if facts else None) or "run"


def _where(run: ReportRun, facts: Facts) -> str:
    table = table_facts(run)
    as_it_was = ", loaded as it was" if run.manifest and run.manifest.existing else ""
    parts = [f"table {table.name}{as_it_was}" if table else "", _mode(run)]
    if run.manifest and run.manifest.target:
        parts.append(PLACES.get(run.manifest.target, run.manifest.target))
    start, end = _times(run, facts)
    if start is not None and end is not None:
        parts.append(f"{moment(start)} UTC, {span(end - start)}")
    return " · ".join(part for part in parts if part)


def _mode(run: ReportRun) -> str:
    table = table_facts(run)
    modes: Mapping[str | None, str] = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on-demand"}
    return modes.get(table.billing_mode, "") if table else ""


def _times(run: ReportRun, facts: Facts) -> tuple[float | None, float | None]:
    manifest = run.manifest
    if manifest and manifest.started_at and manifest.ended_at:
        return manifest.started_at.timestamp(), manifest.ended_at.timestamp()
    if run.evidence is not None:
        return run.evidence.window.start.timestamp(), run.evidence.window.end.timestamp()
    return facts.start_s, facts.end_s


def _stats(run: ReportRun, facts: Facts) -> tuple[Stat, ...]:
    verdict, unit = run.diagnosis.verdict, UNITS[facts.resource.direction]
    if not facts.units_hold:
        held = "not judged: units there are not DynamoDB's"
    elif facts.provisioned_per_s:
        held = f"{percent(facts.used_share)} of {facts.resource.place}'s {whole(facts.provisioned_per_s)}"
    else:
        held = "no provisioned capacity known" if _mode(run) != "on-demand" else "on-demand"
    return (
        Stat(name="Throttled", value=_throttled(facts, verdict), beside=_throttled_beside(facts, verdict)),
        Stat(
            name="Consumed while throttled" if facts.throttles else "Consumed",
            value=rate(facts.consumed_per_s, unit),
            beside=held,
        ),
        _evidence_stat(verdict, run.diagnosis.source),
        Stat(
            name="Confidence",
            value=sureness(verdict),
            beside=f"from {some(run.diagnosis.coverage.minutes, 'minute')} of evidence",
        ),
    )


def _throttled(facts: Facts, verdict: Verdict) -> str:
    """How many; that there were none is known only where the evidence is complete."""
    return (
        "–"
        if not facts.run_throttles and verdict.constraint == "undetermined"
        else whole(facts.run_throttles)
    )


def _throttled_beside(facts: Facts, verdict: Verdict) -> str:
    said = []
    if facts.run_attempts:
        said.append(f"{percent(facts.throttled_share)} of {whole(facts.run_attempts)} attempts")
    if 0 < facts.of_constraint < facts.run_throttles:
        share = percent(facts.of_constraint / facts.run_throttles)
        said.append(f"{share} of them: {NAMES[verdict.constraint].lower()}")
    return "; ".join(said)


def _evidence_stat(verdict: Verdict, source: Source) -> Stat:
    if verdict.grade != "none":
        value = capital(grade_words(verdict.grade, source))
        return Stat(name="Evidence", value=value, beside=grade_meaning(verdict.grade, source))
    if verdict.rule in SHORT:
        return Stat(name="Evidence", value="None", beside="no throttle can be expected of this endpoint")
    if verdict.constraint == "none":
        return Stat(name="Evidence", value="No throttles", beside="there is nothing to explain")
    return Stat(name="Evidence", value="Not enough", beside="no reasons, and nothing to infer the cause from")


def _warnings(run: ReportRun) -> tuple[str, ...]:
    said = []
    stopped = run.manifest.stopped_by if run.manifest else None
    if stopped is not None:
        said.append(f"{sentence(stopped.words)} What was recorded until then holds.")
    elif run.manifest is not None and run.manifest.status != "finished":
        said.append(
            f"The run was {'interrupted' if run.manifest.status == 'interrupted' else 'not finished'}: "
            "it shows what was recorded until then."
        )
    if run.manifest is not None and run.manifest.company is not None:
        said.append(run.manifest.company)
    if run.simulated:
        said.append("Simulated on a virtual clock: no request was sent, and there are no latencies.")
    said += map(sentence, run.health.missing)
    said += map(sentence, run.manifest.table_notes if run.manifest else ())
    if not run.units_hold:
        said.append(
            "Units, shares and costs are not to be relied on: this endpoint counts units in its own way."
        )
    if run.scale != 1:
        word, place = ("Simulated", "simulated") if run.simulated else ("Rehearsed", "local")
        said.append(
            f"{word} at scale {run.scale:g}: the {place} table multiplies every rate limit by it, "
            f"so one partition admits {whole(limits.PARTITION_WRITE_UNITS_PER_S * run.scale)} WCU/s here."
        )
    return tuple(said)
