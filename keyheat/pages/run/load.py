"""A run directory read into one value: what is there, and which files are not, with the reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from keyheat import runfiles
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.timeline import Timeline, timeline
from keyheat.pages.run.latency import Latency, read_latency
from keyheat.runfiles import FILES, FileProblem
from keyheat.runs.capabilities import Capabilities
from keyheat.runs.client import moved
from keyheat.runs.formats import Diagnosis, Evidence, read_diagnosis, read_evidence
from keyheat.runs.manifest import GeneratorHealth, Keys, Manifest, Totals, read_keys, read_manifest
from keyheat.words import Direction

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A file that the report would have used, and why it could not."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: `arranged` is kept once it is made
class Run:
    """Everything a report is made from. Only the diagnosis is certain; None is a file in `missing`."""

    diagnosis: Diagnosis
    evidence: Evidence | None = None
    manifest: Manifest | None = None
    seconds: pa.Table | None = None
    throttles: pa.Table | None = None
    latency: tuple[Latency, ...] | None = None
    keys: Keys | None = None
    partitions: pa.Table | None = None  # rows of `partitions.parquet`, in the service's time
    missing: tuple[MissingFile, ...] = ()
    alone: bool = False  # an evidence file without a run: nothing is missing that a run would have

    @cached_property
    def arranged(self) -> Timeline | None:
        """The evidence by resource and direction, as the analyzer looks at it."""
        return timeline(self.evidence) if self.evidence is not None else None

    @property
    def simulated(self) -> bool:
        """Whether nothing was sent: the run was simulated."""
        return bool(self.manifest and self.manifest.simulated)

    @property
    def scale(self) -> float:
        """What the local endpoint multiplied every rate limit by; 1 on a real table."""
        source = self.manifest or self.evidence
        return source.scale if source else 1.0

    @property
    def endpoint(self) -> Capabilities | None:
        """What the endpoint can do; None where nobody looked."""
        source = self.manifest or self.evidence
        return source.endpoint if source else None

    @property
    def units_hold(self) -> bool:
        """Whether the consumed units are DynamoDB's, as far as anybody looked at the endpoint."""
        source, endpoint = self.manifest or self.evidence, self.endpoint
        if source is None or endpoint is None:
            return True
        indexes = bool(source.table.indexes)
        return not any(endpoint.wrong_units(side, indexes=indexes) for side in Direction)

    @property
    def health(self) -> GeneratorHealth:
        """How the load generator did; nothing but defaults where that was not recorded."""
        return (self.manifest.generator if self.manifest else None) or GeneratorHealth()

    @property
    def totals(self) -> Totals:
        """What the client counted; zeros where that was not recorded."""
        return (self.manifest.totals if self.manifest else None) or Totals()


def load_evidence(path: Path, further: Sequence[Path] = ()) -> Run:
    """An evidence file, wherever it came from, with its diagnosis. Raises `FileProblem`.

    `further` are analyzers of the user's own, which are asked as well.
    """
    evidence = read_evidence(path)
    return Run(diagnosis=diagnosed(evidence, further=further), evidence=evidence, alone=True)


def load_run(run_dir: Path) -> Run:
    """Read a run directory. Raises `FileProblem` where there is no readable `diagnosis.json`."""
    missing: list[MissingFile] = []

    def optional(format_name: str, read: Callable[[Path], Content]) -> Content | None:
        name = FILES[format_name]
        try:
            return read(run_dir / name)
        except FileProblem as problem:
            there = (run_dir / name).exists()
            why = str(problem).replace(f"{run_dir}/", "") if there else "not in the run directory"
            missing.append(MissingFile(name=name, why=why))
            return None

    diagnosis = read_diagnosis(run_dir / FILES[runfiles.DIAGNOSIS])
    evidence = optional(runfiles.EVIDENCE, read_evidence)
    manifest = optional(runfiles.RUN, lambda path: read_manifest(path.parent))
    ahead_s = manifest.rows_ahead_s if manifest else 0

    def rows(format_name: str) -> pa.Table | None:
        """Rows of the client, in the service's time."""
        return optional(format_name, lambda path: moved(runfiles.read_table(path, format_name), ahead_s))

    return Run(
        diagnosis=diagnosis,
        evidence=evidence,
        manifest=manifest,
        seconds=rows(runfiles.SECONDS),
        throttles=rows(runfiles.THROTTLES),
        latency=optional(runfiles.LATENCY, read_latency),
        keys=optional(runfiles.KEYS, lambda path: read_keys(path.parent, ahead_s)),
        partitions=(
            optional(runfiles.PARTITIONS, read_partitions) if _has_partitions(run_dir, manifest) else None
        ),
        missing=tuple(one for one in missing if not _said(one.name, diagnosis)),
    )


def read_partitions(path: Path) -> pa.Table:
    """The rows of `partitions.parquet`. Raises `FileProblem`."""
    return runfiles.read_table(path, runfiles.PARTITIONS)


def _has_partitions(run_dir: Path, manifest: Manifest | None) -> bool:
    """Whether the file is there, or should be: DynamoDB itself tells nobody which partition served what."""
    known = manifest is not None and (manifest.local or manifest.simulated)
    return known or (run_dir / FILES[runfiles.PARTITIONS]).exists()


def _said(name: str, diagnosis: Diagnosis) -> bool:
    """Whether the analyzer has missed the file already."""
    return any(line.startswith(name) for line in diagnosis.coverage.missing)
