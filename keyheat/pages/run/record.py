"""What the client saw, second by second, from the run's own files or, without them, from `evidence.json`."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyheat.pages.run.load import Run
from keyheat.runs.client import seconds_summed, throttles_counted
from keyheat.runs.formats import Evidence
from keyheat.words import Resource

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """`seconds` (second, index, direction, attempts, throttled, consumed) and `throttles` (second, index,
    direction, reason, count), each summed up; seconds are epoch seconds. Either is None where unknown."""

    seconds: pa.Table | None
    throttles: pa.Table | None

    def range(self) -> tuple[int, int] | None:
        """The first second and the one after the last."""
        known = [t["second"].to_numpy() for t in (self.seconds, self.throttles) if t is not None and len(t)]
        if not known:
            return None
        return int(min(c.min() for c in known)), int(max(c.max() for c in known)) + 1

    def resources(self) -> list[Resource]:
        """Every resource that was asked for anything."""
        tables = [table for table in (self.seconds, self.throttles) if table is not None]
        pairs = {
            (row["index"], row["direction"])
            for table in tables
            for row in table.group_by(["index", "direction"]).aggregate([]).to_pylist()
        }
        return [
            Resource(*pair) for pair in sorted(pairs, key=lambda pair: (pair[0] or "", pair[1] != "write"))
        ]


def read_record(run: Run) -> Record:
    """The client's record of a run, from whichever file has it."""
    return Record(seconds=_seconds(run), throttles=_throttles(run))


def rows_of(table: pa.Table, resource: Resource) -> pa.Table:
    """The rows of one resource."""
    index = pc.is_null(table["index"]) if resource.index is None else pc.equal(table["index"], resource.index)
    return table.filter(pc.and_(pc.fill_null(index, False), pc.equal(table["direction"], resource.direction)))


def _seconds(run: Run) -> pa.Table | None:
    if run.seconds is not None:
        summed = _with_epoch(seconds_summed(run.seconds))
        return summed.rename_columns([name.removesuffix("_units") for name in summed.column_names])
    return _seconds_of(run.evidence) if run.evidence else None


def _seconds_of(evidence: Evidence) -> pa.Table | None:
    if evidence.seconds is None:
        return None
    rows = evidence.seconds
    columns = {
        "second": pa.array([int(row.second.timestamp()) for row in rows], pa.int64()),
        "index": pa.array([row.index for row in rows], pa.string()),
        "direction": pa.array([row.direction for row in rows], pa.string()),
        "attempts": pa.array([row.attempts for row in rows], pa.int64()),
        "throttled": pa.array([row.throttled for row in rows], pa.int64()),
        "consumed": pa.array([row.consumed for row in rows], pa.float64()),
    }
    return _summed(pa.table(columns), ["second", "index", "direction"], ["attempts", "throttled", "consumed"])


def _throttles(run: Run) -> pa.Table | None:
    if run.throttles is not None:
        return _with_epoch(throttles_counted(run.throttles))
    if run.evidence is None or run.evidence.throttles is None:
        return None
    rows = run.evidence.throttles
    columns = {
        "second": pa.array([int(row.second.timestamp()) for row in rows], pa.int64()),
        "index": pa.array([row.index for row in rows], pa.string()),
        "direction": pa.array([row.direction for row in rows], pa.string()),
        "reason": pa.array([row.reason for row in rows], pa.string()),
        "count": pa.array([row.count for row in rows], pa.int64()),
    }
    return _summed(pa.table(columns), ["second", "index", "direction", "reason"], ["count"])


def _with_epoch(table: pa.Table) -> pa.Table:
    """Seconds as epoch seconds."""
    return table.set_column(0, "second", table["second"].cast(pa.int64()))


def _summed(table: pa.Table, by: list[str], amounts: list[str]) -> pa.Table:
    grouped = table.group_by(by, use_threads=False).aggregate([(name, "sum") for name in amounts])
    return grouped.select([*by, *(f"{name}_sum" for name in amounts)]).rename_columns([*by, *amounts])
