"""Write and read a run's `summary.json`, and remake it when it is out of date."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from keyheat import runfiles
from keyheat.analysis.measurement import measures_of
from keyheat.analysis.setup import setup_of
from keyheat.analysis.summary import NAME, SUMMARY, RunSummary, parsed
from keyheat.masking import masked
from keyheat.runfiles import CannotWrite, FileProblem
from keyheat.runs.formats import Diagnosis, Label, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest

NOTABLE_SHARE: Final = 0.02
"""Least share of all throttles for a constraint among the labels: stray ones differ from run to run."""


def summarize(folder: Path) -> RunSummary:
    """Summarize a run directory with a manifest and a diagnosis. Raises `FileProblem`.

    The summary has no account, item key or ARN.
    """
    diagnosis = read_diagnosis(folder / runfiles.FILES[runfiles.DIAGNOSIS])
    manifest = read_manifest(folder)
    verdict, totals = diagnosis.verdict, manifest.totals
    measures, absent = measures_of(folder, manifest)
    summary = RunSummary(
        run_id=manifest.run_id or folder.name,
        scenario=manifest.name or folder.name,
        question=manifest.question or "",
        started_at=manifest.started_at,
        duration_s=_duration_s(manifest, diagnosis),
        seed=manifest.seed,
        status=manifest.status,
        setup=setup_of(manifest),
        valid=verdict.valid,
        generator_bound=diagnosis.generator.bound,
        constraint=verdict.constraint,
        resource=verdict.resource,
        direction=verdict.direction,
        grade=verdict.grade,
        confidence=verdict.confidence,
        rule=verdict.rule or _rule(diagnosis),
        labels=labels_of(diagnosis),
        attempts=totals.attempts if totals else None,
        throttled=totals.throttled if totals else None,
        carried=diagnosis.is_carried,
        broken=tuple(
            f"{check.name}: {check.measured} measured, {check.allowed} allowed ([thresholds])"
            for check in diagnosis.thresholds
            if check.broken
        ),
        measures=measures,
        absent=absent,
    )
    return RunSummary.model_validate_json(masked(summary.model_dump_json()))


def labels_of(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return each limit as `resource direction constraint`, sorted.

    A constraint counts from 2 % of the run's throttles on, and none counts if the verdict calls the throttles
    a sprinkle: stray ones come and go from run to run.
    """
    if diagnosis.verdict.constraint == "none":
        return ()
    throttles: dict[str, int] = {}
    for label in diagnosis.labels:
        throttles[_label_name(label)] = throttles.get(_label_name(label), 0) + label.throttles
    least = NOTABLE_SHARE * sum(throttles.values())
    return tuple(sorted(name for name, count in throttles.items() if count >= least))


def write_summary(folder: Path) -> RunSummary:
    """Write `summary.json` into a run directory and return it. Raises `FileProblem`."""
    summary = summarize(folder)
    runfiles.write_json(folder / NAME, SUMMARY, summary.model_dump(mode="json"))
    return summary


def keep_summary(folder: Path) -> RunSummary | None:
    """Write the summary if the manifest is readable; otherwise delete an older summary.

    A run without a manifest cannot be compared, and its diagnosis lists what is missing.
    """
    try:
        read_manifest(folder)
    except FileProblem:
        (folder / NAME).unlink(missing_ok=True)
        return None
    return write_summary(folder)


def read_summary(folder: Path) -> RunSummary:
    """Return a run directory's summary, built from its files if missing. Raises `FileProblem`.

    A summary that is older than the diagnosis, damaged or of another version is rebuilt, and stored if
    the folder is writable.
    """
    if (stored := _stored(folder)) is not None:
        return stored
    summary = summarize(folder)
    with suppress(CannotWrite):
        runfiles.write_json(folder / NAME, SUMMARY, summary.model_dump(mode="json"))
    return summary


def _stored(folder: Path) -> RunSummary | None:
    """Return the stored summary; None if it has to be made."""
    path, diagnosis = folder / NAME, folder / runfiles.FILES[runfiles.DIAGNOSIS]
    try:
        if path.stat().st_mtime_ns < diagnosis.stat().st_mtime_ns:
            return None
        return parsed(runfiles.bytes_of(path))
    except (OSError, ValueError, FileProblem):
        return None


def _label_name(label: Label) -> str:
    return f"{label.resource} {label.direction} {label.constraint}"


def _rule(diagnosis: Diagnosis) -> str | None:
    """The rule of the heaviest label of the verdict."""
    verdict = diagnosis.verdict
    mine = [
        label
        for label in diagnosis.labels
        if (label.constraint, label.resource, label.direction)
        == (verdict.constraint, verdict.resource, verdict.direction)
    ]
    return max(mine, key=lambda label: label.throttles).rule if mine else None


def _duration_s(manifest: Manifest, diagnosis: Diagnosis) -> float:
    """Return the run's duration; for a killed run, the minutes that its evidence covers."""
    lasted_s = manifest.duration_s
    return diagnosis.coverage.minutes * 60.0 if lasted_s is None else lasted_s
