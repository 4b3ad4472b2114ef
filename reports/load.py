"""A run directory read into one value: what is there, and which files are not, with the reason."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from analyzers.formats import Diagnosis, Evidence, read_diagnosis, read_evidence
from analyzers.manifest import GeneratorHealth, Keys, Manifest, Totals, read_keys, read_manifest
from analyzers.timeline import Timeline, timeline
from reports.latency import Latency, read_latency
from tablemodel import runfiles
from tablemodel.runfiles import FILES, FileProblem

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
    missing: tuple[MissingFile, ...] = ()

    @cached_property
    def arranged(self) -> Timeline | None:
        """The evidence by resource and direction, as the analyzer looks at it."""
        return timeline(self.evidence) if self.evidence is not None else None

    @property
    def scale(self) -> float:
        """What the local endpoint multiplied every rate limit by; 1 on a real table."""
        return self.manifest.scale if self.manifest else 1.0

    @property
    def health(self) -> GeneratorHealth:
        """How the load generator did; nothing but defaults where that was not recorded."""
        return (self.manifest.generator if self.manifest else None) or GeneratorHealth()

    @property
    def totals(self) -> Totals:
        """What the client counted; zeros where that was not recorded."""
        return (self.manifest.totals if self.manifest else None) or Totals()


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

    return Run(
        diagnosis=read_diagnosis(run_dir / FILES[runfiles.DIAGNOSIS]),
        evidence=optional(runfiles.EVIDENCE, read_evidence),
        manifest=optional(runfiles.RUN, lambda path: read_manifest(path.parent)),
        seconds=optional(runfiles.SECONDS, lambda path: runfiles.read_table(path, runfiles.SECONDS)),
        throttles=optional(runfiles.THROTTLES, lambda path: runfiles.read_table(path, runfiles.THROTTLES)),
        latency=optional(runfiles.LATENCY, read_latency),
        keys=optional(runfiles.KEYS, lambda path: read_keys(path.parent)),
        missing=tuple(missing),
    )
