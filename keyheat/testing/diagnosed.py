"""The diagnosis of a simulated run without a run directory, and the run directory where one is wanted."""

from datetime import UTC, datetime
from pathlib import Path

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import load_thresholds
from keyheat.evidence.simulated import evidence_of
from keyheat.pages.run.record import ReportRun
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import write_diagnosis, write_evidence
from keyheat.runs.manifest import Keys, Manifest
from keyheat.simulator.folder import keys_of, manifest_of, throttles_table, write_run
from keyheat.simulator.simulate import Simulation
from keyheat.testing.asked import Sent

NOTE = "checked with nothing saved up: the table serves what it could serve for ever"


def diagnosed(sent: Sent, simulation: Simulation) -> ReportRun:
    """Everything that a report of the simulated run would be made from, with its diagnosis."""
    keys = Keys.model_validate(keys_of(simulation, show_keys=sent.show_keys))
    manifest = Manifest.model_validate(manifest_of(simulation, notes=_notes(sent)))
    evidence = evidence_of(simulation)
    diagnosis = diagnose(
        evidence,
        client=ClientFiles(manifest=manifest, keys=keys),
        thresholds=load_thresholds(),
        scenario=sent.scenario if sent.ours else None,
    )
    return ReportRun(
        diagnosis=diagnosis,
        evidence=evidence,
        manifest=manifest,
        seconds=simulation.client.seconds_table(),
        throttles=throttles_table(simulation),
        keys=keys,
    )


def write_report_of(sent: Sent, simulation: Simulation, folder: Path, now: datetime | None = None) -> Path:
    """Write the run directory of a simulated check, and give its report. Raises `CannotWrite`."""
    from keyheat.analysis.summary import keep_summary
    from keyheat.pages.run.report import write_report

    run = diagnosed(sent, simulation)
    assert run.evidence is not None, "a simulated run has evidence"
    write_run(simulation, folder, show_keys=sent.show_keys, notes=_notes(sent))
    write_evidence(folder / FILES[EVIDENCE], run.evidence)
    write_diagnosis(folder / FILES[DIAGNOSIS], run.diagnosis)
    keep_summary(folder)
    return write_report(folder, now or datetime.now(UTC))


def _notes(sent: Sent) -> tuple[str, ...]:
    return () if sent.burst else (NOTE,)
