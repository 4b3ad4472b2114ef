"""A run directory read for its page: which files are there, what the client saw by second, latencies."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from keyheat import runfiles
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.runfiles import FILES, US_PER_MS, FileProblem
from keyheat.runs.capabilities import Capabilities
from keyheat.runs.formats import Diagnosis, Evidence, read_diagnosis
from keyheat.runs.manifest import GeneratorHealth, Keys, Manifest, RunTotals, read_keys, read_manifest
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.run import read_counted_throttles, read_partitions, read_seconds
from keyheat.terms import RESPONSE_TIME
from keyheat.words import TABLE, Direction, Resource, index_of

if TYPE_CHECKING:
    import pandas as pd
    from hdrh.histogram import HdrHistogram

SERVICE = frozenset({"accepted", "throttled", "error"})
"""What the service time of one attempt is kept by; the other tags are durations of another kind."""
RESPONSE = "response"
IN_WORDS = {
    RESPONSE: RESPONSE_TIME,
    "backoff": "back-off",
    "logical": "as a whole",
}
WORDS = frozenset({"index", "direction", "reason"})
"""Columns of words, in the rows of what the client saw."""
TABLE_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
POINTS_PER_NINE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLatency:
    """One kind of duration of one operation, in milliseconds.

    `outcome` is the service time's (`accepted`, `throttled`, `error`), or says what else it is: `response`
    a request's response time, `backoff` between attempts, `logical` several requests.
    """

    operation: str
    outcome: str
    count: int
    mean_ms: float
    max_ms: float
    curve: tuple[tuple[float, float], ...]  # (percentile, milliseconds)
    table: tuple[float, ...]  # milliseconds at TABLE_PERCENTILES

    @property
    def words(self) -> str:
        """The outcome, or the kind of duration, as a person reads it."""
        return IN_WORDS.get(self.outcome, self.outcome)

    @property
    def drawn(self) -> bool:
        """Whether its curve belongs beside those of single requests."""
        return self.outcome in SERVICE or self.outcome == RESPONSE


def read_latency(path: Path) -> tuple[OperationLatency, ...]:
    """Every operation and outcome of the file that has requests. Raises `FileProblem`."""
    from keyheat.runs.latencies import mean_ms, read_latencies

    found = sorted(read_latencies(path).items())
    return tuple(
        _latency(tag, histogram, mean_ms(histogram))
        for tag, histogram in found
        if histogram.get_total_count()
    )


def percentile_grid(count: int) -> list[float]:
    """Percentiles worth drawing for `count` values: evenly spaced nines, no further than one value."""
    nines = math.log10(max(count, 10))
    steps = math.floor(nines * POINTS_PER_NINE)
    return [0.0] + [100 * (1 - 10 ** (-step / POINTS_PER_NINE)) for step in range(1, steps + 1)]


def _latency(tag: str, histogram: "HdrHistogram", mean_ms: float) -> OperationLatency:
    operation, _, outcome = tag.partition(".")
    grid = percentile_grid(histogram.get_total_count())
    at = histogram.get_percentile_to_value_dict([*grid, *TABLE_PERCENTILES])
    return OperationLatency(
        operation=operation,
        outcome=outcome or "all",
        count=histogram.get_total_count(),
        mean_ms=mean_ms,
        max_ms=histogram.get_max_value() / US_PER_MS,
        curve=(*((percentile, at[percentile] / US_PER_MS) for percentile in grid), _slowest(histogram)),
        table=tuple(at[percentile] / US_PER_MS for percentile in TABLE_PERCENTILES),
    )


def _slowest(histogram: "HdrHistogram") -> tuple[float, float]:
    """The end of the curve: the one slowest request."""
    return 100 * (1 - 1 / max(histogram.get_total_count(), 10)), histogram.get_max_value() / US_PER_MS


Content = TypeVar("Content")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A file that the report would have used, and why it could not."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: `arranged` is kept once it is made
class ReportRun:
    """Everything a report is made from. Only the diagnosis is certain; None is a file in `missing`."""

    diagnosis: Diagnosis
    evidence: Evidence | None = None
    manifest: Manifest | None = None
    seconds: "pd.DataFrame | None" = None  # as `runs.frames` has them
    throttles: "pd.DataFrame | None" = None  # the same; several of a second may be one row
    latency: tuple[OperationLatency, ...] | None = None
    keys: Keys | None = None
    partitions: "pd.DataFrame | None" = None  # the rows of `partitions.parquet`, in the service's time
    missing: tuple[MissingFile, ...] = ()
    folder: Path | None = None  # the run directory
    alone: bool = False  # an evidence file without a run: nothing is missing that a run would have

    @cached_property
    def arranged(self) -> EvidenceTimeline | None:
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
    def totals(self) -> RunTotals:
        """What the client counted; zeros where that was not recorded."""
        return (self.manifest.totals if self.manifest else None) or RunTotals()


def evidence_alone(evidence: Evidence, diagnosis: Diagnosis) -> ReportRun:
    """Evidence without a run, wherever it came from, with its diagnosis."""
    return ReportRun(diagnosis=diagnosis, evidence=evidence, alone=True)


def load_run(run_dir: Path) -> ReportRun:
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

    return ReportRun(
        diagnosis=diagnosis,
        evidence=evidence,
        manifest=manifest,
        folder=run_dir,
        seconds=optional(runfiles.SECONDS, lambda path: read_seconds(path.parent, ahead_s)),
        throttles=optional(runfiles.THROTTLES, lambda path: read_counted_throttles(path.parent, ahead_s)),
        latency=optional(runfiles.LATENCY, read_latency),
        keys=optional(runfiles.KEYS, lambda path: read_keys(path.parent, ahead_s)),
        partitions=(
            optional(runfiles.PARTITIONS, lambda path: read_partitions(path.parent))
            if _has_partitions(run_dir, manifest)
            else None
        ),
        missing=tuple(one for one in missing if not _said(one.name, diagnosis)),
    )


def _has_partitions(run_dir: Path, manifest: Manifest | None) -> bool:
    """Whether the file is there, or should be: DynamoDB itself tells nobody which partition served what."""
    known = manifest is not None and (manifest.local or manifest.simulated)
    return known or (run_dir / FILES[runfiles.PARTITIONS]).exists()


def _said(name: str, diagnosis: Diagnosis) -> bool:
    """Whether the analyzer has missed the file already."""
    return any(line.startswith(name) for line in diagnosis.coverage.missing)


Rows = Mapping[str, npt.NDArray[Any]]
"""Rows side by side: an array for each column, words and None in one of objects."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondsRecord:
    """`seconds` (second, index, direction, attempts, throttled, consumed) and `throttles` (second, index,
    direction, reason, count), each summed up; seconds are epoch seconds. Either is None where unknown."""

    seconds: Rows | None
    throttles: Rows | None

    def range(self) -> tuple[int, int] | None:
        """The first second and the one after the last."""
        known = [rows["second"] for rows in self._known() if len(rows["second"])]
        if not known:
            return None
        return int(min(c.min() for c in known)), int(max(c.max() for c in known)) + 1

    def resources(self) -> list[Resource]:
        """Every resource that was asked for anything."""
        pairs = {
            pair for rows in self._known() for pair in zip(rows["index"], rows["direction"], strict=True)
        }
        return [
            Resource(*pair) for pair in sorted(pairs, key=lambda pair: (pair[0] or "", pair[1] != "write"))
        ]

    def _known(self) -> list[Rows]:
        return [rows for rows in (self.seconds, self.throttles) if rows is not None]


