"""A run directory summed up: its `summary.json`, written, and read or made again where it is out of date."""

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
"""Of all throttles, from which a constraint is among the labels: the stray ones differ from run to run."""


def summarize(folder: Path) -> RunSummary:
    """A run directory that holds a manifest and a diagnosis, in a few numbers. Raises `FileProblem`.

    No account, no key of an item and no ARN is in it.
    """
    diagnosis = read_diagnosis(folder / runfiles.FILES[runfiles.DIAGNOSIS])
    manifest = read_manifest(folder)
    verdict, totals = diagnosis.verdict, manifest.totals
    measures, absent = measures_of(folder, manifest)
    made = RunSummary(
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
        broken=tuple(
            f"{one.name}: {one.measured}, allowed {one.allowed}" for one in diagnosis.thresholds if one.broken
        ),
        measures=measures,
        absent=absent,
    )
    return RunSummary.model_validate_json(masked(made.model_dump_json()))


def labels_of(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What was limited, each as `resource direction constraint`, sorted.

    A constraint counts from 2 % of the run's throttles on, and none does where the verdict is that throttles
    were too few to speak of: a stray one comes and goes from run to run.
    """
    if diagnosis.verdict.constraint == "none":
        return ()
    throttles: dict[str, int] = {}
    for label in diagnosis.labels:
        throttles[_named(label)] = throttles.get(_named(label), 0) + label.throttles
    least = NOTABLE_SHARE * sum(throttles.values())
    return tuple(sorted(name for name, count in throttles.items() if count >= least))


def write_summary(folder: Path) -> RunSummary:
    """Write `summary.json` into a run directory and give it. Raises `FileProblem`."""
    summary = summarize(folder)
    runfiles.write_json(folder / NAME, SUMMARY, summary.model_dump(mode="json"))
    return summary


def keep_summary(folder: Path) -> RunSummary | None:
    """`write_summary`, where the run can have one; what an earlier diagnosis left does not stay.

    Without a readable manifest nothing can be compared, and the diagnosis says what is missing.
    """
    try:
        read_manifest(folder)
    except FileProblem:
        (folder / NAME).unlink(missing_ok=True)
        return None
    return write_summary(folder)


def read_summary(folder: Path) -> RunSummary:
    """The summary of a run directory; made from its files where there is none. Raises `FileProblem`.

    One that is older than the diagnosis, damaged or of another version is made again, and kept where the
    folder can be written.
    """
    if (kept := _kept(folder)) is not None:
        return kept
    summary = summarize(folder)
    with suppress(CannotWrite):
        runfiles.write_json(folder / NAME, SUMMARY, summary.model_dump(mode="json"))
    return summary


def _kept(folder: Path) -> RunSummary | None:
    """The summary that is there; None where it has to be made."""
    path, diagnosis = folder / NAME, folder / runfiles.FILES[runfiles.DIAGNOSIS]
    try:
        if path.stat().st_mtime_ns < diagnosis.stat().st_mtime_ns:
            return None
        return parsed(runfiles.bytes_of(path))
    except (OSError, ValueError, FileProblem):
        return None


def _named(label: Label) -> str:
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
    """How long the run lasted; of one that was killed, the minutes that its evidence speaks of."""
    lasted_s = manifest.duration_s
    return diagnosis.coverage.minutes * 60.0 if lasted_s is None else lasted_s
