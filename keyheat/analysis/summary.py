"""A run in a few numbers, as it is kept, searched and compared: `summary.json` beside its other files."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from keyheat import runfiles
from keyheat.analysis.measures import Absence
from keyheat.analysis.setup import Setup as Setup
from keyheat.analysis.setup import setup_of
from keyheat.bounds import parsed_json
from keyheat.masking import masked
from keyheat.runfiles import CannotWrite, FileProblem
from keyheat.runs.formats import Confidence, Diagnosis, Label, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.validation import Quantity, Time
from keyheat.words import Constraint, Direction, Grade

SUMMARY = runfiles.SUMMARY
NAME = runfiles.FILES[SUMMARY]
NOTABLE_SHARE: Final = 0.02
"""Of all throttles, from which a constraint is among the labels: the stray ones differ from run to run."""


class RunSummary(BaseModel):
    """One run in a few numbers. What is not known is absent, and never zero."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    scenario: str
    question: str = ""
    started_at: Time
    duration_s: Quantity
    seed: int | None = None
    status: str
    setup: Setup
    valid: bool
    constraint: Constraint
    resource: str | None = None  # None: nothing constrained it
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    rule: str | None = None
    labels: tuple[str, ...] = ()  # "table write partition" ..., sorted: what was limited, see `labels_of`
    attempts: int | None = None
    throttled: int | None = None
    broken: tuple[str, ...] = ()  # thresholds that did not hold, in words
    measures: Mapping[str, float] = {}  # by name in `keyheat.analysis.measures.MEASURES`
    absent: Mapping[str, Absence] = {}  # why it lacks the others of the catalogue


def summarize(folder: Path) -> RunSummary:
    """A run directory that holds a manifest and a diagnosis, in a few numbers. Raises `FileProblem`.

    No account, no key of an item and no ARN is in it.
    """
    from keyheat.analysis.measurement import measures_of

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
        return parsed(path.read_bytes())
    except (OSError, ValueError):
        return None


def parsed(body: bytes) -> RunSummary:
    """A summary from the content of its file. Raises `ValueError`."""
    raw = parsed_json(body)
    if not isinstance(raw, dict) or raw.pop("format", None) != SUMMARY:
        raise ValueError(f"this version reads {SUMMARY!r}")
    return RunSummary.model_validate(raw)


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
