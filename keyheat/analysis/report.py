"""A run read back from its directory, or evidence alone: everything that a report is made from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from keyheat import runfiles
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.evidence.settings import Steps
from keyheat.runfiles import FILES, FileProblem
from keyheat.runs.formats import Diagnosis, Evidence, Label, read_diagnosis
from keyheat.runs.manifest import GeneratorHealth, Keys, Manifest, RunTotals, read_keys, read_manifest
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.run import read_counted_throttles, read_partitions, read_seconds
from keyheat.runs.table_facts import TableFacts
from keyheat.words import Capacity, Direction, Resource, has_capacity_model, index_of, label_of

if TYPE_CHECKING:
    import pandas as pd
    from hdrh.histogram import HdrHistogram

Rows = Mapping[str, npt.NDArray[Any]]
"""An array for each column; seconds are epoch seconds, resources as labels call them."""
AMOUNTS: Final = {"attempts": "attempts", "throttled": "throttled", "consumed_units": "consumed"}
"""Columns of a second, and what the rows of evidence call them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondsRecord:
    """`seconds` (second, resource, direction, attempts, throttled, consumed_units) and `throttles` (second,
    resource, direction). Either is None where unknown."""

    seconds: Rows | None
    throttles: Rows | None

    def range(self) -> tuple[int, int] | None:
        """The first second and the one after the last."""
        ends = [f(rows["second"]) for rows in self._filled() for f in (np.min, np.max)]
        return (int(min(ends)), int(max(ends)) + 1) if ends else None

    def resources(self) -> list[Resource]:
        """Every resource that was asked for anything, the table first, writes first."""
        pairs = {
            pair for rows in self._filled() for pair in zip(rows["resource"], rows["direction"], strict=True)
        }
        resources = [Resource(index_of(name), Direction(side)) for name, side in pairs]
        return sorted(resources, key=lambda each: (each.index or "", each.direction != "write"))

    def of(self, resource: Resource) -> Rows | None:
        """The rows of one resource, one for each second; None where no second is recorded."""
        if self.seconds is None:
            return None
        rows = self.seconds
        mine = (rows["resource"] == resource.label_name) & (rows["direction"] == resource.direction)
        second, position = np.unique(rows["second"][mine], return_inverse=True)
        sums = {name: np.bincount(position, rows[name][mine], len(second)) for name in AMOUNTS}
        return {"second": second, **sums}

    def _filled(self) -> list[Rows]:
        return [rows for rows in (self.seconds, self.throttles) if rows is not None and len(rows["second"])]


def _of_frame(rows: "pd.DataFrame", moment: str, amounts: Iterable[str]) -> Rows:
    return {
        "second": rows[moment].astype("datetime64[s, UTC]").astype("int64").to_numpy(),
        **{name: rows[name].to_numpy(object) for name in ("resource", "direction")},
        **{name: rows[name].to_numpy(np.float64, na_value=0.0) for name in amounts},
    }


def _of_rows(rows: Sequence[Any] | None, amounts: Mapping[str, str]) -> Rows | None:
    if rows is None:
        return None
    return {
        "second": np.array([int(row.second.timestamp()) for row in rows], np.int64),
        "resource": np.array([label_of(row.index) for row in rows], object),
        "direction": np.array([row.direction.value for row in rows], object),
        **{
            name: np.array([getattr(row, field) for row in rows], np.float64)
            for name, field in amounts.items()
        },
    }


