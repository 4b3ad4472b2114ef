"""The first screen of a report: the verdict in a sentence, and what a reader asks next."""

from collections.abc import Mapping
from dataclasses import dataclass

from keyheat.analysis.report.facts import Facts
from keyheat.analysis.report.rates import table_facts
from keyheat.analysis.report.run import ReportRun
from keyheat.analysis.report.seconds import SecondsRecord
from keyheat.model import limits
from keyheat.numbers import moment, span, whole
from keyheat.pages.run.picture import RunPicture, picture_of
from keyheat.wording.answers import Answer, answers_of, times_of
from keyheat.wording.constraints import in_two_words, target_words, tone_of
from keyheat.wording.verdict import expectation, is_as_expected, verdict_sentence
from keyheat.words import sentence


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
    answers: tuple[Answer, ...]
    warnings: tuple[str, ...]
    picture: RunPicture | None


def hero_of(run: ReportRun, record: SecondsRecord, facts: Facts) -> Hero:
    """The verdict, and the answers to what is asked next."""
    diagnosis = run.diagnosis
    verdict = diagnosis.verdict
    expects = run.manifest.expects if run.manifest else None
    return Hero(
        title=title_of(run),
        question=run.manifest.question if run.manifest else None,
        where=_where(run, facts),
        chip=in_two_words(verdict, on_burst=facts.on_burst, throttles=facts.run_throttles),
        expected=expectation(expects, verdict) if expects else None,
        surprise=expects is not None and not is_as_expected(expects, verdict),
        role=tone_of(verdict, on_burst=facts.on_burst),
        sentence=verdict_sentence(verdict, facts, diagnosis.generator),
        answers=answers_of(run, facts),
        warnings=_warnings(run),
        picture=picture_of(run, record, facts),
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
        parts.append(target_words(run.manifest.target))
    start, end = times_of(run, facts)
    if start is not None and end is not None:
        parts.append(f"{moment(start)} UTC, {span(end - start)}")
    return " · ".join(part for part in parts if part)


def _mode(run: ReportRun) -> str:
    table = table_facts(run)
    modes: Mapping[str | None, str] = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on-demand"}
    return modes.get(table.billing_mode, "") if table else ""


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
            "Units, shares and costs are not to be relied on: this endpoint may count units in its own way."
        )
    if run.scale != 1:
        word, place = ("Simulated", "simulated") if run.simulated else ("Rehearsed", "local")
        said.append(
            f"{word} at scale {run.scale:g}: the {place} table multiplies every rate limit by it, "
            f"so one partition admits {whole(limits.PARTITION_WRITE_UNITS_PER_S * run.scale)} WCU/s here."
        )
    return tuple(said)
