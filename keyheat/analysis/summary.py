"""Write and read a run's `summary.json`, and remake it when it is out of date."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from keyheat import runfiles
from keyheat.analysis.measurement import measures_of
from keyheat.analysis.measures import CAPACITY_USED, Absence
from keyheat.analysis.setup import Setup as Setup
from keyheat.analysis.setup import setup_of
from keyheat.inputs import parsed_json
from keyheat.masking import masked
from keyheat.runfiles import CannotWrite, FileProblem
from keyheat.runs.formats import BEYOND, Confidence, Diagnosis, Label, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.validation import Quantity, Time
from keyheat.words import Constraint, Direction, Grade

SUMMARY = runfiles.SUMMARY
NAME = runfiles.FILES[SUMMARY]


class RunSummary(BaseModel):
    """One run in a few numbers; unknown values are absent, never zero."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    run_id: str
    scenario: str
    question: str = ""
    started_at: Time
    duration_s: Quantity
    seed: int | None = None
    status: str
    setup: Setup
    valid: bool
    generator_bound: bool = False
    constraint: Constraint
    resource: str | None = None  # None: no constraint
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    rule: str | None = None
    labels: tuple[str, ...] = ()  # "table write partition" ..., sorted, see `labels_of`
    attempts: int | None = None
    throttled: int | None = None
    carried: bool = False  # whether burst or a write buffer serves what the load asks for beyond a limit
    broken: tuple[str, ...] = ()  # violated thresholds, in words
    measures: Mapping[str, float] = {}  # by name in `keyheat.analysis.measures.MEASURES`
    absent: Mapping[str, Absence] = {}  # why the other measures are missing

    @property
    def comparable(self) -> bool:
        """Whether the numbers describe the table, not a generator that was the limit."""
        return self.valid and not self.generator_bound

    @property
    def on_burst(self) -> bool:
        """Whether burst capacity, or the write buffer of an index, alone prevented throttles."""
        used = max(self.measures.get(name, 0.0) for name in CAPACITY_USED)
        return self.valid and self.constraint == "none" and (self.carried or used > 1 + BEYOND)


def parsed(body: bytes) -> RunSummary:
    """Parse the content of a summary file. Raises `ValueError`."""
    raw = parsed_json(body)
    if not isinstance(raw, dict) or raw.pop("format", None) != SUMMARY:
        raise ValueError(f"this version reads {SUMMARY!r}")
    return RunSummary.model_validate(raw)


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