Content = TypeVar("Content")


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: `arranged` is kept once it is made
class ReportRun:
    """Everything a report is made from. Only the diagnosis is certain; None is a file in `missing`.

    `missing` has the files that a report would have used and why it could not, one a line.
    """

    diagnosis: Diagnosis
    evidence: Evidence | None = None
    manifest: Manifest | None = None
    seconds: "pd.DataFrame | None" = None  # as `runs.frames` has them
    throttles: "pd.DataFrame | None" = None  # the same; several of a second may be one row
    latency: "Mapping[str, HdrHistogram] | None" = None  # by operation and outcome, those with requests
    keys: Keys | None = None
    partitions: "pd.DataFrame | None" = None  # the rows of `partitions.parquet`, in the service's time
    missing: tuple[str, ...] = ()
    folder: Path | None = None  # the run directory
    alone: bool = False  # an evidence file without a run: nothing is missing that a run would have

    @cached_property
    def arranged(self) -> EvidenceTimeline | None:
        """The evidence by resource and direction, as the analyzer looks at it."""
        return timeline(self.evidence) if self.evidence is not None else None

    @property
    def tracks(self) -> Sequence[EvidenceTrack]:
        """The evidence of each resource in each direction; none without evidence."""
        return self.arranged.tracks if self.arranged is not None else ()

    @cached_property
    def record(self) -> SecondsRecord:
        """What the client saw, second by second: by its files, else as the evidence has it."""
        seen, seconds, throttles = self.evidence, self.seconds, self.throttles
        return SecondsRecord(
            seconds=_of_rows(seen.seconds if seen else None, AMOUNTS)
            if seconds is None
            else _of_frame(seconds, "second", AMOUNTS),
            throttles=_of_rows(seen.throttles if seen else None, {})
            if throttles is None
            else _of_frame(throttles, "at", {}),
        )

    @property
    def table(self) -> TableFacts | None:
        """What is known of the table, as the evidence has it or else the manifest."""
        if self.evidence is not None:
            return self.evidence.table
        return self.manifest.table if self.manifest is not None else None

    def track(self, resource: Resource) -> EvidenceTrack | None:
        """What the evidence has of one resource."""
        return self.arranged.track(resource.index, resource.direction) if self.arranged else None

    def provisioned(self, resource: Resource) -> Steps:
        """Units/s that are provisioned over time: as published and carried on, else as described."""
        track = self.track(resource)
        return track.provisioned if track else self._described(resource, "provisioned")

    def maximum(self, resource: Resource) -> Steps:
        """The maximum that the owner of an on-demand table has set, over time."""
        track = self.track(resource)
        return track.maximum if track else self._described(resource, "max_on_demand")

    def _described(self, resource: Resource, kind: str) -> Steps:
        """What the manifest says; DynamoDB states 0 for a mode that is not in force."""
        named = {None: self.table} | {each.name: each for each in (self.table.indexes if self.table else ())}
        pair: Capacity | None = getattr(named.get(resource.index), kind, None)
        rate = pair.of(resource.direction) if pair is not None else None
        return Steps((), (), rate * self.scale if rate else None)

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
    def units_hold(self) -> bool:
        """Whether the consumed units are DynamoDB's."""
        source = self.manifest or self.evidence
        return source is None or has_capacity_model(source.endpoint)

    @property
    def health(self) -> GeneratorHealth:
        """How the load generator did; nothing but defaults where that was not recorded."""
        return (self.manifest.generator if self.manifest else None) or GeneratorHealth()

    @property
    def totals(self) -> RunTotals:
        """What the client counted; zeros where that was not recorded."""
        return (self.manifest.totals if self.manifest else None) or RunTotals()

    def labels_of(self, resource: Resource) -> list[Label]:
        """The labels of one resource in one direction, in order of time."""
        mine = [
            label
            for label in self.diagnosis.labels
            if (label.resource, label.direction) == (resource.label_name, resource.direction)
        ]
        return sorted(mine, key=lambda label: label.start)


def evidence_alone(evidence: Evidence, diagnosis: Diagnosis) -> ReportRun:
    """Evidence without a run, wherever it came from, with its diagnosis."""
    return ReportRun(diagnosis=diagnosis, evidence=evidence, alone=True)


def read_run(run_dir: Path) -> ReportRun:
    """Read a run directory. Raises `FileProblem` where there is no readable `diagnosis.json`."""
    missing: list[str] = []

    def optional(format_name: str, read: Callable[[Path], Content]) -> Content | None:
        name = FILES[format_name]
        try:
            return read(run_dir / name)
        except FileProblem as problem:
            there = (run_dir / name).exists()
            why = str(problem).replace(f"{run_dir}/", "") if there else "not in the run directory"
            if not any(line.startswith(name) for line in diagnosis.coverage.missing):
                missing.append(f"`{name}` {why}")
            return None

    def read_latency(path: Path) -> "dict[str, HdrHistogram]":
        from keyheat.runs.latencies import read_latencies

        return {tag: times for tag, times in sorted(read_latencies(path).items()) if times.get_total_count()}

    diagnosis = read_diagnosis(run_dir / FILES[runfiles.DIAGNOSIS])
    evidence = optional(runfiles.EVIDENCE, read_evidence)
    manifest = optional(runfiles.RUN, lambda path: read_manifest(path.parent))
    # DynamoDB does not report which partition served what.
    recorded = manifest is not None and (manifest.local or manifest.simulated)
    has_partitions = recorded or (run_dir / FILES[runfiles.PARTITIONS]).exists()
    return ReportRun(
        diagnosis=diagnosis,
        evidence=evidence,
        manifest=manifest,
        folder=run_dir,
        seconds=optional(runfiles.SECONDS, lambda path: read_seconds(path.parent)),
        throttles=optional(runfiles.THROTTLES, lambda path: read_counted_throttles(path.parent)),
        latency=optional(runfiles.LATENCY, read_latency),
        keys=optional(runfiles.KEYS, lambda path: read_keys(path.parent)),
        partitions=optional(runfiles.PARTITIONS, lambda path: read_partitions(path.parent))
        if has_partitions
        else None,
        missing=tuple(missing),
    )