def read_record(run: ReportRun) -> SecondsRecord:
    """The client's record of a run, from whichever file has it."""
    return SecondsRecord(seconds=_seconds(run), throttles=_throttles(run))


def rows_of(rows: Rows, resource: Resource) -> Rows:
    """The rows of one resource."""
    mine = (rows["index"] == resource.index) & (rows["direction"] == resource.direction)
    return {name: column[mine] for name, column in rows.items()}


def _seconds(run: ReportRun) -> Rows | None:
    if run.seconds is not None:
        amounts = {"attempts": "attempts", "throttled": "throttled", "consumed_units": "consumed"}
        return _of_frame(run.seconds, "second", [], amounts)
    if run.evidence is None or run.evidence.seconds is None:
        return None
    return _summed(
        ("second", "index", "direction"),
        ("attempts", "throttled", "consumed"),
        (
            ((int(row.second.timestamp()), row.index, row.direction.value),
             (row.attempts, row.throttled, row.consumed))
            for row in run.evidence.seconds
        ),
    )  # fmt: skip


def _throttles(run: ReportRun) -> Rows | None:
    if run.throttles is not None:
        return _of_frame(run.throttles, "at", ["reason"], {"count": "count"})
    if run.evidence is None or run.evidence.throttles is None:
        return None
    return _summed(
        ("second", "index", "direction", "reason"),
        ("count",),
        (
            ((int(row.second.timestamp()), row.index, row.direction.value, row.reason), (row.count,))
            for row in run.evidence.throttles
        ),
    )


def _of_frame(rows: "pd.DataFrame", moment: str, further: list[str], amounts: Mapping[str, str]) -> Rows:
    """The amounts of a frame by second, resource, direction and what is `further` told apart, as arrays."""
    second = rows[moment].astype("datetime64[s, UTC]").astype("int64")
    by = ["second", "resource", "direction", *further]
    grouped = rows.assign(second=second).groupby(by, dropna=False, as_index=False)[list(amounts)].sum()
    names = {name: grouped[name].astype(object) for name in ("direction", *further)}
    return {
        "second": grouped["second"].to_numpy(np.int64),
        "index": np.array([index_of(name) for name in grouped["resource"]], dtype=object),
        **{name: column.where(column.notna(), None).to_numpy() for name, column in names.items()},
        **{
            name: grouped[amount].to_numpy(np.float64 if name == "consumed" else np.int64)
            for amount, name in amounts.items()
        },
    }


def of_table(seconds: "pd.DataFrame") -> "pd.DataFrame":
    """The attempts on the table itself: those of an index are among them already."""
    return seconds[seconds["resource"] == TABLE]


def _summed(
    by: Sequence[str], amounts: Sequence[str], rows: Iterable[tuple[tuple[Any, ...], tuple[float, ...]]]
) -> Rows:
    """Rows of a key and its amounts, one for each key."""
    sums: dict[tuple[Any, ...], tuple[float, ...]] = {}
    for key, found in rows:
        before = sums.get(key)
        sums[key] = tuple(map(add, before, found)) if before else found
    names = (*by, *amounts)
    columns = list(zip(*((*key, *found) for key, found in sums.items()), strict=True)) or [()] * len(names)
    return {
        name: np.array(column, dtype=object if name in WORDS else float if name == "consumed" else np.int64)
        for name, column in zip(names, columns, strict=True)
    }
