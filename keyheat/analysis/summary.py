"""Write and read a run's `summary.json`: its numbers, and the setup that they were measured on."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from keyheat import runfiles
from keyheat.addresses import in_aws
from keyheat.analysis.measurement import measures_of
from keyheat.analysis.measures import CAPACITY_USED, Absence
from keyheat.analysis.verdict import groups
from keyheat.inputs import parsed_json
from keyheat.masking import masked
from keyheat.runfiles import CannotWrite, FileProblem
from keyheat.runs.formats import BEYOND, Confidence, Diagnosis, read_diagnosis
from keyheat.runs.manifest import Machine, Manifest, read_manifest
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.validation import Quantity, Time
from keyheat.words import Constraint, Direction, Grade

SUMMARY = runfiles.SUMMARY
NAME = runfiles.FILES[SUMMARY]


AWS: Final = "aws"
STANDARD: Final = "STANDARD"  # the class of a table, as nearly all have it
GIB: Final = 1 << 30
WARM: Final = "warm"


class Setup(BaseModel):
    """What a run was measured on; on an existing table, the scenario has that table's capacity."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    target: str  # simulated | local | aws | the endpoint's URL
    region: str | None = None
    machine: str | None = None  # "2 cores, 24 GiB, Intel Xeon"; None for a simulated run
    scale: float = 1.0
    scenario: Mapping[str, Any] | None = None  # without defaults; None: not recorded
    existing: Mapping[str, Any] | None = None  # an existing table's settings that no scenario has
    transport: str | None = None  # of the requests; None for a simulated run
    processes: int | None = None  # that sent requests
    versions: Mapping[str, str | None] = {}  # keyheat, python, botocore, locust


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
    of_verdict = (verdict.constraint, verdict.resource, verdict.direction)
    heaviest = (group.heaviest for group in groups(diagnosis.labels) if group.limit == of_verdict)
    covered_s = diagnosis.coverage.minutes * 60.0  # by the evidence of a run that was killed
    measures, absent = measures_of(folder, manifest)
    summary = RunSummary(
        run_id=manifest.run_id or folder.name,
        scenario=manifest.name or folder.name,
        question=manifest.question or "",
        started_at=manifest.started_at,
        duration_s=covered_s if manifest.duration_s is None else manifest.duration_s,
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
        rule=verdict.rule or next((label.rule for label in heaviest), None),
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
    by_limit = groups(diagnosis.labels)
    least = NOTABLE_SHARE * sum(group.throttles for group in by_limit)
    notable = [group.limit for group in by_limit if group.throttles >= least]
    return tuple(
        sorted(f"{resource} {direction} {constraint}" for constraint, resource, direction in notable)
    )


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
    path, diagnosis = folder / NAME, folder / runfiles.FILES[runfiles.DIAGNOSIS]
    with suppress(OSError, ValueError, FileProblem):
        if path.stat().st_mtime_ns >= diagnosis.stat().st_mtime_ns:
            return parsed(runfiles.bytes_of(path))
    summary = summarize(folder)
    with suppress(CannotWrite):
        runfiles.write_json(folder / NAME, SUMMARY, summary.model_dump(mode="json"))
    return summary


def setup_of(manifest: Manifest) -> Setup:
    """The setup of a run, by its manifest."""
    return Setup(
        target=target_of(manifest),
        region=manifest.region,
        machine=None if manifest.simulated or manifest.machine is None else in_words(manifest.machine),
        scale=manifest.scale,
        scenario=None if manifest.scenario is None else _without_defaults(manifest.scenario),
        existing=dict(_existing_settings(manifest)) if manifest.existing else None,
        transport=manifest.transport,
        processes=manifest.processes,
        versions=manifest.versions,
    )


def target_of(manifest: Manifest) -> str:
    """Return the run's target: simulated, local, aws, or the URL of another endpoint."""
    target = manifest.target or manifest.endpoint_url or "unknown"
    return AWS if in_aws(urlsplit(target).hostname or "") else target


def in_words(machine: Machine) -> str:
    """Describe a machine; memory in whole GiB, since it differs by a few pages between boots."""
    cores = f"{machine.cores} core{'s' if machine.cores != 1 else ''}"
    return f"{cores}, {round(machine.memory_bytes / GIB)} GiB, {machine.cpu}"


def kept_form(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as a summary stores it: a stated default equals an omitted one."""
    return scenario.model_dump(mode="json", exclude_defaults=True)


def _without_defaults(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Drop a manifest's scenario defaults; keep a scenario that this version cannot read."""
    try:
        return kept_form(scenario_from_dict(dict(raw), "run.json"))
    except ScenarioError:
        return dict(raw)


def _existing_settings(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    """Yield an existing table's settings: class, warm throughput, auto scaling policies."""
    table = manifest.table
    yield "name", table.name
    if table.table_class not in (None, STANDARD):
        yield "table_class", table.table_class
    if table.warm is not None and table.billing_mode == "PAY_PER_REQUEST":
        yield WARM, asdict(table.warm)
    for policy in manifest.auto_scaling.scaled if manifest.auto_scaling else ():
        name = f"auto_scaling.{policy.index or 'table'}.{policy.side}"
        yield name, {"min": policy.min, "max": policy.max, "target": policy.target}
