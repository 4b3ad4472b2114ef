"""What a check says that does not hold: the verdict first, then why, which key, what to do; confidence."""

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.report import ReportRun
from keyheat.analysis.rules import load_thresholds
from keyheat.evidence.simulated import evidence_of
from keyheat.masking import plain
from keyheat.numbers import UNITS, percent, rate, whole
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import write_diagnosis, write_evidence
from keyheat.runs.manifest import Keys, Manifest
from keyheat.simulator.folder import keys_of, manifest_of, write_run
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import Simulation
from keyheat.terms import CONFIDENCE, DEMAND
from keyheat.testing.subject import CheckedLoad
from keyheat.words import Direction, Grade, key_name, label_of, title_of, whose


def diagnosed(sent: CheckedLoad, simulation: Simulation) -> ReportRun:
    """Everything that a report of the simulated run would be made from, with its diagnosis."""
    keys = Keys.model_validate(keys_of(simulation, show_keys=sent.show_keys))
    manifest = Manifest.model_validate(manifest_of(simulation, notes=sent.notes))
    evidence = evidence_of(simulation)
    diagnosis = diagnose(
        evidence,
        client=ClientFiles(manifest=manifest, keys=keys),
        thresholds=load_thresholds(),
        scenario=sent.scenario if sent.ours else None,
    )
    return ReportRun(diagnosis=diagnosis, evidence=evidence, manifest=manifest, keys=keys)


def write_report_of(sent: CheckedLoad, simulation: Simulation, folder: Path) -> Path:
    """Write the run directory of a simulated check, and give its report. Raises `CannotWrite`."""
    from keyheat.analysis.summary import keep_summary
    from keyheat.show.report import write_report

    run = diagnosed(sent, simulation)
    assert run.evidence is not None, "a simulated run has evidence"
    write_run(simulation, folder, show_keys=sent.show_keys, notes=sent.notes)
    write_evidence(folder / FILES[EVIDENCE], run.evidence)
    write_diagnosis(folder / FILES[DIAGNOSIS], run.diagnosis)
    keep_summary(folder)
    return write_report(folder, datetime.now(UTC))


WIDTH = 100
MOST_ADVICE = 2
SURE: Final[dict[Grade, str]] = {
    "reason": "by the reason of each refusal",
    "cause_metric": "by metrics that name the cause",
    "inferred": "inferred from rates",
    "none": "with nothing to go by",
}
Rows = Sequence[tuple[str, str]]


class CheckFailed(AssertionError):
    """A check that does not hold; the text says why. `sent` and `simulation` are what its report is made of.

    They are None where requests that were really sent were counted.
    """

    def __init__(
        self, message: str, *, sent: CheckedLoad | None = None, simulation: Simulation | None = None
    ) -> None:
        self.sent = sent
        self.simulation = simulation
        super().__init__(plain(message))


CheckFailed.__module__ = "keyheat"  # where a test finds it, and what pytest shows


def failed(
    check: str, sent: CheckedLoad, simulation: Simulation, *, because: str | None = None
) -> CheckFailed:
    """The failure of a check on a simulated load: its diagnosis in a few lines.

    `because` says what does not hold where that is not the throttling itself.
    """
    __tracebackhide__ = True
    head, rows = _verdict(sent, simulation)
    if because is not None:
        head, rows = because, [("simulated", head), *rows]
    saved = "with what the table has saved up" if sent.burst else "nothing saved up (burst=True counts that)"
    seconds = simulation.ended_s - simulation.started_s
    of = f"{sent.named}, {seconds:g} s simulated, seed {simulation.seed}, {saved}"
    message = text_of(head, [("check", check), ("of", of), *rows])
    return CheckFailed(message, sent=sent, simulation=simulation)


def text_of(head: str, rows: Rows) -> str:
    """A sentence, and lines below it with a word before each."""
    lines = ["\n".join(textwrap.wrap(head, WIDTH)), ""]
    for word, words in rows:
        wide = " " * 14
        lines += textwrap.wrap(words, WIDTH, initial_indent=f"  {word:<12}", subsequent_indent=wide)
    return "\n".join(lines)


def _verdict(sent: CheckedLoad, simulation: Simulation) -> tuple[str, list[tuple[str, str]]]:
    from keyheat.analysis.facts import facts_of
    from keyheat.show.advice import cure_words, outlook
    from keyheat.show.verdict import sureness, verdict_sentence

    run = diagnosed(sent, simulation)
    verdict = run.diagnosis.verdict
    sentence = verdict_sentence(verdict, facts_of(run), run.diagnosis.generator)
    rows = [("throttled", _throttled(simulation))]
    if verdict.constraint == "none":
        return f"none: {sentence}", rows
    hot = [key for key in run.diagnosis.hot_keys if key.direction == verdict.direction]
    if hot and verdict.constraint == "partition" and verdict.resource == "table":
        key = max(hot, key=lambda key: key.units_per_s)
        asked = rate(key.units_per_s, UNITS[key.direction or "write"])
        share = f"{percent(key.share)} of the units, {asked} of {DEMAND}"
        rows.append(("hottest key", f"{key_name(key.key, key.shown)}, {share}"))
    if run.diagnosis.cure is not None:
        rows.append(("cure", cure_words(run.diagnosis.cure)))
    offered = [advice for advice in run.diagnosis.recommendations if advice.kind != "insufficient"]
    lasting = sorted(offered, key=lambda advice: advice.kind != "cure")
    for advice in lasting[:MOST_ADVICE]:
        title = title_of(advice.action, advice.resource)
        rows.append(("what to do", f"{title}. {advice.why} {advice.expected} {outlook(advice)}".strip()))
    rows.append((CONFIDENCE, f"{sureness(verdict)}, {SURE[verdict.grade]}, on the simulator"))
    return f"{verdict.constraint}: {sentence}", rows


def _throttled(simulation: Simulation) -> str:
    outcome = outcome_of(simulation)
    sides = [
        f"{percent(outcome.share(side))} of {whole(outcome.attempts[side])} {side.value}s"
        for side in (Direction.WRITE, Direction.READ)
        if outcome.attempts[side]
    ]
    where = [
        f"{whole(refusal.events)} x {refusal.cause.value} on {whose(label_of(refusal.index))}"
        for refusal in outcome.limits
    ]
    return "; ".join([", ".join(sides) or "nothing was sent", *where])
